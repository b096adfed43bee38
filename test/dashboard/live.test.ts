import { createClient, memoryStore } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { expect, onTestFinished, test as testOnce } from 'vitest'
import { newJob, put } from '../../src/store-testing/conformance/acts.ts'
import { email, messages, storeTests } from './world.ts'

const test = storeTests()

interface Told {
  readonly seq: number
  readonly id: string
  readonly event: string
}

test('the live stream tells counts at once and transitions as they happen', async ({ called }) => {
  const { call, runtime } = await called()
  const leave = new AbortController()
  const response = await call('/api/v1/events', { signal: leave.signal })
  expect(response.headers.get('content-type')).toMatch('text/event-stream')
  const stream = messages(response)
  const next = async (event: string): Promise<{ id: string; data: unknown }> => {
    for await (const message of { [Symbol.asyncIterator]: () => ({ next: () => stream.next() }) }) {
      if (message.event === event) return message
    }
    throw new Error(`the stream ended before ${event}`)
  }
  expect((await next('hello')).id).not.toBe('')
  expect((await next('counts')).data).toMatchObject({ done: 2, dead: 1, types: { order: { waiting: 1 } } })
  await runtime.run(email, { to: 'eve' })
  const told: Told[] = []
  let done = 2
  // In either order, and in one message or several.
  while (told.length < 3 || done < 3) {
    const { event, data } = (await stream.next()).value!
    if (event === 'transitions') told.push(...(data as Told[]))
    if (event === 'counts') ({ done } = data as { done: number })
  }
  expect(told.map(({ event }) => event)).toEqual(['ENQUEUE', 'CLAIM', 'COMPLETE'])
  leave.abort()
  expect((await stream.next()).done).toBe(true)
})

test('one stream tells every transition once, message after message', async ({ called }) => {
  const { call, runtime } = await called()
  const stream = messages(await call('/api/v1/events'))
  const hello = (await stream.next()).value
  const seen: number[] = []
  for (const to of ['x', 'y', 'z']) {
    await runtime.run(email, { to })
    for (const before = seen.length; seen.length < before + 3;) {
      const { event, data } = (await stream.next()).value!
      if (event === 'transitions') seen.push(...(data as Told[]).map(({ seq }) => seq))
    }
  }
  await stream.return(undefined)
  const { transitions } = await runtime.store.transitions(hello?.id ?? null, 100)
  expect(seen).toEqual(transitions.map(({ seq }) => seq))
})

test('a reader that comes back with Last-Event-ID misses nothing and sees nothing twice', async ({ called }) => {
  const { call, runtime } = await called()
  const first = messages(await call('/api/v1/events'))
  const hello = (await first.next()).value
  await first.return(undefined)
  await Promise.all(['x', 'y', 'z'].map((to) => runtime.run(email, { to })))
  const seen: Told[] = []
  let cursor = hello?.id ?? ''
  // Twice, each time from where the last message was.
  for (const wanted of [9, 12]) {
    if (wanted === 12) await runtime.run(email, { to: 'w' })
    const stream = messages(await call('/api/v1/events', { headers: { 'last-event-id': cursor } }))
    for await (const { event, id, data } of stream) {
      if (event !== 'transitions') continue
      seen.push(...(data as Told[]))
      cursor = id
      if (seen.length >= wanted) break
    }
  }
  const all = (await runtime.store.transitions(hello?.id ?? null, 100)).transitions
  expect(seen.map(({ seq }) => seq)).toEqual(all.map(({ seq }) => seq))
  expect(seen).toHaveLength(12)
})

test('a cursor that the log does not hold is answered with a reset', async ({ called }) => {
  const { call } = await called()
  for await (const { event, data } of messages(await call('/api/v1/events?from=999999999'))) {
    expect([event, data]).toEqual(['reset', {}])
    break
  }
})

test('a reader of one job is told of its check-ins and logs', async ({ called }) => {
  const { call, runtime } = await called()
  const stream = messages(await call('/api/v1/events?job=one'))
  await stream.next()
  const run = runtime.enqueue(email, { to: 'ada' }, { id: 'one' })
  for await (const { event, data } of stream) {
    if (event !== 'job') continue
    expect(data).toEqual({ id: 'one' })
    break
  }
  await (await run).result()
})

test('no more than 500 readers are let in', async ({ called }) => {
  const { call } = await called()
  const leave = new AbortController()
  const open = await Promise.all(Array.from({ length: 501 }, () => call('/api/v1/events', { signal: leave.signal })))
  expect(open.map(({ status }) => status).filter((status) => status === 503)).toEqual([503])
  leave.abort()
  expect((await call('/api/v1/events', { signal: AbortSignal.abort() })).status).toBe(200)
})

test('when all places are taken, who has most gives way to who has fewer', async ({ called }) => {
  const { call } = await called({ authorize: () => 'read' })
  const leave = new AbortController()
  const open = (cookie: string): Promise<Response> =>
    call('/api/v1/events', { signal: leave.signal, headers: { cookie } })
  const crowd = await Promise.all(Array.from({ length: 499 }, () => open('user=1')))
  const [second, third, fourth] = [await open('user=2'), await open('user=2'), await open('user=3')]
  expect([second, third, fourth].map(({ status }) => status)).toEqual([200, 200, 200])
  const first = messages(crowd[0]!)
  for (;;) if ((await first.next()).done) break
  expect((await open('user=1')).status).toBe(503)
  expect((await call('/api/v1/events', { method: 'HEAD', headers: { cookie: 'user=4' } })).status).toBe(200)
  leave.abort()
})

test('nothing is asked of the store when nobody listens any more', async ({ called }) => {
  const { call, runtime } = await called()
  let asked = 0
  const transitions = runtime.store.transitions.bind(runtime.store)
  runtime.store.transitions = (...args) => {
    asked++
    return transitions(...args)
  }
  const stream = messages(await call('/api/v1/events'))
  await stream.next()
  expect(asked).toBeGreaterThan(0)
  await stream.return(undefined)
  const then = asked
  await new Promise<void>((resolve) => setTimeout(resolve, 600))
  expect(asked - then).toBeLessThanOrEqual(1)
})

test('the log and the counts are read once for all readers, and a message is made once', async ({ called }) => {
  const { call, runtime } = await called()
  const { store } = runtime
  const [counts, transitions] = [store.counts.bind(store), store.transitions.bind(store)]
  const calls = { counts: 0, transitions: 0 }
  store.counts = () => (calls.counts++, counts())
  store.transitions = (...query) => (calls.transitions++, transitions(...query))
  const open = await Promise.all(Array.from({ length: 40 }, () => call('/api/v1/events')))
  const readers = open.map((response) => response.body!.getReader())
  const chunkOf = async (reader: (typeof readers)[number], event: string): Promise<Uint8Array | undefined> => {
    for (;;) {
      const { value, done } = await reader.read()
      if (done || new TextDecoder().decode(value).includes(`event: ${event}\n`)) return value
    }
  }
  await Promise.all(readers.map((reader) => chunkOf(reader, 'counts')))
  await runtime.enqueue(email, { to: 'ada' }, { delay: '1h' })
  // One piece has both.
  const told = await Promise.all(readers.map((reader) => chunkOf(reader, 'transitions')))
  expect(new Set(told).size).toBe(1)
  expect(new TextDecoder().decode(told[0])).toContain('event: counts\n')
  // A read of the log reads the counts before it, and after it if there was anything new.
  expect(calls.counts).toBeLessThanOrEqual(2 * calls.transitions)
  await Promise.all(readers.map((reader) => reader.cancel()))
})

testOnce('after all counts a reader is told those that change, and one that comes later all', async () => {
  const store = memoryStore()
  const client = createClient({ store, logger: {} })
  onTestFinished(() => client.close())
  await put(store, ...['a', 'b', 'constructor'].map((type) => newJob(`first-${type}`, { type })))
  const { fetch } = createDashboard({ client })
  const opened = async () => messages(await fetch(new Request('http://localhost/api/v1/events')))
  const nextCounts = async (of: AsyncGenerator<{ event: string; data: unknown }>): Promise<unknown> => {
    for (;;) {
      const { value } = await of.next()
      if (value?.event === 'counts') return value.data
    }
  }
  const reader = await opened()
  expect(await nextCounts(reader)).toMatchObject({
    whole: true,
    queued: 3,
    types: { a: { queued: 1 }, b: { queued: 1 }, constructor: { queued: 1 } },
  })
  await put(store, newJob('second', { type: 'b' }))
  const change = (await nextCounts(reader)) as { types: object }
  expect(change).toMatchObject({ whole: false, queued: 4, types: { b: { queued: 2 } } })
  expect(Object.keys(change.types)).toEqual(['b'])
  const later = await opened()
  const whole = (await nextCounts(later)) as { types: object }
  expect(whole).toMatchObject({ whole: true, queued: 4 })
  expect(Object.keys(whole.types)).toEqual(['a', 'b', 'constructor'])
  await put(store, newJob('third', { type: 'new' }))
  for (const each of [reader, later]) {
    expect(await nextCounts(each)).toMatchObject({ whole: false, types: { new: { queued: 1 } } })
    await each.return(undefined)
  }
})

testOnce('a HEAD of the live stream opens none', async () => {
  const client = createClient({ logger: {} })
  onTestFinished(() => client.close())
  const { fetch } = createDashboard({ client })
  const ask = (method: string): Promise<Response> => fetch(new Request('http://localhost/api/v1/events', { method }))
  const answers = await Promise.all(Array.from({ length: 501 }, () => ask('HEAD')))
  expect(answers.map(({ status, body }) => status === 200 && body === null)).not.toContain(false)
  const opened = await ask('GET')
  expect(opened.status).toBe(200)
  await opened.body?.cancel()
})

testOnce('readers go on behind what the log has dropped, without reading what is left of it', async () => {
  const store = memoryStore({ transitionsMax: 2_000 })
  const client = createClient({ store, logger: {} })
  onTestFinished(() => client.close())
  await put(store, newJob('first'))
  await client.counts()
  const { fetch } = createDashboard({ client })
  const response = await fetch(new Request('http://localhost/api/v1/events'))
  const stream = messages(response)
  expect((await stream.next()).value?.event).toBe('hello')
  expect((await stream.next()).value?.event).toBe('counts')
  const pages: number[] = []
  const transitions = store.transitions.bind(store)
  store.transitions = async (...query) => {
    const page = await transitions(...query)
    pages.push(page.transitions.length)
    return page
  }
  const job = (n: number) => newJob(`job-${n}`)
  await put(store, ...Array.from({ length: 3_000 }, (_, n) => job(n)))
  const reset = (await stream.next()).value
  expect(reset?.event).toBe('reset')
  expect((await stream.next()).value?.event).toBe('counts')
  // One page told of the gap; the others are of what came later.
  expect(pages.filter((length) => length > 0)).toEqual([500])
  await put(store, job(3_000))
  const next = (await stream.next()).value
  expect(next?.event).toBe('transitions')
  expect(next?.data).toMatchObject([{ id: 'job-3000' }])
  // Who comes back with the cursor of the reset misses nothing.
  const again = messages(
    await fetch(new Request('http://localhost/api/v1/events', { headers: { 'last-event-id': reset?.id ?? '' } })),
  )
  expect((await again.next()).value).toMatchObject({ event: 'transitions', data: [{ id: 'job-3000' }] })
  await stream.return(undefined)
  await again.return(undefined)
})
