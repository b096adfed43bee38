import { defineJob, type JobEvent } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const note = defineJob<number, number>({ type: 'note', run: async (n) => n })

async function setUp() {
  const made = world()
  const worker = await made.runtime({ jobs: [note], concurrency: 1 })
  /** Lets `count` jobs pass: three events each. */
  const pass = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await worker.run(note, n)
  }
  return { ...made, worker, pass }
}

/** What is in the buffer, as far as it can be read without waiting. */
async function drain(reader: AsyncIterator<JobEvent, undefined>, count: number): Promise<unknown[]> {
  const seen: unknown[] = []
  for (let i = 0; i < count; i++) {
    const { value, done } = await reader.next()
    seen.push(done === true ? 'end' : value?.seq)
  }
  return seen
}

test('every Stream can be read with for await, from the moment it is asked for', async () => {
  const { worker, pass } = await setUp()
  await pass(1)
  const reader = worker.events$[Symbol.asyncIterator]()
  await pass(1)
  expect(await drain(reader, 3)).toEqual([4, 5, 6])
  await reader.return?.()
})

test('a reader that waits gets each value as it comes', async () => {
  const { worker, pass } = await setUp()
  const reader = worker.events$.iterate()
  const waiting = [reader.next(), reader.next()]
  await pass(1)
  expect((await Promise.all(waiting)).map(({ value }) => value?.event)).toEqual(['ENQUEUE', 'CLAIM'])
  await reader.return?.()
})

test("overflow 'drop-oldest' keeps the latest", async () => {
  const { worker, pass } = await setUp()
  const reader = worker.events$.iterate({ buffer: 4, overflow: 'drop-oldest' })
  await pass(3)
  expect(await drain(reader, 4)).toEqual([6, 7, 8, 9])
  await reader.return?.()
})

test("overflow 'drop-newest' keeps the first", async () => {
  const { worker, pass } = await setUp()
  const reader = worker.events$.iterate({ buffer: 4, overflow: 'drop-newest' })
  await pass(3)
  expect(await drain(reader, 4)).toEqual([1, 2, 3, 4])
  await reader.return?.()
})

test("overflow 'error', the default, ends with SLOW_READER after what was kept, once", async () => {
  const { worker, pass } = await setUp()
  for (const overflow of [{ overflow: 'error' as const }, {}]) {
    const reader = worker.events$.iterate({ buffer: 4, ...overflow })
    await pass(2)
    expect(await drain(reader, 4)).toHaveLength(4)
    await expect(reader.next()).rejects.toMatchObject({ code: 'SLOW_READER', hint: expect.any(String) })
    expect(await reader.next()).toEqual({ value: undefined, done: true })
  }
})

test('256 values are kept by default', async () => {
  const { worker, pass } = await setUp()
  const reader = worker.events$.iterate()
  await pass(86)
  expect((await drain(reader, 256)).at(-1)).toBe(256)
  await expect(reader.next()).rejects.toMatchObject({ code: 'SLOW_READER' })
})

test('leaving the loop unsubscribes', async () => {
  const { worker, pass } = await setUp()
  let seen = 0
  const reading = (async () => {
    for await (const _event of worker.events$) if (++seen === 2) break
  })()
  await pass(3)
  await reading
  expect(seen).toBe(2)
})

test('a signal ends the loop with ABORTED, its reason as the cause', async () => {
  const { worker, pass } = await setUp()
  const controller = new AbortController()
  const seen: string[] = []
  const reading = (async () => {
    for await (const { event } of worker.events$.iterate({ signal: controller.signal })) seen.push(event)
  })().catch((error: unknown) => error)
  await pass(1)
  controller.abort('enough')
  expect(await reading).toMatchObject({ code: 'ABORTED', name: 'AbortError', cause: 'enough' })
  expect(seen).toEqual(['ENQUEUE', 'CLAIM', 'COMPLETE'])
  const before = worker.events$.iterate({ signal: controller.signal })
  await expect(before.next()).rejects.toMatchObject({ code: 'ABORTED' })
})

test('a stop of the runtime ends the loop', async () => {
  const { worker, pass } = await setUp()
  const events: string[] = []
  const reading = (async () => {
    for await (const { event } of worker.events$) events.push(event)
    return 'ended'
  })()
  await pass(1)
  await worker.stop()
  expect(await reading).toBe('ended')
  expect(events).toHaveLength(3)
})

test('piped streams are read the same way through iterate of their source', async () => {
  const { worker, pass } = await setUp()
  const { filter } = await import('rxjs')
  const piped = worker.events$.pipe(filter(({ event }) => event === 'COMPLETE'))
  const seen: unknown[] = []
  piped.subscribe(({ value }) => seen.push(value))
  await pass(3)
  expect(seen).toEqual([0, 1, 2])
})
