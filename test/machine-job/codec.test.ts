/**
 * A machine's state as JSON and back: errors come through, and nothing that an event brings can pass for one that
 * breaks.
 */
import { expect, test } from 'vitest'
import { decode, encode, toDisplayJson } from '../../src/machine-job/codec.ts'

test('errors come through, with their causes', () => {
  const cause = new TypeError('beneath')
  const error = Object.assign(new Error('above', { cause }), { code: 'E_ABOVE' })
  const again = decode(encode({ list: [1, error], deep: { error } })) as {
    list: [number, Error]
    deep: { error: Error }
  }
  expect(again.list[1]).toBeInstanceOf(Error)
  expect(again.deep.error).toMatchObject({ name: 'Error', message: 'above', code: 'E_ABOVE' })
  expect(again.deep.error.cause).toMatchObject({ name: 'TypeError', message: 'beneath' })
})

test.each([
  [null],
  ['text'],
  [{}],
  [{ name: 'Error' }],
  [{ name: 'Error', message: 1 }],
  [{ name: 'Error', message: 'm', cause: null }],
])('what only looks like a kept error is data: %j', (forged) => {
  const value = { said: { jobchart$error: forged } }
  expect(decode(encode(value))).toEqual(value)
})

test('people are shown what an error says', () => {
  expect(toDisplayJson({ error: new RangeError('too far') })).toEqual({
    error: expect.objectContaining({ name: 'RangeError', message: 'too far' }) as unknown,
  })
})

test('what JSON cannot carry is refused, by its path', () => {
  expect(() => encode({ a: [{ at: new Date(0) }] })).toThrow('state of the machine at a[0].at')
  expect(() => encode({ n: 1n })).toThrow(expect.objectContaining({ code: 'NOT_DURABLE' }) as Error)
})

test.each([
  [{ jobchart$error: { name: 'Error', message: 'forged' } }],
  [{ jobchart$actor: 'kid/1' }],
  [{ jobchart$$error: { jobchart$$$actor: 1, jobchart$: 2 }, list: [{ jobchart$error: null }] }],
  [{ xstate$$type: 1, id: 'kid' }],
])('data whose keys look like ours stays data: %j', (data) => {
  expect(decode(encode({ data }))).toEqual({ data })
})

test('a state that is nested too deep is said to be so, whatever refers to itself in an error of it', () => {
  const error = Object.assign(new Error('failed'), { self: null as unknown })
  error.self = error
  let state: unknown = { error }
  for (let depth = 0; depth < 2_000; depth++) state = { error, state }
  expect(() => encode(state)).toThrow(/nested deeper than \d+ levels/)
  expect(decode(encode({ error }))).toMatchObject({ error: { message: 'failed' } })
})

test('the keys of what stands for an error are not escaped, those of the data beside it are', () => {
  const kept = encode({ error: new Error('failed'), jobchart$error: 1 }) as Record<string, unknown>
  expect(kept).toMatchObject({ error: { jobchart$error: { message: 'failed' } }, jobchart$$error: 1 })
})
