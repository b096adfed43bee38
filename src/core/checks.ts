/** The checks that options go through at the door. */
import { invalidOption } from './errors.ts'

/** @throws JobchartError INVALID_OPTION unless `value` is an integer from `min` to `max` */
export function checkInteger(option: string, value: number, min: number, max: number): number {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw invalidOption(option, `a whole number from ${grouped(min)} to ${grouped(max)}`, value)
  }
  return value
}

const grouped = (number: number): string => number.toLocaleString('en-US')

/** @throws JobchartError INVALID_OPTION unless `value` is a function */
export function checkFunction(option: string, value: unknown): void {
  if (typeof value !== 'function') throw invalidOption(option, 'a function', value)
}

/**
 * @throws JobchartError INVALID_OPTION unless `value` is a function that is not async: its promise would not be awaited
 */
export function checkSyncFunction(option: string, value: unknown): void {
  checkFunction(option, value)
  if (Object.prototype.toString.call(value) !== '[object AsyncFunction]') return
  const hint = 'Answer at once: decide by what is known, or do what takes time in the handler.'
  throw invalidOption(option, 'a function that is not async', value, hint)
}

/**
 * An option that is off unless said.
 * @throws JobchartError INVALID_OPTION unless `value` is true, false or undefined
 */
export function checkBoolean(option: string, value: boolean | undefined): boolean {
  if (value !== undefined && typeof value !== 'boolean') throw invalidOption(option, 'true or false', value)
  return value ?? false
}

/** @throws JobchartError INVALID_OPTION unless `value` is an AbortSignal or undefined */
export function checkSignal(value: unknown): void {
  if (value === undefined || value instanceof AbortSignal) return
  throw invalidOption('signal', 'an AbortSignal', value, 'Pass the `signal` of an AbortController, not the controller.')
}

/** @throws JobchartError INVALID_OPTION, naming those that are missing, unless `value` has all these methods */
export function checkMethods(
  option: string,
  value: unknown,
  methods: readonly string[],
  what: string,
  hint: string,
): void {
  const holds = (method: string): boolean =>
    typeof (value as Record<string, unknown> | null | undefined)?.[method] === 'function'
  const missing = methods.filter((method) => !holds(method))
  if (missing.length === 0) return
  const without = missing.length === methods.length ? '' : ` (without ${missing.join(', ')})`
  throw invalidOption(option, `${what}${without}`, value, hint)
}

/** @throws JobchartError INVALID_OPTION unless `value` is one of `choices` */
export function checkEnum<T extends string>(option: string, value: T, choices: readonly T[]): T {
  if (!choices.includes(value)) {
    throw invalidOption(option, choices.map((choice) => `'${choice}'`).join(' or '), value)
  }
  return value
}

/** @throws JobchartError INVALID_OPTION unless `value` is text of 1…`max` characters that JSON can carry */
export function checkText(option: string, value: string, max: number): string {
  if (typeof value !== 'string' || value === '' || value.length > max) {
    throw invalidOption(option, `text of 1 to ${max} characters`, value)
  }
  if (!value.isWellFormed()) {
    const hint = 'Do not cut text in the middle of a character: use Array.from(text), or text.toWellFormed().'
    throw invalidOption(option, 'text without half a surrogate pair', value, hint)
  }
  return value
}

/**
 * @param hint what to pass instead of what is no object at all
 * @throws JobchartError INVALID_OPTION, naming the unknown key, if `value` is no object or has keys beside `known`
 */
export function checkKeys(option: string, value: object, known: readonly string[], hint?: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidOption(option, 'an object', value, hint)
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) throw invalidOption(option, `one of ${known.join(', ')}`, key)
  }
}
