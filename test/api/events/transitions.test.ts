import { defineJob, JobchartError, memoryStore, type Store, type Transition } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const job = defineJob<number, number>({ type: 'job', run: async (n) => n })

test('transitions$ gives the whole log from the start, then what comes, from every process', async () => {
  const { clock, runtime } = world()
  const one = await runtime({ jobs: [job], concurrency: 0 })
  await one.enqueue(job, 1)
  const seen: Transition[] = []
  one.transitions$().subscribe((transition) => seen.push(transition))
  await clock.settle()
  expect(seen.map(({ event }) => event)).toEqual(['ENQUEUE'])
  const two = await runtime({ jobs: [job] })
  await two.enqueue(job, 2)
  await clock.advance('1s')
  expect(seen.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
  expect(seen.filter(({ event }) => event === 'COMPLETE')).toMatchObject([
    { type: 'job', from: 'running', to: 'done', attempt: 1, worker: two.id },
    { type: 'job', from: 'running', to: 'done', attempt: 1, worker: two.id },
  ])
})

test('from a cursor it goes on without a gap and without a double', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const seen: number[] = []
  let cursor: string | number = 0
  // A reader that is torn down again and again, at any moment, and goes on where it was.
  for (let round = 0; round < 40; round++) {
    const subscription = worker.transitions$({ from: cursor }).subscribe(({ seq, cursor: after }) => {
      seen.push(seq)
      // A number is understood, too.
      cursor = round % 2 === 0 ? after : seq
      if (seq % 7 === 0) subscription.unsubscribe()
    })
    await worker.enqueue(job, round)
    if (round % 3 === 0) await clock.advance(round * 11)
    else for (let i = 0; i < round; i++) await null
    subscription.unsubscribe()
  }
  worker.transitions$({ from: cursor }).subscribe(({ seq }) => seen.push(seq))
  await clock.advance('1m')
  expect(seen).toEqual(Array.from({ length: 120 }, (_, i) => i + 1))
})

test('more entries than a page come all the same', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  await worker.enqueueMany(job, Array(3_000).fill(1))
  let count = 0
  worker.transitions$().subscribe(() => count++)
  await clock.advance('1s')
  expect(count).toBe(3_000)
})

test('who asks for what is no longer kept is told SLOW_READER, and 0 means the oldest that is kept', async () => {
  const store = memoryStore({ transitionsMax: 10 })
  const { clock, runtime } = world({ store })
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  await worker.enqueueMany(job, Array(30).fill(1))
  const errors: unknown[] = []
  const seen: number[] = []
  worker.transitions$({ from: 5 }).subscribe({ error: (error: unknown) => errors.push(error) })
  worker.transitions$({ from: 20 }).subscribe(({ seq }) => seen.push(seq))
  worker.transitions$().subscribe(({ seq }) => seen.push(seq))
  await clock.settle()
  expect(errors).toMatchObject([{ code: 'SLOW_READER', hint: expect.any(String) }])
  const kept = Array.from({ length: 10 }, (_, i) => i + 21)
  expect(seen).toEqual([...kept, ...kept])
})

test('a reader whose place is overrun later is told SLOW_READER instead of skipping', async () => {
  const store = memoryStore({ transitionsMax: 10 })
  const { clock, runtime } = world({ store })
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  await worker.enqueue(job, 1)
  const seen: number[] = []
  const errors: { code: string }[] = []
  worker
    .transitions$()
    .subscribe({ next: ({ seq }) => seen.push(seq), error: (error: { code: string }) => errors.push(error) })
  await clock.settle()
  await worker.enqueueMany(job, Array(30).fill(1))
  await clock.advance('1s')
  expect(seen).toEqual([1])
  expect(errors.map(({ code }) => code)).toEqual(['SLOW_READER'])
})

test("from 'now' it gives what comes after the subscription, also of calls made in the same turn", async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  await worker.enqueue(job, 1)
  const seen: string[] = []
  const stream = worker.transitions$({ from: 'now' })
  stream.subscribe(({ id }) => seen.push(id))
  const second = worker.enqueue(job, 2, { id: 'second' })
  await clock.advance('1s')
  stream.subscribe(({ id }) => seen.push(`late: ${id}`))
  await worker.enqueue(job, 3, { id: 'third' })
  await clock.advance('1s')
  expect([(await second).id, ...seen]).toEqual(['second', 'second', 'third', 'late: third'])
})

test("from 'now' an entry that is dropped before it is read ends the stream, also of a log that was empty", async () => {
  const inner = memoryStore({ transitionsMax: 10 })
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  const store: Store = {
    ...inner,
    async transitions(from, limit) {
      await opened
      return inner.transitions(from, limit)
    },
  }
  const { clock, runtime } = world({ store })
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const errors: { code: string }[] = []
  worker.transitions$({ from: 'now' }).subscribe({ error: (error: { code: string }) => errors.push(error) })
  await clock.settle()
  await worker.enqueueMany(job, Array(30).fill(1))
  open()
  await clock.advance('1s')
  expect(errors.map(({ code }) => code)).toEqual(['SLOW_READER'])
})

test('a list and its tail, and counts and theirs, have no gap', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const enqueued = Array.from({ length: 30 }, (_, n) => worker.enqueue(job, n, { id: `job-${n}` }))
  const states = new Map<string, string>()
  const [page, counts] = await Promise.all([worker.list({ limit: 5 }), worker.counts()])
  for (const { id, state } of page) states.set(id, state)
  let { done } = counts
  worker.transitions$({ from: page.cursor }).subscribe(({ id, to }) => states.set(id, to))
  worker.transitions$({ from: counts.cursor }).subscribe(({ to }) => void (to === 'done' && done++))
  await Promise.all(enqueued)
  await clock.advance('1m')
  expect([done, states.size, new Set(states.values())]).toEqual([30, 30, new Set(['done'])])
  expect(JSON.parse(JSON.stringify(counts))).toEqual(counts)
})

test('a read model whose place was removed is built anew, and goes on', async () => {
  const store = memoryStore({ transitionsMax: 10 })
  const { clock, runtime } = world({ store })
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const model = new Map<string, string>()
  let rebuilt = 0
  // The recipe of the guide.
  const rebuild = async (): Promise<string> => {
    rebuilt++
    model.clear()
    let page = await worker.list({ fields: ['id', 'state'], limit: 7 })
    const { cursor } = page
    for (;;) {
      for (const { id, state } of page) model.set(id, state)
      if (page.next === undefined) return cursor
      page = await worker.list({ fields: ['id', 'state'], limit: 7, after: page.next })
    }
  }
  const follow = async (): Promise<void> => {
    for (let from = await rebuild(); ;) {
      try {
        for await (const { id, to, cursor } of worker.transitions$({ from })) {
          model.set(id, to)
          from = cursor
        }
        return
      } catch (error) {
        if (!(error instanceof JobchartError) || error.code !== 'SLOW_READER') throw error
        from = await rebuild()
      }
    }
  }
  const following = follow()
  for (let round = 0; round < 3; round++) {
    await worker.enqueueMany(job, Array(30).fill(1))
    await clock.advance('1s')
    await worker.enqueue(job, 1)
    await clock.advance('1s')
    expect([model.size, rebuilt > round + 1]).toEqual([31 * (round + 1), true])
  }
  await worker.stop()
  await following
})

test('a cursor ahead of the log is of a log that is gone: the stream says so', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  await worker.enqueueMany(job, [1, 2])
  const seen: unknown[] = []
  worker
    .transitions$({ from: 3 })
    .subscribe({ next: ({ seq }) => seen.push(seq), error: ({ code }) => seen.push(code) })
  await clock.advance('1s')
  expect(seen).toEqual(['SLOW_READER'])
})

test('a stop tells the last entries, each once, then completes', async () => {
  for (let turns = 0; turns < 8; turns++) {
    const { clock, runtime } = world()
    const worker = await runtime({ jobs: [job] })
    const seen: (number | string)[] = []
    worker.transitions$().subscribe({ next: ({ seq }) => seen.push(seq), complete: () => seen.push('complete') })
    await clock.settle()
    await worker.enqueue(job, 1)
    for (let i = 0; i < turns; i++) await null
    await worker.stop({ mode: 'drain' })
    await clock.settle()
    expect(seen, `after ${turns} turns`).toEqual([1, 2, 3, 'complete'])
  }
})

test('a stop in the middle of a reading tells nothing twice', async () => {
  const inner = memoryStore()
  const held: (() => void)[] = []
  const store: Store = {
    ...inner,
    async transitions(from, limit) {
      const page = await inner.transitions(from, limit)
      await new Promise<void>((resolve) => void held.push(resolve))
      return page
    },
  }
  const { clock, runtime } = world({ store })
  const worker = await runtime({ jobs: [job] })
  await worker.enqueue(job, 1)
  const seen: (number | string)[] = []
  worker.transitions$().subscribe({ next: ({ seq }) => seen.push(seq), complete: () => seen.push('complete') })
  await clock.settle()
  await worker.stop()
  expect(seen).toEqual([])
  for (let reading = 0; reading < 2; reading++) {
    for (const answer of held.splice(0)) answer()
    await clock.settle()
  }
  expect(seen).toEqual([1, 2, 3, 'complete'])
})

test('a reader goes on where it was when the store was unavailable, and is told of it where it cannot begin', async () => {
  const inner = memoryStore()
  let isAway = false
  const away = async <Answer>(call: () => Promise<Answer>): Promise<Answer> => {
    if (isAway) throw new JobchartError('STORE_UNAVAILABLE', 'away', { hint: 'wait' })
    return call()
  }
  const store: Store = {
    ...inner,
    transitions: (from, limit) => away(() => inner.transitions(from, limit)),
    counts: () => away(() => inner.counts()),
  }
  const { clock, runtime, expectLogged } = world({ store })
  const worker = await runtime({ jobs: [job] })
  const seen: number[] = []
  const waiting: number[] = []
  worker.transitions$().subscribe(({ seq }) => seen.push(seq))
  worker.pressure$.subscribe((pressure) => waiting.push(pressure.waiting))
  await worker.run(job, 1)
  await clock.advance('1s')
  expect([seen, waiting.splice(0).at(-1)]).toEqual([[1, 2, 3], 0])
  isAway = true
  const later = await worker.enqueue(job, 2, { delay: '1m' })
  await clock.advance('10s')
  expect([seen, waiting]).toEqual([[1, 2, 3], []])
  const refused: unknown[] = []
  worker.transitions$().subscribe({ error: ({ code }: JobchartError) => refused.push(code) })
  await clock.settle()
  expect(refused).toEqual(['STORE_UNAVAILABLE'])
  isAway = false
  await clock.advance('1s')
  await later.cancel()
  await clock.advance('1s')
  expect([seen, waiting]).toEqual([
    [1, 2, 3, 4, 5],
    [1, 0],
  ])
  const told = 'a stream could not read the store; the read is repeated'
  expect(expectLogged('warn').filter((message) => message === told)).toHaveLength(2)
})

test('it can be read with for await, bounded', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  await worker.enqueueMany(job, Array(20).fill(1))
  const seen: number[] = []
  for await (const { seq } of worker.transitions$({ from: 15 })) {
    seen.push(seq)
    if (seen.length === 5) break
  }
  expect(seen).toEqual([16, 17, 18, 19, 20])
  const slow = worker.transitions$().iterate({ buffer: 3 })
  await slow.next()
  await clock.settle()
  const rest: unknown[] = []
  await (async () => {
    for await (const { seq } of slow) rest.push(seq)
  })().catch((error: { code: string }) => rest.push(error.code))
  expect(rest.at(-1)).toBe('SLOW_READER')
})
