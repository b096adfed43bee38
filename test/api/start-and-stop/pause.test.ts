import { defineJob, memoryStore, type Store } from 'jobchart'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { world } from '../../support/leaks.ts'

function setUp(store?: Store) {
  const made = world({ ...(store && { store }) })
  const { clock } = made
  const ran: string[] = []
  const define = (type: string) =>
    defineJob<string, void>({
      type,
      run: async (name, { signal }) => {
        ran.push(name)
        if (name.startsWith('slow')) await clock.sleep('1m', signal)
      },
    })
  return { ...made, ran, a: define('a'), b: define('b') }
}

test('a paused queue gives nothing in any runtime of the store, the others go on', async () => {
  const { clock, runtime, ran, a, b } = setUp()
  const one = await runtime({ jobs: [a, b] })
  await runtime({ jobs: [a, b] })
  await one.queue('a').pause()
  await one.enqueueMany(a, ['a1', 'a2'])
  await one.enqueue(b, 'b1')
  await clock.advance('1h')
  expect(ran).toEqual(['b1'])
  expect(await one.queue('a').stats()).toMatchObject({ paused: true, counts: { queued: 2 } })
})

test('what runs when its queue is paused goes on', async () => {
  const { clock, runtime, a } = setUp()
  const worker = await runtime({ jobs: [a] })
  const job = await worker.enqueue(a, 'slow')
  await clock.settle()
  await worker.queue('a').pause()
  await clock.advance('1m')
  expect((await job.record()).state).toBe('done')
})

test('resume wakes every runtime', async () => {
  const { clock, runtime, ran, a } = setUp()
  const one = await runtime({ jobs: [a], concurrency: 1 })
  const two = await runtime({ jobs: [a], concurrency: 1 })
  await one.queue('a').pause()
  await one.enqueueMany(a, ['slow 1', 'slow 2'])
  await clock.advance('1m')
  await two.queue('a').resume()
  await clock.settle()
  expect(ran).toEqual(['slow 1', 'slow 2'])
  expect((await one.queue('a').stats()).paused).toBe(false)
})

test('a queue stays paused when the runtime that paused it has gone', async () => {
  const { clock, runtime, ran, a } = setUp()
  const first = await runtime({ jobs: [a] })
  await first.queue('a').pause()
  await first.stop()
  const second = await runtime({ jobs: [a] })
  await second.enqueue(a, 'x')
  await clock.advance('1h')
  expect(ran).toEqual([])
  await second.queue('a').resume()
  await clock.settle()
  expect(ran).toEqual(['x'])
})

test('pausing twice and resuming twice is the same as once', async () => {
  const { clock, runtime, ran, a } = setUp()
  const worker = await runtime({ jobs: [a] })
  const queue = worker.queue('a')
  await Promise.all([queue.pause(), queue.pause()])
  await worker.enqueue(a, 'x')
  await clock.settle()
  await Promise.all([queue.resume(), queue.resume()])
  await clock.settle()
  expect(ran).toEqual(['x'])
})

test('after a pause of a queue is acknowledged nothing of it starts, whenever it was asked', async () => {
  for (let turns = 0; turns < 12; turns++) {
    const { clock, runtime, ran, a } = setUp()
    const worker = await runtime({ jobs: [a], concurrency: 2 })
    const enqueues = Array.from({ length: 20 }, (_, n) => worker.enqueue(a, String(n)))
    for (let i = 0; i < turns; i++) await null
    await worker.queue('a').pause()
    const before = ran.length
    await Promise.all(enqueues)
    await clock.advance('1m')
    expect(ran.length, `after ${turns} turns`).toBe(before)
    await worker.queue('a').resume()
    await clock.settle()
    expect(ran).toHaveLength(20)
  }
})

test('after a pause of the runtime is acknowledged nothing starts in it, whenever it was asked', async () => {
  for (let turns = 0; turns < 12; turns++) {
    const { clock, runtime, ran, a } = setUp()
    const worker = await runtime({ jobs: [a], concurrency: 2 })
    const enqueues = Array.from({ length: 20 }, (_, n) => worker.enqueue(a, String(n)))
    for (let i = 0; i < turns; i++) await null
    await worker.pause()
    const before = ran.length
    expect(worker.state).toBe('paused')
    await Promise.all(enqueues)
    await clock.advance('1m')
    expect(ran.length, `after ${turns} turns`).toBe(before)
    await worker.resume()
    await clock.settle()
    expect(ran).toHaveLength(20)
  }
})

test('a pause waits for a pick that is on its way, which then starts nothing and spends no attempt', async () => {
  const inner = memoryStore()
  const held: (() => void)[] = []
  const store: Store = {
    ...inner,
    async claim(request) {
      await new Promise<void>((resolve) => void held.push(resolve))
      return inner.claim(request)
    },
  }
  const { clock, idle } = world({ store })
  const ran: string[] = []
  const a = defineJob<string, void>({ type: 'a', run: async (name) => void ran.push(name) })
  const worker = idle({ jobs: [a] })
  const job = await worker.enqueue(a, 'x')
  await worker.start()
  await clock.settle()
  let paused = false
  const pausing = worker.pause().then(() => (paused = true))
  await clock.settle()
  expect([held.length, paused]).toEqual([1, false])
  held[0]?.()
  await pausing
  await clock.settle()
  expect(await job.record()).toMatchObject({ state: 'queued', attempt: 0 })
  expect([ran, held.length]).toEqual([[], 1])
})

test('a paused runtime takes jobs, settles what runs, and leaves the rest to the others', async () => {
  const { clock, runtime, ran, a } = setUp()
  const paused = await runtime({ jobs: [a], concurrency: 1 })
  const slow = await paused.enqueue(a, 'slow')
  await clock.settle()
  await paused.pause()
  const next = await paused.enqueue(a, 'next')
  await clock.advance('2m')
  expect((await slow.record()).state).toBe('done')
  expect((await next.record()).state).toBe('queued')
  await runtime({ jobs: [a] })
  await clock.settle()
  expect(ran).toEqual(['slow', 'next'])
})

test('pause and resume of a runtime that does not run are not accepted', async () => {
  const { idle, a } = setUp()
  const worker = idle({ jobs: [a] })
  const refusal = { code: 'NOT_ACCEPTED', hint: expect.any(String) }
  await expect(worker.pause()).rejects.toMatchObject(refusal)
  await expect(worker.resume()).rejects.toMatchObject(refusal)
  await worker.start()
  await worker.resume()
  await worker.pause()
  await worker.pause()
  expect(worker.state).toBe('paused')
  await worker.stop()
  await expect(worker.pause()).rejects.toMatchObject(refusal)
})

/** Answers claims turns after it has handed the jobs out, as a store on a wire does. */
function slowClaims(turns: () => number): Store {
  const inner = memoryStore()
  return {
    ...inner,
    async claim(request) {
      const answer = await inner.claim(request)
      for (let i = turns(); i > 0; i--) await null
      return answer
    },
  }
}

test.each(['queue', 'runtime'] as const)(
  'after a pause of the %s nothing that was claimed before starts, and its attempt is given back',
  async (what) => {
    for (let round = 0; round < 60; round++) {
      const store = slowClaims(() => round % 12)
      const { clock, runtime } = world({ store })
      let starts = 0
      const run = async (): Promise<void> => void starts++
      const plain = defineJob<number, void>({ type: 'plain', run })
      const checked = defineJob({ type: 'checked', input: z.number(), run })
      const worker = await runtime({ jobs: [plain, checked], concurrency: 3 })
      const job = round % 2 === 0 ? plain : checked
      const enqueues = Array.from({ length: 10 }, (_, n) => worker.enqueue(job, n))
      for (let i = 0; i < round / 3; i++) await null
      await (what === 'queue' ? worker.queue(job.type).pause() : worker.pause())
      const before = starts
      const handles = await Promise.all(enqueues)
      await clock.advance('1m')
      expect(starts, `round ${round}`).toBe(before)
      for (const handle of handles) {
        const { state, attempt } = await handle.record()
        expect([state, attempt], `round ${round}`).toEqual(state === 'done' ? ['done', 1] : ['queued', 0])
      }
      await (what === 'queue' ? worker.queue(job.type).resume() : worker.resume())
      await clock.advance('1m')
      expect(starts, `round ${round}`).toBe(10)
    }
  },
)

test('a pause of one queue holds back no other, and what it holds back leaves its slot to them', async () => {
  const { clock, runtime, ran, a, b } = setUp(slowClaims(() => 20))
  const worker = await runtime({ jobs: [a, b], concurrency: 2 })
  await worker.enqueueMany(a, ['a1', 'a2'])
  await worker.queue('a').pause()
  await worker.enqueueMany(b, ['b1', 'b2'])
  await clock.settle()
  expect(ran.toSorted()).toEqual(['b1', 'b2'])
})

test('a pause with a signal lasts until the signal aborts', async () => {
  const { clock, runtime, ran, a } = setUp()
  const worker = await runtime({ jobs: [a] })
  const controller = new AbortController()
  await worker.pause({ signal: controller.signal })
  await worker.enqueue(a, 'x')
  await clock.advance('1m')
  expect([worker.state, ran]).toEqual(['paused', []])
  controller.abort()
  await clock.settle()
  expect([worker.state, ran]).toEqual(['running', ['x']])
})

test('a runtime resumes when the last of its pauses has ended, or at once by resume()', async () => {
  const { runtime, a } = setUp()
  const worker = await runtime({ jobs: [a] })
  const [one, two, three] = [new AbortController(), new AbortController(), new AbortController()]
  await worker.pause({ signal: one.signal })
  await worker.pause({ signal: two.signal })
  one.abort()
  expect(worker.state).toBe('paused')
  two.abort()
  expect(worker.state).toBe('running')
  // One without a signal lasts until somebody resumes.
  await worker.pause()
  await worker.pause({ signal: three.signal })
  three.abort()
  expect(worker.state).toBe('paused')
  await worker.resume()
  expect(worker.state).toBe('running')
})

test('a signal that aborts after a resume or a stop changes nothing', async () => {
  const { runtime, a } = setUp()
  const worker = await runtime({ jobs: [a] })
  const [one, two] = [new AbortController(), new AbortController()]
  await worker.pause({ signal: one.signal })
  await worker.resume()
  await worker.pause()
  one.abort()
  expect(worker.state).toBe('paused')
  await worker.pause({ signal: two.signal })
  await worker.stop()
  two.abort()
  expect(worker.state).toBe('stopped')
})

test('pause({ idle: true }) resolves when the running jobs have ended and their ends are written', async () => {
  const { clock, runtime, store, a } = setUp()
  const worker = await runtime({ jobs: [a], concurrency: 2 })
  const jobs = await worker.enqueueMany(a, ['slow 1', 'slow 2', 'slow 3'])
  await clock.settle()
  let counts: unknown = null
  const pausing = worker.pause({ idle: true }).then(async () => (counts = await store.counts()))
  await clock.advance('59s')
  expect([worker.state, counts]).toEqual(['paused', null])
  await clock.advance('1s')
  await pausing
  expect(counts).toMatchObject({ done: 2, running: 0, queued: 1 })
  expect((await jobs[2]?.record())?.state).toBe('queued')
  // Nothing runs: the next one resolves at once.
  await worker.pause({ idle: true })
})

test('a pause that waits until no job runs rejects when it ends before', async () => {
  const { clock, runtime, a } = setUp()
  const worker = await runtime({ jobs: [a] })
  await worker.enqueue(a, 'slow')
  await clock.settle()
  const controller = new AbortController()
  const aborted = expect(worker.pause({ idle: true, signal: controller.signal })).rejects.toMatchObject({
    code: 'ABORTED',
    cause: { message: 'the deployment was called off' },
  })
  controller.abort(new Error('the deployment was called off'))
  await aborted
  expect(worker.state).toBe('running')
  // No signal has aborted: the hint names what has ended it.
  const hint = expect.stringContaining('resume() or stop()')
  const resumed = expect(worker.pause({ idle: true })).rejects.toMatchObject({ code: 'ABORTED', hint })
  await worker.resume()
  await resumed
  const stopped = expect(worker.pause({ idle: true })).rejects.toMatchObject({ code: 'ABORTED' })
  const stopping = worker.stop()
  await stopped
  await clock.advance('1m')
  await stopping
})

test('a pause whose signal has aborted before does not pause', async () => {
  const { runtime, a } = setUp()
  const worker = await runtime({ jobs: [a] })
  await expect(worker.pause({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORTED' })
  expect(worker.state).toBe('running')
})
