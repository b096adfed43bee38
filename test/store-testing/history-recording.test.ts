/** What is written down of a store's calls, and read again. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, defineJob, memoryStore, type Store } from 'jobchart'
import {
  checkHistory,
  finalState,
  historyFile,
  readHistory,
  recordingStore,
  recordRuns,
  storeConformance,
  type HistoryLine,
} from 'jobchart/store-testing'
import { faultyStore, seededRandom, VirtualClock } from 'jobchart/testing'
import { expect, onTestFinished, test } from 'vitest'
import { handClock } from '../stores/hand-clock.ts'
import { newJob } from './new-job.ts'

storeConformance({
  name: 'memory, recorded',
  test,
  random: { sequences: 40 },
  async create() {
    const clock = handClock()
    const store = recordingStore(memoryStore(), () => {})
    await store.open({ clock })
    return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
  },
})

const insertOf = (...ids: readonly string[]) => [{ jobs: ids.map(newJob), capacity: null }]

/** What the lines say of their calls, without the calls' names. */
const said = (lines: readonly HistoryLine[]): unknown[] =>
  lines.map((line) => Object.fromEntries(Object.entries(line).filter(([name]) => name !== 'call' && name !== 'at')))

test('a call is written down before it is made, and again with its answer', async () => {
  const lines: HistoryLine[] = []
  const inner = memoryStore()
  const asked: number[] = []
  const store = recordingStore(
    {
      ...inner,
      insert: (requests) => {
        asked.push(lines.length)
        return inner.insert(requests)
      },
    },
    (line) => void lines.push(line),
  )
  await store.insert(insertOf('a'))
  expect(asked).toEqual([1])
  expect(lines[0]?.call).toBe(lines[1]?.call)
  const { id, type, maxAttempts, key, concurrencyKey, onConflict } = newJob('a')
  expect(said(lines)).toEqual([
    { op: 'insert', invoke: [[{ id, type, maxAttempts, key, concurrencyKey, onConflict }]] },
    { op: 'insert', ok: [[expect.objectContaining({ outcome: 'inserted', id: 'a', seq: 1 })]] },
  ])
})

test('of what machines write the numbers are kept, and neither states nor messages', async () => {
  const lines: HistoryLine[] = []
  const store = recordingStore(memoryStore(), (line) => void lines.push(line))
  const start = { ...newJob('a'), parent: { id: 'p', checkins: false }, checkpoint: 'secret' }
  await store.insert([{ jobs: [start], capacity: null }])
  const message = { kind: 'event', event: { type: 'secret' } } as const
  await store.send([{ id: 'a', message, key: 'k', expect: null }])
  const demand = [{ type: 'job', max: 1, limits: { concurrency: null, perKey: null, rate: null } }]
  await store.claim({ worker: 'w', token: 't', leaseMs: 1_000, demand })
  const held = { id: 'a', attempt: 1, token: 't' }
  const rest = (number: number) => ({ number, state: 'secret', read: number - 1, note: 'secret', takesCancel: false })
  await store.checkpoint([{ ...held, checkpoint: rest(2) }])
  await store.extend({ worker: 'w', leaseMs: 1_000, heartbeats: [{ ...held, lastMessageNumber: 0 }] })
  await store.settle([{ ...held, event: 'PARK', to: 'waiting', checkpoint: { ...rest(3), read: 1 } }])
  await store.retry(['a'], true)
  expect(JSON.stringify(lines)).not.toContain('secret')
  expect(said(lines)).toMatchObject([
    { op: 'insert', invoke: [[{ id: 'a', parent: { id: 'p', checkins: false }, forked: true }]] },
    { op: 'insert' },
    { op: 'send', invoke: [{ id: 'a', key: 'k', expect: null }] },
    { op: 'send', ok: [{ outcome: 'kept', state: 'queued' }] },
    { op: 'claim' },
    { op: 'claim', ok: [{ id: 'a', checkpoint: 1, inbox: [1] }] },
    { op: 'checkpoint', invoke: [{ ...held, checkpoint: { number: 2, read: 1, takesCancel: false } }] },
    { op: 'checkpoint', ok: [{ outcome: 'kept', seq: 3, maxAttempts: newJob('a').maxAttempts, inbox: [] }] },
    { op: 'extend', invoke: { heartbeats: [held] } },
    { op: 'extend', ok: [{ outcome: 'extended', inbox: [] }] },
    { op: 'settle', invoke: [{ event: 'PARK', checkpoint: { number: 3, read: 1 } }] },
    { op: 'settle', ok: [{ to: 'waiting' }] },
    { op: 'retry', invoke: { ids: ['a'], fromStart: true } },
    { op: 'retry', ok: { refused: ['a'] } },
  ])
})

test('a store that answers at once still does', () => {
  const store = recordingStore(memoryStore(), () => {})
  expect(store.insert(insertOf('a'))).not.toBeInstanceOf(Promise)
  expect(store.settle([])).toEqual([])
})

test('a store that cannot be reached leaves an unknown, one that refuses a fail', async () => {
  const lines: HistoryLine[] = []
  const clock = new VirtualClock()
  const faulty = faultyStore(memoryStore({ clock }), { seed: 1, faults: { insert: { lostReply: 1 } } })
  const refusing = { ...faulty, promote: () => Promise.reject(Object.assign(new TypeError('no'), { code: 'NO' })) }
  const store = recordingStore(refusing, (line) => void lines.push(line))
  await expect(store.insert(insertOf('a'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(store.promote(1)).rejects.toThrow('no')
  await expect(store.retry(['a'])).resolves.toMatchObject({ refused: ['a'] })
  expect(said(lines.filter((line) => 'unknown' in line || 'fail' in line))).toEqual([
    { op: 'insert', unknown: 'STORE_UNAVAILABLE' },
    { op: 'promote', unknown: 'TypeError' },
  ])
})

test('a runtime on a recorded store leaves a whole history, with its runs', async () => {
  const lines: HistoryLine[] = []
  const sink = (line: HistoryLine): void => void lines.push(line)
  const clock = new VirtualClock()
  const store = recordingStore(memoryStore({ clock }), sink)
  const flaky = defineJob<number, number>({
    type: 'flaky',
    concurrency: 2,
    run: (n, { attempt }) => {
      if (attempt <= n) throw new RangeError('not yet')
      return n
    },
  })
  const middleware = [recordRuns(sink, clock)]
  const runtime = createRuntime({ jobs: [flaky], store, middleware, clock, random: seededRandom(1) })
  await runtime.start()
  await runtime.enqueueMany(flaky, [0, 1, 2, 3])
  await clock.advance('1m')
  const final = await finalState(store)
  await runtime.stop()
  const { violations, figures } = checkHistory(lines, { final, limits: { flaky: flaky.limits } })
  expect(violations).toEqual([])
  expect(figures).toMatchObject({ jobs: 4, attempts: 9, runs: 9, unknown: 0, rescues: 0 })
  const runs = said(lines.filter(({ op }) => op === 'run'))
  expect(runs.filter((line) => typeof line === 'object' && line !== null && 'fail' in line)).toHaveLength(6)
  expect(runs).toContainEqual({ op: 'run', fail: 'RangeError' })
  expect(runs).toContainEqual({
    op: 'run',
    invoke: { id: expect.any(String), type: 'flaky', attempt: 3, generation: 1, seq: expect.any(Number) },
  })
})

/** Runs a job of two steps that fails at its first attempt, and checks the history. */
async function stepsOn(inner: Store) {
  const lines: HistoryLine[] = []
  const clock = new VirtualClock()
  const sink = (line: HistoryLine): void => void lines.push(structuredClone(line))
  const store = recordingStore(inner, sink)
  const job = defineJob<undefined>({
    type: 'job',
    retry: { backoff: () => 1 },
    run: async (_input, { step, attempt }) => {
      await step('first', () => clock.sleep('1s'))
      await step('second', () => (attempt === 1 ? Promise.reject(new RangeError('no')) : 2))
    },
  })
  const runtime = createRuntime({ jobs: [job], store, middleware: [recordRuns(sink, clock)], clock })
  await runtime.start()
  await runtime.enqueue(job)
  await clock.advance('1m')
  const final = await finalState(store)
  await runtime.stop()
  const { violations, figures } = checkHistory(lines, { final, startMs: 10 })
  return { steps: said(lines.filter(({ op }) => op === 'step')), violations, figures, lines }
}

test('a step is written down when its work begins and ends, and in the heartbeat that stores its result', async () => {
  const { steps, violations, figures, lines } = await stepsOn(memoryStore())
  expect([violations, figures.steps]).toEqual([[], 3])
  expect(steps).toEqual([
    { op: 'step', invoke: expect.objectContaining({ type: 'job', attempt: 1, generation: 1, name: 'first' }) },
    { op: 'step', ok: null },
    { op: 'step', invoke: expect.objectContaining({ attempt: 1, name: 'second' }) },
    { op: 'step', fail: 'RangeError' },
    { op: 'step', invoke: expect.objectContaining({ attempt: 2, name: 'second' }) },
    { op: 'step', ok: null },
  ])
  const stored = lines.flatMap((each) => (each.op === 'extend' && 'invoke' in each ? each.invoke.heartbeats : []))
  expect(stored.flatMap(({ steps: names }) => names ?? [])).toEqual(['first', 'second'])
})

test('a store that acknowledges steps and does not keep them is found out', async () => {
  const inner = memoryStore()
  const { violations } = await stepsOn({
    ...inner,
    extend: ({ heartbeats, ...request }) =>
      inner.extend({ ...request, heartbeats: heartbeats.map((each) => ({ ...each, steps: {} })) }),
  })
  expect(violations.map(({ invariant }) => invariant)).toEqual(['steps'])
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'jobchart-history-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

const line = (call: string): HistoryLine => ({ op: 'promote', call, at: 1, invoke: { limit: 1 } })

test('a file keeps every line as soon as it was given', () => {
  const path = join(folder(), 'a.ndjson')
  const { sink, close } = historyFile(path)
  sink(line('1'))
  expect([...readHistory(path)]).toEqual([line('1')])
  sink(line('2'))
  expect([...readHistory(path)]).toEqual([line('1'), line('2')])
  close()
})

test('two processes cannot write one file', () => {
  const path = join(folder(), 'a.ndjson')
  historyFile(path).close()
  expect(() => historyFile(path)).toThrow('EEXIST')
})

test('a folder is read file by file, and nothing else in it', () => {
  const path = folder()
  for (const name of ['b', 'a']) {
    const { sink, close } = historyFile(join(path, `${name}.ndjson`))
    sink(line(name))
    close()
  }
  writeFileSync(join(path, 'notes.txt'), 'not a history')
  expect([...readHistory(path)].map(({ call }) => call)).toEqual(['a', 'b'])
})

test('a torn last line is left out, even one that could be read', () => {
  const path = join(folder(), 'a.ndjson')
  const { sink, close } = historyFile(path)
  sink(line('1'))
  close()
  appendFileSync(path, '{"op":"pro')
  expect([...readHistory(path)]).toHaveLength(1)
  writeFileSync(path, `${JSON.stringify(line('1'))}\n${JSON.stringify(line('2'))}`)
  expect([...readHistory(path)]).toHaveLength(1)
})

test('a line that was bent later is named', () => {
  const path = join(folder(), 'a.ndjson')
  writeFileSync(path, `${JSON.stringify(line('1'))}\n{"op"\n${JSON.stringify(line('2'))}\n`)
  expect(() => [...readHistory(path)]).toThrow('a.ndjson:2 is not a line of a history')
})

test('an end without a beginning is no history', () => {
  const final = { records: [], counts: { types: {} } as never, at: 0 }
  expect(() => checkHistory([{ op: 'promote', call: 'x', at: 1, ok: [] }], { final })).toThrow(TypeError)
})
