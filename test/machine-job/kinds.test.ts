/**
 * A deployment makes an actor of one kind one of another kind under the same name: what was kept of it does not fit the
 * new one.
 */
import { createClient, defineJob, durable, fromJob, type JobDefinition } from 'jobchart'
import {
  createMachine,
  fromCallback,
  fromObservable,
  fromPromise,
  fromTransition,
  setup,
  type AnyActorLogic,
  type AnyStateMachine,
} from 'xstate'
import { expect, test } from 'vitest'
import { strandedJobs } from '../../src/cli/stranded-jobs.ts'
import { world } from '../support/leaks.ts'

const child = defineJob({ type: 'child', run: () => 'child' })

const endless = (): Promise<never> => new Promise(() => {})

const kinds: Readonly<Record<string, () => AnyActorLogic>> = {
  promise: () => fromPromise(endless),
  durable: () => durable(endless),
  callback: () => fromCallback(() => {}),
  observable: () => fromObservable(() => ({ subscribe: () => ({ unsubscribe: () => {} }) })),
  transition: () => fromTransition((count: number) => count + 1, 0),
  machine: () => createMachine({ id: 'kid', initial: 'on', states: { on: {} } }),
  job: () => fromJob(child),
}

const machineOf = (work: AnyActorLogic) =>
  setup({ actors: { work } }).createMachine({
    id: 'order',
    initial: 'on',
    states: {
      on: { invoke: { id: 'work', src: 'work', input: { n: 1 }, onDone: 'end', onError: 'end' } },
      end: { type: 'final' },
    },
  })

const inlineOf = (work: AnyActorLogic) =>
  createMachine({
    id: 'order',
    initial: 'on',
    states: { on: { invoke: { id: 'work', src: work, onDone: 'end', onError: 'end' } }, end: { type: 'final' } },
  })

const define = (machine: AnyStateMachine): JobDefinition => defineJob({ type: 'order', machine })

/** A job that an old process left at work. */
async function leftAtWork(before: JobDefinition) {
  const at = world()
  const old = await at.runtime({ jobs: [before, child] })
  await old.queue('child').pause()
  const { id } = await old.enqueue(before, undefined)
  await at.clock.settle()
  await old.stop({ mode: 'abort', grace: 0 })
  return { at, id }
}

/** What a new process says to it. */
async function deployed(before: JobDefinition, after: JobDefinition) {
  const { at, id } = await leftAtWork(before)
  const runtime = await at.runtime({ jobs: [after, child] })
  await at.clock.advance('40s')
  const record = await (await runtime.job(id))?.record()
  at.expectLogged('error')
  at.expectLogged('warn')
  return record
}

const works = ['promise', 'durable', 'callback', 'observable']
const others = ['transition', 'machine', 'job']

const changes = [
  ...works.flatMap((from) => others.map((to) => [from, to] as const)),
  ...others.flatMap((from) => Object.keys(kinds).map((to) => [from, to] as const)),
].filter(([from, to]) => from !== to)

test.each(changes)(
  'a %s that has become a %s is found out: the job waits, and its record says why',
  async (from, to) => {
    const [before, after] = [kinds[from]?.(), kinds[to]?.()] as [AnyActorLogic, AnyActorLogic]
    const record = await deployed(define(machineOf(before)), define(machineOf(after)))
    // What runs is claimed and postponed; what waits is not woken for that.
    expect(record?.state).toBe(works.includes(from) ? 'scheduled' : 'waiting')
    expect(record?.unsupported?.reason).toMatch(new RegExp(`actor work was (?:a|work).* and is (?:a|work)`))
  },
)

test.each(changes)('`jobchart check` counts a %s that has become a %s before the deployment', async (from, to) => {
  const [before, after] = [kinds[from]?.(), kinds[to]?.()] as [AnyActorLogic, AnyActorLogic]
  const { at, id } = await leftAtWork(define(machineOf(before)))
  const next = define(machineOf(after))
  const client = createClient({ jobs: [next, child], store: at.store, clock: at.clock, logger: at.logger })
  const { stranded } = await strandedJobs(client, [next, child], false)
  expect(stranded).toMatchObject([{ type: 'order', count: 1, ids: [id] }])
  expect(stranded[0]?.reason).toContain('actor work was ')
  await client.close()
})

test('an inline actor is found by its place', async () => {
  const record = await deployed(define(inlineOf(fromPromise(endless))), define(inlineOf(fromJob(child))))
  expect(record?.unsupported?.reason).toContain('actor work was work')
})

test.each(works.flatMap((from) => works.filter((to) => to !== from).map((to) => [from, to] as const)))(
  'a %s that has become a %s begins again as that: neither has a state that would be lost',
  async (from, to) => {
    const [before, after] = [kinds[from]?.(), kinds[to]?.()] as [AnyActorLogic, AnyActorLogic]
    const record = await deployed(define(machineOf(before)), define(machineOf(after)))
    expect(record?.unsupported).toBe(null)
  },
)
