/** Steps of durable promises in the store: kept as long as their actor, and no longer. */
import {
  constant,
  defineJob,
  durable,
  fatal,
  JobchartError,
  memoryStore,
  type DurableScope,
  type Json,
  type Store,
} from 'jobchart'
import { faultyStore } from 'jobchart/testing'
import { assign, fromPromise, setup } from 'xstate'
import { expect, test } from 'vitest'
import { ActorSteps } from '../../src/machine-job/actor-steps.ts'
import { world } from '../support/leaks.ts'

type Steps = Readonly<Record<string, Json>> | null

/** A store that tells with which steps jobs were claimed. */
function claimsOf(store: Store): { readonly store: Store; readonly steps: Steps[] } {
  const steps: Steps[] = []
  const claim: Store['claim'] = (request) => {
    const answer = store.claim(request)
    if (answer instanceof Promise) throw new TypeError('a store that answers at once is needed here')
    steps.push(...answer.jobs.map((job) => job.steps))
    return answer
  }
  return { store: { ...store, claim }, steps }
}

const retry = { maxAttempts: 3, backoff: constant('1m') }

/** Works twice, and rests for an hour after each. */
const twice = (work: (scope: DurableScope) => Promise<unknown>) =>
  setup({
    types: { context: {} as { turns: number }, events: {} as { type: 'LEAVE' } },
    actors: { work: durable<unknown>(work, { retry }) },
    guards: { again: ({ context }) => context.turns < 2 },
  }).createMachine({
    id: 'm',
    context: { turns: 0 },
    initial: 'working',
    states: {
      working: {
        entry: assign({ turns: ({ context }) => context.turns + 1 }),
        invoke: { id: 'work', src: 'work', onDone: 'resting' },
        on: { LEAVE: 'resting' },
      },
      resting: { after: { 3_600_000: [{ guard: 'again', target: 'working' }, { target: 'end' }] } },
      end: { type: 'final' },
    },
  })

test('steps are kept under the address of their actor, and forgotten when it has ended', async () => {
  const { store, steps } = claimsOf(memoryStore())
  const at = world({ store })
  const ran: number[] = []
  const machine = twice(async ({ attempt, step }) => {
    await step('a/b', () => ran.push(attempt))
    if (attempt === 1) throw new Error('no')
  })
  const job = defineJob({ type: 'twice', machine })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.advance('3h')
  expect((await handle.record()).state).toBe('done')
  expect(ran).toEqual([1, 1])
  expect(steps).toEqual([
    null,
    { 'work/1/a%2Fb': [1] },
    // It has ended, and its state was left.
    null,
    { 'work/2/a%2Fb': [2] },
    null,
  ])
})

test('steps are forgotten when the state is left, also one whose result comes too late', async () => {
  const { store, steps } = claimsOf(memoryStore())
  const at = world({ store })
  const machine = twice(async ({ step }) => {
    await step('a', () => 1)
    await step('late', () => at.clock.sleep('1m'))
  })
  const job = defineJob({ type: 'twice', machine })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.advance('30s')
  await handle.send({ type: 'LEAVE' })
  await at.clock.advance('4h')
  expect((await handle.record()).state).toBe('done')
  expect(steps).toEqual([null, null, null])
})

test('a dead job that is sent through again goes on with the attempt and the steps that it had', async () => {
  const at = world()
  const ran: string[] = []
  let broken = true
  const machine = twice(async ({ attempt, step }) => {
    await step('a', () => ran.push(`a of ${attempt}`))
    if (attempt === 1) throw new Error('no')
    ran.push(`attempt ${attempt}`)
    if (broken) throw fatal('broken')
  })
  const job = defineJob({ type: 'twice', machine })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.advance('2m')
  expect((await handle.record()).state).toBe('dead')
  broken = false
  await handle.retry()
  await at.clock.advance('1m')
  expect((await handle.snapshot()).value).toBe('resting')
  expect(ran).toEqual(['a of 1', 'attempt 2', 'attempt 2'])
  await handle.cancel()
  await handle.retry({ from: 'start' })
  await at.clock.advance('1s')
  expect(ran.slice(3)).toEqual(['a of 1'])
})

test('no step begins when the lease is lost, and the job goes on elsewhere with the same attempt', async () => {
  const store = { ...memoryStore(), capabilities: { durable: true, shared: true } }
  const at = world({ store })
  const told: string[] = []
  const machine = twice(async ({ attempt, step, signal }) => {
    await step('first', () => void told.push('first'))
    if (told.length === 1) {
      at.clock.block('1h')
      await step('second', () => void told.push('second too early')).catch((error: JobchartError) => {
        told.push(error.code)
        throw error
      })
    }
    await step('second', () => void told.push(`second of ${attempt}, aborted: ${signal.aborted}`))
  })
  const job = defineJob({ type: 'twice', machine })
  await (await at.runtime({ jobs: [job] })).enqueue(job, undefined)
  await at.clock.advance('1m')
  expect(told).toEqual(['first', 'LEASE_LOST', 'second of 1, aborted: false'])
  at.expectLogged('warn')
})

test('a store that is away for a while costs no attempt and no finished step', async () => {
  const at = world({
    store: faultyStore(memoryStore(), { seed: 1, faults: { extend: { before: 0.5, lostReply: 0.3 } } }),
  })
  const ran: number[] = []
  const machine = twice(async ({ attempt, step }) => {
    for (let i = 0; i < 20; i++) await step(`step ${i}`, () => void ran.push(i))
    return attempt
  })
  const job = defineJob({ type: 'twice', machine })
  const handle = await (await at.runtime({ jobs: [job] })).enqueue(job, undefined)
  await at.clock.advance('30m')
  expect((await handle.snapshot()).value).toBe('resting')
  expect(ran).toEqual(Array.from({ length: 20 }, (_, i) => i))
  expect((await handle.record()).logs).toEqual([])
  at.expectLogged('warn')
})

test('a deployment may make a durable promise of a plain one, and the other way', async () => {
  const at = world()
  const tries: string[] = []
  const stuck = (name: string, signal: AbortSignal) => {
    tries.push(name)
    return at.clock.sleep('1h', signal)
  }
  const jobOf = (work: ReturnType<typeof fromPromise<unknown>>) =>
    defineJob({ type: 'twice', machine: twice(async () => {}).provide({ actors: { work } }) })
  const plain = jobOf(fromPromise(({ signal }) => stuck('plain', signal)))
  const durableJob = jobOf(durable<unknown>(({ attempt, signal }) => stuck(`attempt ${attempt}`, signal)))
  const first = await at.runtime({ jobs: [plain] })
  const handle = await first.enqueue(plain, undefined)
  const change = async (from: typeof first, job: typeof plain): Promise<typeof first> => {
    await at.clock.advance('1s')
    const stopping = from.stop({ mode: 'abort' })
    await at.clock.advance('1s')
    await stopping
    return at.runtime({ jobs: [job] })
  }
  const second = await change(first, durableJob)
  const third = await change(second, plain)
  await at.clock.advance('1s')
  expect(tries).toEqual(['plain', 'attempt 1', 'plain'])
  expect((await (await third.job(handle.id))?.record())?.state).toBe('running')
})

test('one that waits and whose timer a migration has dropped waits anew', async () => {
  const at = world()
  const tries: string[] = []
  const machine = twice(async ({ attempt }) => {
    tries.push(`${attempt} at ${at.clock.now() - start}`)
    if (attempt === 1) throw new Error('no')
  })
  const start = at.clock.now()
  const old = defineJob({ type: 'twice', machine })
  const first = await at.runtime({ jobs: [old] })
  const handle = await first.enqueue(old, undefined)
  await at.clock.advance('30s')
  const stopping = first.stop()
  await at.clock.advance('1s')
  await stopping
  const second = await at.runtime({
    jobs: [defineJob({ type: 'twice', machine, version: '2', migrate: (snapshot) => ({ snapshot, timers: [] }) })],
  })
  await at.clock.advance('5m')
  expect((await (await second.job(handle.id))?.record())?.state).toBe('waiting')
  expect(tries[0]).toBe('1 at 0')
  expect(tries).toHaveLength(2)
})

test.each<[code: 'LEASE_LOST' | 'STORE_REFUSED', fails: boolean]>([
  ['LEASE_LOST', true],
  ['STORE_REFUSED', false],
])('%s when a result is kept: does the run of the job fail? %s', async (code, fails) => {
  const error = new JobchartError(code, 'no')
  const failures: unknown[] = []
  const context = { id: 'job', steps: null, refusal: () => null, saveStep: () => Promise.reject(error) }
  const steps = new ActorSteps(context, (failure) => failures.push(failure))
  await expect(steps.of('a/1', 'attempt 1', () => null).once('s', () => 1)).rejects.toBe(error)
  expect(failures).toEqual(fails ? [error] : [])
})
