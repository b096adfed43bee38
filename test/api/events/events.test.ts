import { defineJob, memoryStore, type JobEvent, type Store } from 'jobchart'
import { filter, map, take } from 'rxjs'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

function setUp(store?: Store) {
  const made = world(store && { store })
  const job = defineJob<string, string>({
    type: 'job',
    retry: { maxAttempts: 2, backoff: () => '1s' },
    run: async (name, { attempt }) => {
      if (name === 'fail' || (name === 'flaky' && attempt === 1)) throw new Error('no')
      return name
    },
  })
  return { ...made, job }
}

test('events$ reports every transition of this process in the order of its write', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job], concurrency: 3 })
  const events: JobEvent[] = []
  worker.events$.subscribe((event) => events.push(event))
  const handles = await worker.enqueueMany(job, ['a', 'fail', 'flaky', 'b', 'c'])
  await worker.enqueue(job, 'later', { delay: '2s' })
  await clock.advance('1m')
  await worker.retry({ state: 'dead' })
  await clock.advance('1m')
  const seqs = events.map(({ seq }) => seq)
  expect(seqs).toEqual(seqs.toSorted((a, b) => a - b))
  const { transitions } = await worker.store.transitions(null, 1_000)
  expect(events.map(({ seq, event, from, to }) => [seq, event, from, to])).toEqual(
    transitions.map(({ seq, event, from, to }) => [seq, event, from, to]),
  )
  expect(events.filter(({ id }) => id === handles[1]?.id).map(({ event }) => event)).toEqual([
    ...['ENQUEUE', 'CLAIM', 'FAIL', 'DUE', 'CLAIM', 'FAIL'],
    ...['RETRY', 'CLAIM', 'FAIL', 'DUE', 'CLAIM', 'FAIL'],
  ])
})

test('an event is told after its write: whoever looks finds it so', async () => {
  const { clock, store, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const looks: Promise<boolean>[] = []
  worker.events$.subscribe(({ id, seq }) =>
    looks.push(store.get([id]).then(([record]) => (record?.history ?? []).some((entry) => entry.seq === seq))),
  )
  await worker.enqueueMany(job, ['a', 'flaky', 'fail'])
  await clock.advance('1m')
  expect(looks.length).toBeGreaterThan(10)
  expect(await Promise.all(looks)).toEqual(looks.map(() => true))
})

test('every subscriber sees the same order, whatever the others do meanwhile', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job], concurrency: 2 })
  const seen: [number[], number[], number[]] = [[], [], []]
  worker.events$.subscribe(({ seq }) => seen[0].push(seq))
  worker.events$.subscribe(({ seq, to, event }) => {
    // Right in the middle of an event: cancel, enqueue, and so make other events.
    if (event === 'ENQUEUE' && seq < 20) void worker.enqueue(job, 'more')
    if (to === 'running' && seq % 5 === 0) void worker.cancel({ state: 'queued' })
    seen[1].push(seq)
  })
  worker.events$.subscribe(({ seq }) => seen[2].push(seq))
  await worker.enqueueMany(job, ['a', 'b', 'c', 'flaky', 'e'])
  await clock.advance('1m')
  expect(seen[0].length).toBeGreaterThan(30)
  expect(seen[1]).toEqual(seen[0])
  expect(seen[2]).toEqual(seen[0])
})

test('it is hot: who comes late hears only what comes later', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  await worker.run(job, 'early')
  const events: JobEvent[] = []
  worker.events$.subscribe((event) => events.push(event))
  await worker.run(job, 'late')
  await clock.settle()
  expect(events.map(({ event }) => event)).toEqual(['ENQUEUE', 'CLAIM', 'COMPLETE'])
})

test('it composes with RxJS, and completes when the runtime has stopped', async () => {
  const { runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const outputs: unknown[] = []
  worker.events$
    .pipe(
      filter(({ event }) => event === 'COMPLETE'),
      map(({ value }) => value),
      take(2),
    )
    .subscribe({ next: (value) => outputs.push(value), complete: () => outputs.push('complete') })
  let completed = 0
  worker.events$.subscribe({ complete: () => completed++ })
  for (const name of ['a', 'b', 'c']) await worker.run(job, name)
  expect(outputs).toEqual(['a', 'b', 'complete'])
  await worker.stop()
  worker.events$.subscribe({ complete: () => completed++ })
  expect(completed).toBe(2)
})

test('the last events of a stop are told before it completes', async () => {
  const { clock, runtime } = setUp()
  const job = defineJob<undefined, void>({ type: 'job', run: (_input, { signal }) => clock.sleep('1h', signal) })
  const worker = await runtime({ jobs: [job] })
  const events: string[] = []
  worker.events$.subscribe({ next: ({ event }) => events.push(event), complete: () => events.push('complete') })
  await worker.enqueue(job)
  await clock.settle()
  await worker.stop({ mode: 'abort' })
  expect(events).toEqual(['ENQUEUE', 'CLAIM', 'RELEASE', 'complete'])
})

test('what another runtime does is not told here, but is in the log of both', async () => {
  const { clock, runtime, job } = setUp()
  const one = await runtime({ jobs: [job], concurrency: 0 })
  const two = await runtime({ jobs: [job] })
  const events: [string[], string[]] = [[], []]
  one.events$.subscribe(({ event }) => events[0].push(event))
  two.events$.subscribe(({ event }) => events[1].push(event))
  await one.enqueue(job, 'x')
  await clock.settle()
  expect(events).toEqual([['ENQUEUE'], ['CLAIM', 'COMPLETE']])
})

test('a transition that was refused is not reported', async () => {
  const inner = memoryStore()
  const store: Store = {
    ...inner,
    settle: async (settlements) =>
      (await inner.settle(settlements)).map((answer) => ({ ...answer, outcome: 'lost' as const })),
  }
  const { clock, runtime, job } = setUp(store)
  const worker = await runtime({ jobs: [job] })
  const events: string[] = []
  worker.events$.subscribe(({ event }) => events.push(event))
  await worker.enqueue(job, 'x')
  await clock.settle()
  expect(events).toEqual(['ENQUEUE', 'CLAIM'])
})

test('a superseded job is told of', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const unique = { key: 'k', onConflict: 'supersede' as const }
  const first = await worker.enqueue(job, 'a', { unique })
  const events: unknown[] = []
  worker.events$.subscribe(({ id, event, to, reason }) => events.push([id, event, to, reason]))
  const second = await worker.enqueue(job, 'b', { unique })
  await clock.settle()
  expect(events).toEqual([
    [first.id, 'CANCEL', 'cancelled', 'superseded'],
    [second.id, 'ENQUEUE', 'queued', undefined],
  ])
})
