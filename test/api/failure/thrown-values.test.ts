/** Whatever a handler throws fails its attempt, is kept as plain capped fields, and harms nobody else. */
import { defineJob } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const fail = (): never => {
  throw new Error('a getter')
}
const cyclic: Record<string, unknown> = {}
cyclic['self'] = cyclic
const causes = (depth: number): Error => new Error(`depth ${depth}`, depth === 0 ? {} : { cause: causes(depth - 1) })
const circular = new Error('circular')
circular.cause = circular

const thrown: [what: string, value: unknown, expected: object][] = [
  [
    'an Error',
    new RangeError('too far'),
    { name: 'RangeError', message: 'too far', stack: expect.stringContaining('RangeError') },
  ],
  ['a text', 'no paper', { name: 'NonError', message: 'no paper' }],
  ['undefined', undefined, { name: 'NonError', message: 'undefined' }],
  ['null', null, { name: 'NonError', message: 'null' }],
  ['a number', 7, { name: 'NonError', message: '7' }],
  ['NaN', Number.NaN, { message: 'NaN' }],
  ['a bigint', 7n, { message: '7' }],
  ['a symbol', Symbol('s'), { message: 'Symbol(s)' }],
  ['a function', function named() {}, { message: expect.stringContaining('named') }],
  ['an object', { status: 500 }, { name: 'NonError', message: '{"status":500}' }],
  ['an object with a message', { name: 'Odd', message: 'odd', code: 42 }, { name: 'Odd', message: 'odd', code: '42' }],
  ['a cyclic object', cyclic, { message: expect.any(String) }],
  ['a list', [1, 2], { message: '[1,2]' }],
  ['an object that cannot be shown', { toJSON: fail }, { message: 'a value that cannot be shown' }],
  [
    'an Error whose getters throw',
    Object.defineProperties(new Error('x'), {
      message: { get: fail },
      stack: { get: fail },
      name: { get: fail },
      cause: { get: fail },
    }),
    { name: expect.any(String), message: expect.any(String) },
  ],
  [
    'a proxy that throws at every touch',
    new Proxy({}, { get: fail, getPrototypeOf: fail, has: fail, ownKeys: fail }),
    { message: expect.any(String) },
  ],
  [
    'a revoked proxy',
    (() => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    })(),
    { message: expect.any(String) },
  ],
  ['a promise', Promise.resolve(1), { message: expect.any(String) }],
  [
    'an AggregateError',
    new AggregateError([new Error('a')], 'several'),
    { name: 'AggregateError', message: 'several' },
  ],
  ['a DOMException', new DOMException('stop it', 'AbortError'), { name: 'AbortError', message: 'stop it', code: '20' }],
  [
    'an Error of another realm',
    Object.assign(Object.create(null), { name: 'Far', message: 'far' }),
    { name: 'Far', message: 'far' },
  ],
  ['a very long message', new Error('x'.repeat(100_000)), { message: expect.stringMatching(/^x{1999}…$/) }],
  ['a lone surrogate', new Error('a\ud800b'), { message: 'a\ufffdb' }],
  [
    'an endless chain of causes',
    circular,
    { message: 'circular', cause: { cause: { cause: { cause: { cause: { message: 'circular' } } } } } },
  ],
  ['a long chain of causes', causes(50), { message: 'depth 50', cause: { message: 'depth 49' } }],
]

test.each(thrown)('%s', async (_what, value, expected) => {
  const { clock, runtime, logged } = world()
  const job = defineJob<string, string>({
    type: 'job',
    retry: { maxAttempts: 2, backoff: () => '1s' },
    run: (what) => {
      if (what === 'sync') throw value
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- that is what is tested
      return what === 'async' ? Promise.reject(value) : what
    },
  })
  const worker = await runtime({ jobs: [job] })
  const [sync, async, fine] = await worker.enqueueMany(job, ['sync', 'async', 'fine'])
  await clock.settle()
  expect(await fine?.result()).toBe('fine')
  for (const handle of [sync, async]) {
    expect(await handle?.record()).toMatchObject({ state: 'retrying', attempt: 1, error: expected })
  }
  await clock.advance('1s')
  const record = await sync?.record()
  expect(record).toMatchObject({ state: 'dead', attempt: 2 })
  expect(JSON.stringify(record).length).toBeLessThan(100_000)
  const caught = await sync?.result().catch((error: unknown) => error)
  expect(caught).toMatchObject({ code: 'DEAD', cause: { message: record?.error?.message } })
  // What could not be read is the operator's to know; nothing else is an error of the runtime.
  const complaints = logged.filter(({ level }) => level === 'error').map(({ message }) => message)
  expect(new Set(complaints).size).toBeLessThanOrEqual(1)
  for (const message of complaints) expect(message).toContain('could not be read')
  logged.length = 0
})

test('an output that could not be read makes the job dead and harms nobody else', async () => {
  const { clock, runtime, logged } = world()
  const { proxy, revoke } = Proxy.revocable({}, {})
  const outputs: Record<string, () => unknown> = {
    proxy: () => new Proxy({}, { get: (_target, key) => (key === 'then' ? undefined : fail()), getPrototypeOf: fail }),
    getter: () => ({
      get a() {
        return fail()
      },
    }),
    'odd subscribe': () => ({
      get subscribe() {
        return fail()
      },
    }),
    revoked: () => ({ nested: proxy }),
    fine: () => 1,
  }
  revoke()
  const job = defineJob<string, unknown>({ type: 'job', run: async (which) => outputs[which]?.() })
  const handles = await (await runtime({ jobs: [job] })).enqueueMany(job, Object.keys(outputs))
  await clock.advance('1h')
  const states = await Promise.all(handles.map(async (handle) => (await handle.record()).state))
  expect(states).toEqual(['dead', 'dead', 'dead', 'dead', 'done'])
  logged.length = 0
})
