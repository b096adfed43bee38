import { createClient, defineJob, type JobEvent, type JobState } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { assign, setup } from 'xstate'
import { ClientHandle, type HandleServices } from '../../src/client/handle.ts'
import { world } from '../support/leaks.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

function setUp() {
  const made = world()
  const job = defineJob<string, string>({
    type: 'job',
    retry: { maxAttempts: 2, backoff: () => '1s' },
    run: async (name, { checkin, log, attempt, signal }) => {
      checkin(attempt)
      await made.clock.sleep('1s', signal)
      log('slept')
      if (name === 'flaky' && attempt === 1) throw new Error('no')
      return name
    },
  })
  return { ...made, job }
}

const brief = ({ event, from, to, value }: JobEvent): unknown[] => [
  event,
  from,
  to,
  ...(value === undefined ? [] : [value]),
]

test('state$ gives the state now, then each change, and completes at the end', async () => {
  const { clock, runtime, job } = setUp()
  const handle = await (await runtime({ jobs: [job] })).enqueue(job, 'flaky', { delay: '1s' })
  const states: (JobState | 'complete')[] = []
  handle.state$.subscribe({ next: (state) => states.push(state), complete: () => states.push('complete') })
  await clock.advance('1m')
  expect(states).toEqual(['scheduled', 'queued', 'running', 'retrying', 'queued', 'running', 'done', 'complete'])
})

test('state$ of a job that has ended gives its end and completes', async () => {
  const { clock, runtime, job } = setUp()
  const handle = await (await runtime({ jobs: [job] })).enqueue(job, 'x')
  await clock.advance('1m')
  const states: unknown[] = []
  handle.state$.subscribe({ next: (state) => states.push(state), complete: () => states.push('complete') })
  await clock.settle()
  expect(states).toEqual(['done', 'complete'])
})

test('events$ gives the latest event so far, then each one, and completes at the end', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 'x', { delay: '1s' })
  const events: unknown[] = []
  handle.events$.subscribe({ next: (event) => events.push(brief(event)), complete: () => events.push('complete') })
  await clock.advance('1500ms')
  const late: unknown[] = []
  handle.events$.subscribe({ next: (event) => late.push(brief(event)) })
  await clock.advance('1m')
  const ending = [
    ['LOG', 'running', 'running', { message: 'slept' }],
    ['COMPLETE', 'running', 'done', 'x'],
  ]
  expect(events).toEqual([
    ['ENQUEUE', null, 'scheduled'],
    ['DUE', 'scheduled', 'queued'],
    ['CLAIM', 'queued', 'running'],
    ['CHECKIN', 'running', 'running', 1],
    ...ending,
    'complete',
  ])
  // Who comes later hears how it stands: the last transition, and the last sign of life since.
  expect(late).toEqual([['CLAIM', 'queued', 'running'], ['CHECKIN', 'running', 'running', 1], ...ending])
})

test('events carry the job, its attempt, its worker, and a seq that grows from transition to transition', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 'flaky', { delay: 1 })
  const events: JobEvent[] = []
  handle.events$.subscribe((event) => events.push(event))
  await clock.advance('1m')
  expect(events.every(({ id, type }) => id === handle.id && type === 'job')).toBe(true)
  expect(events.map(({ attempt }) => attempt)).toEqual([0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2])
  const transitions = events.filter(({ event }) => event !== 'CHECKIN' && event !== 'LOG')
  expect(transitions.map(({ seq }) => seq)).toEqual(transitions.map(({ seq }) => seq).toSorted((a, b) => a - b))
  expect(new Set(transitions.map(({ seq }) => seq)).size).toBe(transitions.length)
  expect(events.find(({ event }) => event === 'FAIL')).toMatchObject({ error: { message: 'no' }, worker: worker.id })
  expect((await handle.record()).history.map(({ seq }) => seq)).toEqual(transitions.map(({ seq }) => seq))
})

test('an event says why: the reason of a cancel, of a release', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const [waiting, running] = [await worker.enqueue(job, 'x', { delay: '1h' }), await worker.enqueue(job, 'y')]
  const events: JobEvent[] = []
  worker.events$.subscribe((event) => events.push(event))
  await clock.settle()
  await waiting.cancel({ reason: 'a' })
  await running.cancel({ reason: 'b' })
  await clock.settle()
  const cancels = events.filter(({ event }) => event === 'CANCEL')
  expect(cancels.map(({ to, reason }) => [to, reason])).toEqual([
    ['cancelled', 'a'],
    ['cancelling', 'b'],
  ])
  expect(events.at(-1)).toMatchObject({ from: 'cancelling', to: 'cancelled' })
})

test('job.events() is the same for await, and ends with the job', async () => {
  const { clock, runtime, job } = setUp()
  const handle = await (await runtime({ jobs: [job] })).enqueue(job, 'x', { delay: '1s' })
  const seen: unknown[] = []
  const reading = (async () => {
    for await (const event of handle.events()) seen.push(event.event)
    return 'ended'
  })()
  await clock.advance('1m')
  expect(await reading).toBe('ended')
  expect(seen).toEqual(['ENQUEUE', 'DUE', 'CLAIM', 'CHECKIN', 'LOG', 'COMPLETE'])
})

test('streams of a job that is not there fail with NOT_FOUND', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 'x')
  await clock.advance('1m')
  await worker.discard(handle.id)
  const codes: unknown[] = []
  const error = ({ code }: { code: string }): void => void codes.push(code)
  handle.state$.subscribe({ error })
  handle.events$.subscribe({ error })
  await clock.settle()
  expect(codes).toEqual(['NOT_FOUND', 'NOT_FOUND'])
})

test('who unsubscribes hears nothing more, and the others go on', async () => {
  const { clock, runtime, job } = setUp()
  const handle = await (await runtime({ jobs: [job] })).enqueue(job, 'x', { delay: '1s' })
  const heard = { a: 0, b: 0 }
  const subscription = handle.events$.subscribe(() => heard.a++)
  handle.events$.subscribe(() => heard.b++)
  await clock.settle()
  subscription.unsubscribe()
  await clock.advance('1m')
  expect(heard).toEqual({ a: 1, b: 6 })
})

test('actor() is a live actor of the chart that follows the job to its end', async () => {
  const { clock, runtime, job } = setUp()
  const handle = await (await runtime({ jobs: [job] })).enqueue(job, 'flaky', { delay: '1s' })
  const actor = handle.actor()
  expect(actor.getSnapshot()).toMatchObject({
    value: 'scheduled',
    context: { attempt: 0, maxAttempts: 2, generation: 1 },
  })
  const values: unknown[] = []
  actor.subscribe(({ value, context }) => values.push([value, context.attempt]))
  await clock.advance('1m')
  expect(values).toEqual([
    ['queued', 0],
    ['running', 1],
    ['retrying', 1],
    ['queued', 1],
    ['running', 2],
    ['done', 2],
  ])
  expect(actor.getSnapshot().status).toBe('done')
})

test('actor() of a job that is dead stands there, and of one looked up in the middle goes on from there', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 'flaky')
  await clock.advance(1_500)
  const found = await worker.job(handle.id)
  const actor = found?.actor()
  expect(actor?.getSnapshot()).toMatchObject({ value: 'retrying', context: { attempt: 1 } })
  await clock.advance('1m')
  expect(actor?.getSnapshot()).toMatchObject({ value: 'done', context: { attempt: 2 } })
  await handle.record()
  expect(handle.actor().getSnapshot()).toMatchObject({ value: 'done' })
})

test('an actor that is stopped, or has come to its end, follows its job no longer', async () => {
  let observers = 0
  const host: Pick<HandleServices, 'eventsSince'> = {
    eventsSince: () => {
      observers++
      return () => void observers--
    },
  }
  const counters = { attempt: 1, maxAttempts: 2, generation: 1 }
  const handle = new ClientHandle(host as HandleServices, 'a', 'job', 'inserted', true, 'running', 2, counters)
  const actors = [handle.actor(), handle.actor(), handle.actor()]
  expect(observers).toBe(3)
  actors[0]?.stop()
  expect(observers).toBe(2)
  actors[1]?.send({ type: 'COMPLETE' })
  expect(observers).toBe(1)
  actors[2]?.send({ type: 'FAIL' })
  expect(observers).toBe(1)
  actors[2]?.stop()
  expect(observers).toBe(0)
})

test('a job that was moved elsewhere tells the same when it has ended: outputs and errors too', async () => {
  const { clock, store, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const client = createClient({ store, jobs: [job], clock })
  const [here, there]: [unknown[], unknown[]] = [[], []]
  const told = ({ event, value, error }: JobEvent): unknown[] => [event, value, error]
  const isTransition = ({ event }: JobEvent): boolean => !['ENQUEUE', 'CHECKIN', 'LOG'].includes(event)
  worker.events$.subscribe((event) => isTransition(event) && here.push(told(event)))
  const handle = await client.enqueue(job, 'flaky', { delay: '1s' })
  handle.events$.subscribe((event) => isTransition(event) && there.push(told(event)))
  await clock.advance('1m')
  expect(there).toEqual(here)
  expect(there.at(-1)).toEqual(['COMPLETE', 'flaky', undefined])
  expect(there).toContainEqual(['FAIL', undefined, expect.objectContaining({ message: 'no' })])
  const late: unknown[] = []
  handle.events$.subscribe((event) => late.push(told(event)))
  await clock.settle()
  expect(late).toEqual([['COMPLETE', 'flaky', undefined]])
  await client.close()
})

test('what is sent to an actor transitions nothing in the store', async () => {
  const { clock, runtime, job } = setUp()
  const handle = await (await runtime({ jobs: [job] })).enqueue(job, 'x', { delay: '1h' })
  const actor = handle.actor()
  actor.send({ type: 'CANCEL' })
  expect(actor.getSnapshot().value).toBe('cancelled')
  await clock.settle()
  expect((await handle.record()).state).toBe('scheduled')
})

test('a stop completes the streams of jobs that have not ended', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 'x', { delay: '1h' })
  let completed = 0
  const complete = (): void => void completed++
  handle.state$.subscribe({ complete })
  handle.events$.subscribe({ complete })
  const reading = (async () => {
    for await (const _event of handle.events());
    return 'ended'
  })()
  await clock.settle()
  await worker.stop()
  expect([await reading, completed]).toEqual(['ended', 2])
})

/** Two worlds with clocks of their own, as two processes on one file. */
async function twoProcesses() {
  const folder = temporaryFolder()
  const stores = [1, 2].map(() => sqliteStore({ path: `${folder.path}/jobs.db`, durability: 'normal' }))
  onTestFinished(async () => {
    for (const store of stores) await store.close()
    folder.remove()
  })
  const [elsewhere, here] = stores.map((store) => world({ store }))
  if (elsewhere === undefined || here === undefined) throw new Error('two worlds were made')
  for (const { store, clock } of [elsewhere, here]) await store.open({ clock })
  return { elsewhere, here }
}

const stubborn = defineJob<undefined, void>({
  type: 'stubborn',
  run: async (_, { signal, log }) => {
    const aborted = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => aborted.resolve())
    await aborted.promise
    log('aborted')
  },
})

test.each(['here', 'elsewhere'] as const)(
  'a cancel %s of a job that runs here is given, and what its run says after it',
  async (where) => {
    const worlds = await twoProcesses()
    const { here } = worlds
    const runtime = await here.runtime({ jobs: [stubborn] })
    const handle = await runtime.enqueue(stubborn)
    const events: unknown[] = []
    handle.events$.subscribe((event) => events.push(brief(event).slice(0, 3)))
    await here.clock.advance('1s')
    await (where === 'here' ? runtime : worlds.elsewhere.idle({ jobs: [stubborn] })).cancel(handle.id)
    await here.clock.advance('30s')
    expect(events.slice(-3)).toEqual([
      ['CANCEL', 'running', 'cancelling'],
      ['LOG', 'cancelling', 'cancelling'],
      ['COMPLETE', 'cancelling', 'cancelled'],
    ])
  },
)

test('what other processes have done comes before an event of this one that has followed it', async () => {
  const machine = setup({ types: { events: {} as { type: 'GO' } } }).createMachine({
    context: { n: 0 },
    on: { GO: { actions: assign({ n: ({ context }) => context.n + 1 }) } },
    always: { guard: ({ context }) => context.n === 3, target: '.end' },
    initial: 'open',
    states: { open: {}, end: { type: 'final' } },
  })
  const job = defineJob({ type: 'machine', machine })
  const { elsewhere, here } = await twoProcesses()
  const worker = await elsewhere.runtime({ jobs: [job] })
  const { id } = await worker.enqueue(job)
  await elsewhere.clock.settle()
  // Its clock stands still: it reads the job at its own events alone.
  const handle = await here.idle({ jobs: [job] }).job(id)
  const states: JobState[] = []
  handle?.state$.subscribe((state) => states.push(state))
  await here.clock.settle()
  await worker.send(id, { type: 'GO' })
  await elsewhere.clock.settle()
  await handle?.send({ type: 'GO' })
  await here.clock.settle()
  expect(states).toEqual(['waiting', 'queued', 'running', 'waiting', 'queued'])
})
