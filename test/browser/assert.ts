/** What the conformance suite uses of `node:assert/strict` and `node:util`, for a browser. */

const isObject = (value: unknown): value is Record<PropertyKey, unknown> => typeof value === 'object' && value !== null

/** @param partial may `actual` have members that `expected` has not? */
function isEqual(actual: unknown, expected: unknown, partial: boolean): boolean {
  if (Object.is(actual, expected)) return true
  if (!isObject(actual) || !isObject(expected)) return false
  if (Object.getPrototypeOf(actual) !== Object.getPrototypeOf(expected)) return false
  if (actual instanceof Map || actual instanceof Set || actual instanceof Date) {
    const parts = (value: object): unknown => (value instanceof Date ? [value.getTime()] : [...(value as Set<unknown>)])
    return isEqual(parts(actual), parts(expected), false)
  }
  if (!partial && Reflect.ownKeys(actual).length !== Reflect.ownKeys(expected).length) return false
  return Reflect.ownKeys(expected).every(
    (key) => Object.hasOwn(actual, key) && isEqual(actual[key], expected[key], partial),
  )
}

export const isDeepStrictEqual = (actual: unknown, expected: unknown): boolean => isEqual(actual, expected, false)

export const inspect = (value: unknown): string => JSON.stringify(value, null, 2) ?? String(value)

function fail(message: string | Error | undefined, what: string, ...values: readonly unknown[]): never {
  if (message instanceof Error) throw message
  throw new Error(`${message ?? what}: ${values.map(inspect).join(' and ')}`)
}

type Message = string | Error

const assert = {
  ok: (value: unknown, message?: Message): void => void (value || fail(message, 'expected to be true', value)),
  equal: (actual: unknown, expected: unknown, message?: Message): void =>
    void (Object.is(actual, expected) || fail(message, 'expected to be equal', actual, expected)),
  notEqual: (actual: unknown, expected: unknown, message?: Message): void =>
    void (Object.is(actual, expected) && fail(message, 'expected to differ', actual, expected)),
  deepEqual: (actual: unknown, expected: unknown, message?: Message): void =>
    void (isEqual(actual, expected, false) || fail(message, 'expected to be deeply equal', actual, expected)),
  partialDeepStrictEqual: (actual: unknown, expected: unknown, message?: Message): void =>
    void (isEqual(actual, expected, true) || fail(message, 'expected to contain', actual, expected)),
  match: (text: string, pattern: RegExp, message?: Message): void =>
    void (pattern.test(text) || fail(message, `expected to match ${pattern}`, text)),
  async rejects(promise: Promise<unknown> | (() => Promise<unknown>), expected: unknown): Promise<void> {
    const error = await (typeof promise === 'function' ? promise() : promise).then(
      () => fail(undefined, 'expected to reject'),
      (thrown: unknown) => thrown,
    )
    if (typeof expected === 'function') assert.ok((expected as (thrown: unknown) => unknown)(error))
    else assert.partialDeepStrictEqual({ ...(error as object) }, { ...(expected as object) })
  },
}

export default assert
