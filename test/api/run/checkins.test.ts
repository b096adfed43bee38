import { defineJob, memoryStore, type JobEvent, type RunContext, type Store } from 'jobchart'
import { faultyStore } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const start = Date.UTC(2026, 0, 1)

/** A memory store that notes each check-in that is written, and when. */
function notingStore(
  clock: () => number,
  inner = memoryStore(),
): { store: Store; written: [value: unknown, afterMs: number][] } {
  const written: [unknown, number][] = []
  const store: Store = {
    ...inner,
    extend(request) {
      for (const { checkin } of request.heartbeats)
        if (checkin !== undefined) written.push([checkin.value, clock() - start])
      return inner.extend(request)
    },
  }
  return { store, written }
}

test('a check-in is in the record, in the list of workers and among the events, with its time', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, void>({
    type: 'job',
    run: async (_input, { checkin, signal }) => {
      await clock.sleep('1s', signal)
      checkin({ page: 3, of: 9 })
      await clock.sleep('1h', signal)
    },
  })
  const worker = await runtime({ jobs: [job] })
  const events: JobEvent[] = []
  worker.events$.subscribe((event) => events.push(event))
  const handle = await worker.enqueue(job)
  await clock.advance('1s')
  const checkin = { at: start + 1_000, value: { page: 3, of: 9 } }
  expect((await handle.record()).checkin).toEqual(checkin)
  expect((await worker.list({}))[0]?.checkin).toEqual(checkin)
  expect((await worker.workers())[0]?.running).toMatchObject([{ id: handle.id, attempt: 1, since: start, checkin }])
  expect(events.find(({ event }) => event === 'CHECKIN')).toMatchObject({
    id: handle.id,
    at: start + 1_000,
    from: 'running',
    to: 'running',
    attempt: 1,
    value: { page: 3, of: 9 },
    worker: worker.id,
  })
})

test('check-ins are written four times a second at most, the latest each time, and all of them are events', async () => {
  let now = (): number => start
  const { store, written } = notingStore(() => now())
  const { clock, runtime } = world({ store })
  now = () => clock.now()
  const job = defineJob<undefined, void>({
    type: 'job',
    run: async (_input, { checkin, signal }) => {
      for (let n = 1; n <= 100; n++) {
        checkin(n)
        await clock.sleep(10, signal)
      }
      await clock.sleep('1m', signal)
    },
  })
  const worker = await runtime({ jobs: [job] })
  let told = 0
  worker.events$.subscribe(({ event }) => (told += event === 'CHECKIN' ? 1 : 0))
  await worker.enqueue(job)
  await clock.advance('2s')
  expect(written).toEqual([
    [1, 0],
    [25, 250],
    [50, 500],
    [75, 750],
    [100, 1_000],
  ])
  expect(told).toBe(100)
})

test('the last check-in is never lost, however soon the run ends after it and however it ends', async () => {
  const { clock, runtime } = world()
  const job = defineJob<string, void>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: async (how, { checkin, signal }) => {
      checkin(1)
      await clock.sleep(10, signal)
      checkin(2)
      checkin(`last of ${how}`)
      if (how === 'throw') throw new Error('no')
      if (how === 'cancel') await clock.sleep('1h', signal)
    },
  })
  const worker = await runtime({ jobs: [job] })
  const handles = await worker.enqueueMany(job, ['return', 'throw', 'cancel'])
  await clock.advance(15)
  await handles[2]?.cancel()
  await clock.advance(1)
  const records = await Promise.all(handles.map((handle) => handle.record()))
  expect(records.map(({ state, checkin }) => [state, checkin?.value])).toEqual([
    ['done', 'last of return'],
    ['dead', 'last of throw'],
    ['cancelled', 'last of cancel'],
  ])
})

test('the list of workers has the inputs of what runs, and not if they are left out', async () => {
  const { clock, runtime } = world()
  const job = defineJob<string | undefined, void>({
    type: 'job',
    run: (_input, { signal }) => clock.sleep('1h', signal),
  })
  const worker = await runtime({ jobs: [job] })
  await worker.enqueue(job, 'a.png')
  await worker.enqueue(job, undefined)
  await clock.advance('1s')
  const running = async (options?: { inputs: boolean }) =>
    (await worker.workers(options)).flatMap((each) => each.running.map(({ input }) => input))
  expect(new Set(await running())).toEqual(new Set(['a.png', undefined]))
  expect(await running({ inputs: false })).toEqual([undefined, undefined])
  const wrong = { input: false } as object
  await expect(worker.workers(wrong)).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining('options of workers'),
  })
})

test('the last check-in is not lost with a write that is late or fails', async () => {
  const plans = [
    { extend: { before: 1 } },
    { extend: { late: 1, lateBy: '10s' } },
    { extend: { lostReply: 1 } },
  ] as const
  for (const faults of plans) {
    const inner = memoryStore()
    const { clock, runtime } = world({ store: faultyStore(inner, { seed: 3, faults }) })
    const job = defineJob<undefined, void>({
      type: 'job',
      run: async (_input, { checkin, signal }) => {
        checkin('the last')
        await clock.sleep(5, signal)
      },
    })
    const handle = await (await runtime({ jobs: [job] })).enqueue(job)
    await clock.advance('1m')
    // A question on the same road would stand behind whatever is late.
    expect((await inner.get([handle.id]))[0], JSON.stringify(faults)).toMatchObject({
      state: 'done',
      checkin: { value: 'the last' },
    })
  }
})

test('a check-in stays with the job for the next attempt', async () => {
  const { clock, runtime } = world()
  const seen: unknown[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { backoff: () => '1s' },
    run: async (_input, { checkin, attempt, job: { checkin: last } }) => {
      seen.push(last?.value ?? null)
      checkin(attempt)
      if (attempt < 3) throw new Error('again')
    },
  })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('10s')
  expect(seen).toEqual([null, 1, 2])
})

test('a check-in or log field that is not JSON throws in the handler, naming the place', async () => {
  const { clock, runtime } = world()
  const thrown: unknown[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    run: (_input, { checkin, log }) => {
      for (const bad of [() => checkin({ a: 1n as never }), () => checkin(undefined), () => log('x', { f: () => 1 })]) {
        try {
          bad()
        } catch (error) {
          thrown.push((error as { code: string; message: string }).code)
        }
      }
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  expect(thrown).toEqual(['INVALID_OUTPUT', 'INVALID_OUTPUT', 'INVALID_OUTPUT'])
  expect(await handle.record()).toMatchObject({ state: 'done', checkin: null, logs: [] })
})

test('logs are kept with the job, oldest first, with their attempt and fields', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { backoff: () => '1s' },
    run: async (_input, { log, attempt }) => {
      log('began', { attempt, list: [1] })
      log('ended')
      if (attempt === 1) throw new Error('again')
    },
  })
  const worker = await runtime({ jobs: [job] })
  const lines: unknown[] = []
  worker.events$.subscribe(({ event, value }) => event === 'LOG' && lines.push(value))
  const handle = await worker.enqueue(job)
  await clock.advance('1m')
  expect((await handle.record()).logs).toEqual([
    { at: start, attempt: 1, message: 'began', fields: { attempt: 1, list: [1] } },
    { at: start, attempt: 1, message: 'ended' },
    { at: start + 1_000, attempt: 2, message: 'began', fields: { attempt: 2, list: [1] } },
    { at: start + 1_000, attempt: 2, message: 'ended' },
  ])
  expect(lines[0]).toEqual({ message: 'began', fields: { attempt: 1, list: [1] } })
})

test('the last hundred lines of a job are kept, each cut at two thousand characters', async () => {
  const { clock, runtime } = world()
  const write = async ({ log, signal }: RunContext): Promise<void> => {
    for (let n = 0; n < 250; n++) log(String(n))
    await clock.sleep('1s', signal)
    log('x'.repeat(5_000))
  }
  const job = defineJob<undefined, void>({ type: 'job', run: (_input, context) => write(context) })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  const { logs } = await handle.record()
  expect([logs.length, logs[0]?.message, logs[98]?.message, logs[99]?.message.length]).toEqual([
    100,
    '151',
    '249',
    2_000,
  ])
})

test('lines are kept in their order, none twice, when the store fails now and then', async () => {
  const store = faultyStore(memoryStore(), { seed: 5, faults: { extend: { before: 0.5 } } })
  const { clock, runtime } = world({ store })
  const job = defineJob<undefined, void>({
    type: 'job',
    run: async (_input, { log, signal }) => {
      for (let n = 0; n < 60; n++) {
        log(String(n))
        await clock.sleep(100, signal)
      }
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  const { logs } = await handle.record()
  expect(logs.map(({ message }) => Number(message))).toEqual(Array.from({ length: 60 }, (_, n) => n))
})

test('what a subscriber does to the value of an event is not stored', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, void>({
    type: 'job',
    run: async (_input, { checkin, log }) => {
      checkin({ pages: [1] })
      log('read', { pages: [1] })
    },
  })
  const worker = await runtime({ jobs: [job] })
  worker.events$.subscribe((event) => {
    if (event.event === 'CHECKIN') Object.assign(event.value as object, { pages: 'none' })
    if (event.event === 'LOG') Object.assign(event.value.fields as object, { pages: 'none' })
  })
  const handle = await worker.enqueue(job)
  await clock.settle()
  expect(await handle.record()).toMatchObject({
    checkin: { value: { pages: [1] } },
    logs: [{ message: 'read', fields: { pages: [1] } }],
  })
})
