import { defineJob } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const anything = defineJob<unknown>({ type: 'anything', run: async (input) => input })

const cycle: Record<string, unknown> = { a: 1 }
cycle['self'] = { list: [cycle] }
const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)])

const refused: [what: string, value: unknown, path: string | null][] = [
  ['a BigInt', { n: 1n }, 'n'],
  ['a function', { f() {} }, 'f'],
  ['a symbol', [Symbol('s')], '[0]'],
  ['NaN', { a: { b: Number.NaN } }, 'a.b'],
  ['Infinity', [1, Infinity], '[1]'],
  ['undefined in a list', [undefined], '[0]'],
  ['a Date', { at: new Date(0) }, 'at'],
  ['a Map', new Map(), null],
  ['an Error', new Error('x'), null],
  ['a class of its own', new URL('https://example.org'), null],
  ['a lone surrogate', { text: 'a\ud800' }, 'text'],
  ['a lone surrogate as a name', { 'a\ud800': 1 }, null],
  ['a cycle', cycle, 'self'],
  ['deeper than 100', deep(101), null],
  ['larger than 1 MiB', 'x'.repeat(1_100_000), null],
  ['many small parts that are larger than 1 MiB', Array(600_000).fill(0), null],
]

test.each(refused)('%s is refused at enqueue, and nothing is stored', async (_what, value, path) => {
  const { store, runtime } = world()
  const worker = await runtime({ jobs: [anything] })
  for (const call of [worker.enqueue(anything, value), worker.enqueueMany(anything, [1, value])]) {
    const error = (await call.catch((reason: unknown) => reason)) as Error
    expect(error).toMatchObject({ code: 'INVALID_INPUT', hint: expect.any(String) })
    if (path !== null) expect(error.message).toContain(`at ${path}`)
  }
  expect(await store.list({})).toHaveLength(0)
})

const kept: [what: string, given: unknown, got: unknown][] = [
  ['null', null, null],
  ['text of every kind', 'ä€😀\u0000\n', 'ä€😀\u0000\n'],
  ['an empty list', [], []],
  ['nested data', { a: [{ b: [1, 'x', null, true] }] }, { a: [{ b: [1, 'x', null, true] }] }],
  ['members that are undefined, left out', { a: 1, b: undefined }, { a: 1 }],
  ['minus zero, as zero', -0, 0],
  ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  ['depth 100', deep(100), deep(100)],
]

test.each(kept)('%s comes back from the job as it went in', async (_what, given, got) => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [anything] })
  expect(await worker.run(anything, given)).toEqual(got)
})

test('__proto__ is data and reaches no prototype', async () => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [anything] })
  const given: unknown = JSON.parse('{ "__proto__": { "admin": true }, "constructor": 1 }')
  const got = (await worker.run(anything, given)) as object
  expect(JSON.stringify(got)).toBe(JSON.stringify(given))
  expect('admin' in got).toBe(false)
  expect('admin' in {}).toBe(false)
})

test('later changes of the caller do not reach the job, nor those of one attempt the next', async () => {
  const { clock, runtime } = world()
  const seen: string[] = []
  const change = defineJob<{ list: number[] }, void>({
    type: 'change',
    retry: { maxAttempts: 2, backoff: () => 1 },
    run: async (input, { attempt }) => {
      seen.push(JSON.stringify(input))
      input.list.push(99)
      if (attempt === 1) throw new Error('again')
    },
  })
  const worker = await runtime({ jobs: [change] })
  const input = { list: [1] }
  const enqueued = worker.enqueue(change, input)
  input.list.push(2)
  const job = await enqueued
  input.list.push(3)
  await clock.advance(10)
  await job.result()
  expect(seen).toEqual(['{"list":[1]}', '{"list":[1]}'])
  expect((await job.record()).input).toEqual({ list: [1] })
})

test('a job without input gets undefined', async () => {
  const { runtime } = world()
  const bare = defineJob({ type: 'bare', run: async (input) => typeof input })
  expect(await (await runtime({ jobs: [bare] })).run(bare)).toBe('undefined')
})

test.each(refused)(
  'an output that holds %s makes the job dead at once: another run would fail again',
  async (_, value) => {
    const { clock, runtime } = world()
    let runs = 0
    const job = defineJob({
      type: 'job',
      run: async () => (runs++, value),
    })
    const handle = await (await runtime({ jobs: [job] })).enqueue(job)
    await clock.advance('1h')
    expect(await handle.record()).toMatchObject({ state: 'dead', attempt: 1, error: { code: 'INVALID_OUTPUT' } })
    await expect(handle.result()).rejects.toMatchObject({ code: 'DEAD', cause: { code: 'INVALID_OUTPUT' } })
    expect(runs).toBe(1)
  },
)
