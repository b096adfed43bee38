/** Errors as data. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { recordError, reviveError, type ErrorRecord } from '../../src/core/failure.ts'

const boom = () => {
  throw new Error('from a getter')
}

test('an error keeps its name, message, stack, code, hint and causes', () => {
  const cause = Object.assign(new TypeError('underneath'), { code: 'E_UNDER', hint: 'Look underneath.' })
  const error = new RangeError('on top', { cause })
  const record = recordError(error)
  expect([record.name, record.message, record.stack]).toEqual(['RangeError', 'on top', error.stack])
  expect(recordError(Object.assign(new Error('x', { cause: null }), { code: 404 }))).toMatchObject({ code: '404' })
  expect('cause' in recordError(new Error('x', { cause: null }))).toBe(false)
  expect([record.cause?.name, record.cause?.message, record.cause?.code]).toEqual([
    'TypeError',
    'underneath',
    'E_UNDER',
  ])
  expect([record.cause?.hint, 'hint' in record]).toEqual(['Look underneath.', false])
  expect(reviveError(record).cause).toMatchObject({ code: 'E_UNDER', hint: 'Look underneath.' })
})

test('what is no error becomes one', () => {
  const said = (thrown: unknown) => {
    const { name, message } = recordError(thrown)
    return [name, message]
  }
  expect(said('no')).toEqual(['NonError', 'no'])
  expect(said(undefined)).toEqual(['NonError', 'undefined'])
  expect(said(null)).toEqual(['NonError', 'null'])
  expect(said(404n)).toEqual(['NonError', '404'])
  expect(said({ status: 404 })).toEqual(['NonError', '{"status":404}'])
  expect(said({ name: 'HttpError', message: 'not found' })).toEqual(['HttpError', 'not found'])
  expect(said(Symbol('x'))).toEqual(['NonError', 'Symbol(x)'])
})

test('whatever is thrown, recording it does not throw', () => {
  const cycle: Record<string, unknown> = { name: 5 }
  cycle['cause'] = cycle
  const hostile: readonly unknown[] = [
    {
      get name() {
        return boom()
      },
      get message() {
        return boom()
      },
      get cause() {
        return boom()
      },
    },
    { toString: boom, toJSON: boom },
    Object.create(null),
    Object.assign(new Error('x'), { stack: 5, message: { not: 'text' } }),
    cycle,
    { big: 1n },
    Object.defineProperty(new Error('y'), 'message', { get: boom }),
    new Proxy({}, { get: boom }),
    Object.assign(() => {}, { toString: boom }),
  ]
  for (const thrown of hostile) expect(() => JSON.stringify(recordError(thrown))).not.toThrow()
})

function size(record: ErrorRecord): number {
  return 1 + (record.cause === undefined ? 0 : size(record.cause))
}

test('long texts and long chains of causes are capped', () => {
  let error = new Error('x'.repeat(10_000))
  error.name = 'N'.repeat(1_000)
  for (let i = 0; i < 20; i++) error = new Error('m'.repeat(5_000), { cause: error })
  Object.assign(error, { code: 'C'.repeat(1_000), stack: 's'.repeat(50_000) })
  const record = recordError(error)
  expect([record.message.length, record.stack?.length, record.code?.length]).toEqual([2_000, 4_000, 100])
  expect(size(record)).toBe(6)
  expect(record.message.endsWith('…')).toBe(true)
  expect(recordError(new Error(`${'x'.repeat(1_998)}😀😀`)).message.isWellFormed()).toBe(true)
})

test('any record is strict JSON, capped and well-formed, and revives to an error that records alike', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSet: true,
  })
  const errors = fc
    .tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), anything)
    .map(([message, name, cause]) => Object.assign(new Error(message, { cause }), { name }))
  const property = fc.property(fc.oneof(anything, errors), (thrown) => {
    const record = recordError(thrown)
    expect(JSON.parse(JSON.stringify(record))).toEqual(record)
    for (let each: ErrorRecord | undefined = record; each !== undefined; each = each.cause) {
      for (const text of [each.name, each.message, each.stack ?? '', each.code ?? '', each.hint ?? '']) {
        expect(text.isWellFormed() && text.length <= 4_000).toBe(true)
      }
    }
    const { stack: _, ...withoutStack } = record
    const revived = reviveError(record)
    expect(revived).toBeInstanceOf(Error)
    expect([revived.name, revived.message]).toEqual([withoutStack.name, withoutStack.message])
    expect(recordError(revived).cause?.message).toBe(record.cause?.message)
  })
  fc.assert(property, { numRuns: 5_000 })
})
