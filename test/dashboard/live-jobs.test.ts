/** What live streams of single jobs ask of the store, and what their readers are told. */
import { createClient, createRuntime, defineJob, memoryStore } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { expect, onTestFinished, test, vi } from 'vitest'
import { email, messages } from './world.ts'

const streamsMax = 500

type Messages = ReturnType<typeof messages>

async function nextOf(stream: Messages, event: string): Promise<unknown> {
  for (;;) {
    const { value, done } = await stream.next()
    if (done) throw new Error(`the stream ended before ${event}`)
    if (value.event === event) return value.data
  }
}

/** A dashboard of a client in virtual time: what is read of the store for its streams, and what each of them tells. */
async function watched() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const store = memoryStore()
  const client = createClient({ store, jobs: [email] })
  await client.counts()
  const reads: number[] = []
  const get = store.get.bind(store)
  store.get = (ids) => {
    reads.push(ids.length)
    return get(ids)
  }
  const dashboard = createDashboard({ client })
  const watch = async (ids: readonly string[]) => {
    const told: string[][] = ids.map(() => [])
    const leave = new AbortController()
    for (const [i, id] of ids.entries()) {
      const url = `http://localhost/api/v1/events?job=${id}`
      const stream = messages(await dashboard.fetch(new Request(url, { signal: leave.signal })))
      void (async () => {
        for await (const { event } of stream) told[i]?.push(event)
        told[i]?.push('end')
      })()
    }
    await vi.advanceTimersByTimeAsync(2_000)
    return { told, leave: () => leave.abort() }
  }
  /** What is read in a time. */
  const readsIn = async (ms: number) => {
    reads.length = 0
    await vi.advanceTimersByTimeAsync(ms)
    return { calls: reads.length, jobs: reads.reduce((sum, count) => sum + count, 0), most: Math.max(0, ...reads) }
  }
  return { client, store, dashboard, reads, watch, readsIn }
}

const ids = (count: number): string[] => Array.from({ length: count }, (_, i) => `job-${i}`)

test('500 streams of 500 jobs read each job once in a second, 50 in a call', async () => {
  const { client, reads, watch, readsIn } = await watched()
  const timersBefore = vi.getTimerCount()
  const { told, leave } = await watch(ids(streamsMax))
  expect(told.map((events) => events[0])).toEqual(told.map(() => 'hello'))
  // The first reads, for streams that have begun at once.
  expect(reads.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 50))
  expect(await readsIn(2_000)).toEqual({ calls: 20, jobs: 2 * streamsMax, most: 50 })
  await Promise.all(ids(streamsMax).map((id) => client.enqueue(email, { to: 'ada' }, { id, delay: '1h' })))
  await vi.advanceTimersByTimeAsync(1_100)
  expect(told.map((events) => events.filter((event) => event === 'job').length)).toEqual(told.map(() => 1))
  leave()
  expect(vi.getTimerCount()).toBe(timersBefore)
  expect((await readsIn(5_000)).calls).toBe(0)
})

test('500 streams of one job read it once for all, and one stream ten times a second', async () => {
  const { client, watch, readsIn } = await watched()
  const one = await watch(['job-0'])
  expect(await readsIn(10_000)).toEqual({ calls: 100, jobs: 100, most: 1 })
  const others = await watch(Array.from({ length: streamsMax - 1 }, () => 'job-0'))
  expect(await readsIn(3_000)).toEqual({ calls: 3, jobs: 3, most: 1 })
  await client.enqueue(email, { to: 'ada' }, { id: 'job-0', delay: '1h' })
  await vi.advanceTimersByTimeAsync(1_100)
  const all = [...one.told, ...others.told]
  expect(all.map((events) => events.filter((event) => event === 'job').length)).toEqual(all.map(() => 1))
  // Those that stay are still served.
  others.leave()
  await vi.advanceTimersByTimeAsync(1_100)
  expect(await readsIn(10_000)).toEqual({ calls: 100, jobs: 100, most: 1 })
})

test('a reader that does not read is told of a change of its job when it reads again', async () => {
  const { client, dashboard } = await watched()
  const { body } = await dashboard.fetch(new Request('http://localhost/api/v1/events?job=job-0'))
  const reader = body!.getReader()
  await vi.advanceTimersByTimeAsync(500)
  // More than a stream holds.
  await client.enqueueMany(
    email,
    Array.from({ length: 1_000 }, () => ({ to: 'ada' })),
  )
  await vi.advanceTimersByTimeAsync(1_000)
  await client.enqueue(email, { to: 'ada' }, { id: 'job-0' })
  await vi.advanceTimersByTimeAsync(1_000)
  let text = ''
  const reading = (async () => {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      text += new TextDecoder().decode(value)
    }
  })()
  await vi.advanceTimersByTimeAsync(1_000)
  await reader.cancel()
  await reading
  // The first message has filled the stream.
  const told = text.matchAll(/event: (transitions|job)\n/g).map(([, event]) => event)
  expect([...told]).toEqual(['transitions', 'transitions', 'job', 'transitions'])
})

test('a reader that comes during a read of the log, after the last one has left, causes no second reads', async () => {
  const { store, watch } = await watched()
  let [calls, isHeld] = [0, false]
  let release = (): void => {}
  const transitions = store.transitions.bind(store)
  store.transitions = async (...query) => {
    calls++
    if (isHeld) await new Promise<void>((resolve) => (release = resolve))
    return transitions(...query)
  }
  const first = await watch(['job-0'])
  isHeld = true
  await vi.advanceTimersByTimeAsync(1_000)
  first.leave()
  await watch(['job-1'])
  isHeld = false
  release()
  await vi.advanceTimersByTimeAsync(1_000)
  calls = 0
  await vi.advanceTimersByTimeAsync(10_000)
  expect(calls).toBe(40)
})

test('streams of a client end when it is closed', async () => {
  const { client, watch } = await watched()
  const { told } = await watch(['job-0', ''])
  await client.close()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(told.map((events) => events.at(-1))).toEqual(['end', 'end'])
  expect(vi.getTimerCount()).toBe(0)
})

test('each reader is told of the check-ins, logs and transitions of its own job alone', async () => {
  const tell = new Map<string, (step: 'checkin' | 'log' | 'end') => void>()
  const stepping = defineJob<{ name: string }>({
    type: 'stepping',
    run: ({ name }, { checkin, log }) =>
      new Promise<void>((resolve) => {
        tell.set(name, (step) => {
          if (step === 'checkin') checkin({ percent: 50 })
          else if (step === 'log') log('half')
          else resolve()
        })
      }),
  })
  const runtime = createRuntime({ jobs: [stepping], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  const job = await runtime.enqueue(stepping, { name: 'a' }, { id: 'a' })
  await runtime.enqueue(stepping, { name: 'b' }, { id: 'b' })
  await expect.poll(() => tell.size).toBe(2)
  const dashboard = createDashboard({ runtime })
  const streams = ['a', 'a', 'b'].map(async (id) =>
    messages(await dashboard.fetch(new Request(`http://localhost/api/v1/events?job=${id}`))),
  )
  const [first, second, other] = (await Promise.all(streams)) as [Messages, Messages, Messages]
  for (const stream of [first, second, other]) expect((await stream.next()).value?.event).toBe('hello')
  for (const [step, isThere] of [
    ['checkin', async () => (await job.record()).checkin !== null],
    ['log', async () => (await job.record()).logs.length === 1],
    ['end', async () => (await job.record()).state === 'done'],
  ] as const) {
    tell.get('a')?.(step)
    for (const stream of [first, second]) expect(await nextOf(stream, 'job')).toEqual({ id: 'a' })
    expect(await isThere()).toBe(true)
  }
  tell.get('b')?.('log')
  expect(await nextOf(other, 'job')).toEqual({ id: 'b' })
  for (const stream of [first, second, other]) await stream.return(undefined)
})

test('a stream ends after half an hour, so that its reader is admitted anew', async () => {
  const { watch } = await watched()
  const { told } = await watch(['a'])
  await vi.advanceTimersByTimeAsync(29 * 60_000)
  expect(told[0]).not.toContain('end')
  await vi.advanceTimersByTimeAsync(60_000)
  expect(told[0]).toContain('end')
})
