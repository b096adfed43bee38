/** The composition: what goes before what, in one turn and over several. */
import { defineJob } from 'jobchart'
import { BehaviorSubject, Subject } from 'rxjs'
import { expect, test } from 'vitest'
import { EventHub } from '../../src/client/event-hub.ts'
import type { CancelAnswer, ClaimAnswer, ClaimRequest } from '../../src/store.ts'
import type { CancelCommand, WakeCommand } from '../../src/worker/commands.ts'
import { Claims } from '../../src/worker/claims.ts'
import { Lanes } from '../../src/worker/lanes.ts'
import { pipeline } from '../../src/worker/pipeline.ts'
import { Runs } from '../../src/worker/runs.ts'
import { claimedJob, quiet, settled, workerParts } from '../support/marbles.ts'

const none: CancelAnswer = { cancelled: [], cancelling: [], notFound: [], finished: [], transitions: [] }

/**
 * A pipeline over a store that has `jobs` jobs and writes down its calls.
 * @param later do its answers take a turn?
 */
interface Watched {
  readonly jobs?: number
  readonly slots?: number
  /** Do answers of the store come later? */
  readonly later?: boolean
  /** Are ends answered when the test says so? */
  readonly slow?: boolean
  readonly run?: (id: string) => unknown
}

function watched({ jobs = 2, slots = 2, later = false, slow = false, run = () => {} }: Watched = {}) {
  const seen: string[] = []
  const job = defineJob({
    type: 'mail',
    run: (_input, { id }) => {
      seen.push(`run ${id}, ${runs.size} in hand`)
      return run(id)
    },
  })
  const lanes = new Lanes()
  const parts = workerParts({ slots, jobs: [job] })
  const { permits, selector, workload, timers, clock } = parts
  const claims = new Claims({ selector, permits, workload, timers, lanes, isDivided: false })
  const runs = new Runs()
  const inputs = {
    cancels: new Subject<CancelCommand>(),
    wakes: new Subject<WakeCommand>(),
    idleCalls: new Subject<() => void>(),
    cancelling: new BehaviorSubject(false),
  }
  let left = jobs
  const answer = <T>(value: T): T | Promise<T> => (later ? Promise.resolve(value) : value)
  const cancelCalls: PromiseWithResolvers<void>[] = []
  const settleCalls: PromiseWithResolvers<void>[] = []
  const store = {
    name: 'fake',
    now: () => 0,
    claim({ demand }: ClaimRequest) {
      const max = demand[0]?.max ?? 0
      seen.push(`claim ${max}, ${permits.taken} taken`)
      const found = Array.from({ length: Math.min(left, max) }, () => claimedJob(`j${left--}`))
      const shortfalls = found.length < max ? [{ type: 'mail', reason: 'empty' } as const] : []
      return answer<ClaimAnswer>({ jobs: found, shortfalls })
    },
    settle(settlements: readonly { readonly id: string }[]) {
      seen.push(`settle ${settlements.map(({ id }) => id).join('+')}`)
      const answers = settlements.map(() => settled)
      if (!slow) return answer(answers)
      const call = Promise.withResolvers<void>()
      settleCalls.push(call)
      return call.promise.then(() => answers)
    },
    get: () => Promise.resolve([]),
    cancel(requests: readonly unknown[]) {
      seen.push(`cancel ${requests.length}`)
      if (!later) return requests.map(() => none)
      const call = Promise.withResolvers<void>()
      cancelCalls.push(call)
      return call.promise.then(() => requests.map(() => none))
    },
  }
  const hub = new EventHub(quiet)
  pipeline({
    ...parts,
    ...inputs,
    lanes,
    claims,
    runs,
    store,
    hub,
    worker: 'w',
    leaseMs: 1_000,
    graceMs: 5_000,
    registration: { startedAt: 0 },
    jobs: new Map([[job.type, job]]),
    time: { read: () => 0 },
    random: () => 0.5,
    health: { answered() {}, failed() {} },
    lostClaims: { answered() {}, failed() {} },
    halted: () => null,
    rateWaits: { wakeAt() {}, isWaiting: () => false },
    confirmer: { isDue: () => false, confirm: () => true },
    unsupported: { note() {} },
  }).subscribe((event) => hub.emit(event))
  const cancel = (): void =>
    inputs.cancels.next({
      request: { ids: ['x'], reason: null, graceMs: 0 },
      priority: 0,
      resolve: () => seen.push('cancelled'),
      reject: () => {},
    })
  const calls = { cancelCalls, settleCalls }
  return { ...inputs, ...calls, clock, seen, hub, workload, permits, cancel, wake: wakeOf(inputs.wakes, jobs) }
}

const wakeOf = (wakes: Subject<WakeCommand>, atMost: number) => (): void => wakes.next({ type: 'mail', atMost })

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await null
}

test('of one turn, a cancel goes before the pick that was asked for first; permits before claims; counts before runs', async () => {
  const { wake, cancel, seen, workload, permits } = watched()
  wake()
  cancel()
  expect(seen).toEqual([])
  await turns(1)
  expect(seen).toEqual([
    'cancel 1',
    'cancelled',
    'claim 2, 2 taken',
    'run j2, 2 in hand',
    'run j1, 1 in hand',
    'settle j2+j1',
  ])
  expect([workload.busy, permits.taken]).toEqual([false, 0])
})

test('what a handler asks for while others start goes before their starts and before the next claim', async () => {
  const { wake, cancel, seen } = watched({
    jobs: 3,
    run: (id) => {
      if (id === 'j3') cancel()
    },
  })
  wake()
  await turns(1)
  expect(seen).toEqual([
    'claim 2, 2 taken',
    'run j3, 2 in hand',
    'cancel 1',
    'cancelled',
    'run j2, 1 in hand',
    'settle j3+j2',
    'claim 1, 1 taken',
    'run j1, 1 in hand',
    'settle j1',
  ])
})

test('while a cancel is in flight, claimed jobs do not start', async () => {
  const { wake, cancel, seen, cancelCalls, permits } = watched({ later: true })
  wake()
  await turns(1)
  cancel()
  await turns(10)
  expect(seen).toEqual(['claim 2, 2 taken', 'cancel 1'])
  cancelCalls[0]?.resolve()
  await turns(10)
  expect(seen.slice(2)).toEqual(['cancelled', 'run j2, 2 in hand', 'run j1, 1 in hand', 'settle j2+j1'])
  expect(permits.taken).toBe(0)
})

test('ends that come while the store writes earlier ones go together', async () => {
  const ends = new Map<string, () => void>()
  const run = (id: string): Promise<void> => new Promise((resolve) => void ends.set(id, resolve))
  const { wake, seen, settleCalls, workload } = watched({ jobs: 4, slots: 4, later: true, slow: true, run })
  const settles = (): string[] => seen.filter((each) => each.startsWith('settle'))
  wake()
  await turns(10)
  for (const end of ends.values()) {
    end()
    await turns(10)
  }
  expect(settles()).toEqual(['settle j4'])
  settleCalls[0]?.resolve()
  await turns(10)
  expect(settles()).toEqual(['settle j4', 'settle j3+j2+j1'])
  settleCalls[1]?.resolve()
  await turns(10)
  expect(workload.busy).toBe(false)
})

test('ends wait for a call that hangs for a second at most', async () => {
  const { wake, seen, clock } = watched({ jobs: 4, slots: 2, later: true, slow: true })
  wake()
  await turns(20)
  const settles = (): string[] => seen.filter((each) => each.startsWith('settle'))
  expect([settles(), seen.at(-1)]).toEqual([['settle j4+j3'], 'run j1, 1 in hand'])
  await clock.advance(999)
  await turns(10)
  expect(settles()).toHaveLength(1)
  await clock.advance(1)
  await turns(10)
  expect(settles()).toEqual(['settle j4+j3', 'settle j2+j1'])
})

test('an idle call comes when all commands given before are handled', async () => {
  const { wake, idleCalls, cancel, seen } = watched({ jobs: 1 })
  idleCalls.next(() => seen.push('idle'))
  wake()
  cancel()
  await turns(1)
  expect(seen).toEqual(['cancel 1', 'cancelled', 'idle', 'claim 1, 1 taken', 'run j1, 1 in hand', 'settle j1'])
})

test('a listener of events that throws harms only itself', async () => {
  const { wake, hub, seen, workload } = watched()
  hub.onAll(() => {
    throw new Error('mine')
  })
  hub.onAll(({ event, id }) => seen.push(`${event} ${id}`))
  wake()
  await turns(1)
  expect(seen.slice(-3)).toEqual(['settle j2+j1', 'COMPLETE j2', 'COMPLETE j1'])
  expect(workload.busy).toBe(false)
})
