/**
 * Options are checked by tables: each option has a rule, which checks its value, whatever it is, and gives what the
 * rest works with. The limits and the defaults of the options of a call stand in its table, and nowhere else.
 *
 *   const pauseOptions = table({ signal: abortSignal, idle: byDefault(false, boolean) })
 *   const { signal, idle } = pauseOptions(given, 'options of pause')
 */
import { invalidOption } from './errors.ts'

/** @param name of the option in errors @throws JobchartError INVALID_OPTION */
export type Rule<Value> = (value: unknown, name: string) => Value

/** A rule that is also asked for an option that is left out; any other option may be left out, and is then missing. */
type SureRule<Value> = Rule<Value> & { readonly isSure: true }

/** The rules of the options of an interface, for `satisfies`: none is forgotten, and what must be given is required. */
export type RulesOf<Options> = {
  readonly [Key in keyof Options]-?: undefined extends Options[Key] ? Rule<unknown> : SureRule<unknown>
}

type Table = Readonly<Record<string, Rule<unknown>>>
type ValueOf<R> = R extends Rule<infer Value> ? Value : never
type SureKey<T extends Table> = { [K in keyof T]: T[K] extends SureRule<unknown> ? K : never }[keyof T]

/** What a table makes of options. */
export type Checked<T extends Table> = { readonly [K in SureKey<T>]: ValueOf<T[K]> } & {
  readonly [K in Exclude<keyof T, SureKey<T>>]?: Exclude<ValueOf<T[K]>, undefined>
}

export type Given = Readonly<Record<string, unknown>>

interface TableSettings {
  /** Refuses options that do not go together, as they were given, after each was checked for itself. */
  readonly together?: (given: Given) => void
  /** What stands before the key of a member in its name; default: nothing, as callers know it by its key. */
  readonly prefix?: string
  /** The name of a member, where it depends on that of the object, or on what was given. */
  readonly nameOf?: (key: string, name: string, given: Given) => string
  /** What to pass instead of what is no object at all. */
  readonly hint?: string
  /** May the object have other keys, too? They are not looked at. */
  readonly open?: boolean
}

/** An object with no other keys than those of the table: the options of a call. */
export function table<const T extends Table>(of: T, settings: TableSettings = {}): Rule<Checked<T>> {
  const { together, prefix = '', nameOf, hint, open = false } = settings
  const members = Object.entries(of).map(([key, rule]) => ({ key, rule, isSure: 'isSure' in rule, name: prefix + key }))
  const rules = new Map(members.map((member) => [member.key, member]))
  const sure = members.filter(({ isSure }) => isSure)
  return (value, name) => {
    if (!isOptions(value)) throw invalidOption(name, 'an object', value, hint)
    const checked = copyOf(value, rules)
    for (const key in checked) {
      const member = rules.get(key)
      const given = checked[key]
      if (member === undefined && !open) throw invalidOption(name, `one of ${[...rules.keys()].join(', ')}`, key)
      const made =
        member === undefined || given === undefined
          ? undefined
          : member.rule(given, nameOf === undefined ? member.name : nameOf(key, name, value))
      if (made === undefined) delete checked[key]
      else if (made !== given) checked[key] = made
    }
    for (const { key, rule, name: known } of sure) {
      if (checked[key] === undefined)
        checked[key] = rule(undefined, nameOf === undefined ? known : nameOf(key, name, value))
    }
    together?.(value)
    // Each member has the value that its rule gave.
    return checked as Checked<T>
  }
}

/**
 * The members that are checked, each read once. V8 copies an object of known shape faster than it adds members to
 * another, and most rules leave their value as it is. An instance of a class may have options that a loop does not
 * find.
 */
function copyOf(value: Given, rules: ReadonlyMap<string, unknown>): Record<string, unknown> {
  if (Object.getPrototypeOf(value) === Object.prototype) return { ...value }
  const names = new Set<string>()
  for (const name in value) names.add(name)
  for (const name of rules.keys()) names.add(name)
  return Object.fromEntries(Array.from(names, (name) => [name, value[name]]))
}

export const isObject = (value: unknown): value is Given =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An object of options: none of those that have their content elsewhere, such as a promise that is not awaited. */
export const isOptions = (value: unknown): value is Given =>
  isObject(value) &&
  (Object.getPrototypeOf(value) === Object.prototype ||
    !/^\[object (?:Date|Map|Set|Promise)\]$/.test(Object.prototype.toString.call(value)))

/** An option that is itself an object: its members are named after it. */
export const object = <const T extends Table>(of: T, hint?: string): Rule<Checked<T>> =>
  table(of, { nameOf: (key, name) => `${name}.${key}`, ...(hint !== undefined && { hint }) })

/** Names `maxAttempts` in `retry of job a`: `retry.maxAttempts of job a`. */
export const beforeOwner = (key: string, name: string): string => name.replace(' of ', `.${key} of `)

// ── rules made of rules ────────────────────────────────────────────────────────────────────────────────────────────

export const required = <Value>(rule: Rule<Value>): SureRule<Value> =>
  Object.assign((value: unknown, name: string) => rule(value, name), { isSure: true } as const)

/** @param fallback as a caller would write it */
export const byDefault = <Value>(fallback: unknown, rule: Rule<Value>): SureRule<Value> =>
  required((value, name) => rule(value === undefined ? fallback : value, name))

/** What is left out is null. */
export const orNull = <Value>(rule: Rule<Value>): SureRule<Value | null> =>
  required((value, name) => (value === undefined ? null : rule(value, name)))

/** Makes of a checked value what the rest works with. */
export const as =
  <Value, Made>(rule: Rule<Value>, make: (value: Value) => Made): Rule<Made> =>
  (value, name) =>
    make(rule(value, name))

/** @param expected where `holds` says no */
export const where =
  <Value>(rule: Rule<Value>, holds: (value: Value) => boolean, expected: string, hint?: string): Rule<Value> =>
  (value, name) => {
    const made = rule(value, name)
    if (holds(made)) return made
    throw invalidOption(name, expected, value, hint)
  }

/** @param each how errors name an item: by default like the list */
export const listOf =
  <Item>(what: string, rule: Rule<Item>, max = Infinity, each = (name: string, _i: number) => name): Rule<Item[]> =>
  (value, name) => {
    if (Array.isArray(value) && value.length <= max) return value.map((item: unknown, i) => rule(item, each(name, i)))
    throw invalidOption(name, what, value)
  }

// ── values ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A value that is known when it is seen. */
export const is =
  <Value>(expected: string, holds: (value: unknown) => value is Value, hint?: string): Rule<Value> =>
  (value, name) => {
    if (holds(value)) return value
    throw invalidOption(name, expected, value, hint)
  }

/** Anything: it is checked where it is used. */
export const given: Rule<unknown> = (value) => value

export const boolean = is('true or false', (value) => typeof value === 'boolean')

export const integer = (min: number, max: number): Rule<number> =>
  is(
    `a whole number from ${grouped(min)} to ${grouped(max)}`,
    (value): value is number => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
  )

const grouped = (integral: number): string => String(integral).replace(/\B(?=(\d{3})+$)/g, ',')

/** Text of 1…`max` characters that JSON can carry. */
export const text = (max: number): Rule<string> =>
  where(
    is(
      `text of 1 to ${max} characters`,
      (value): value is string => typeof value === 'string' && value !== '' && value.length <= max,
    ),
    (value) => value.isWellFormed(),
    'text without half a surrogate pair',
    'Do not cut text in the middle of a character: use Array.from(text), or text.toWellFormed().',
  )

export const oneOf = <Choice extends string>(...choices: readonly Choice[]): Rule<Choice> =>
  is(choices.map((each) => `'${each}'`).join(' or '), (value): value is Choice =>
    (choices as readonly unknown[]).includes(value),
  )

export const abortSignal = is(
  'an AbortSignal',
  (value) => value instanceof AbortSignal,
  'Pass the `signal` of an AbortController, not the controller.',
)

/** A function of the type that the option has: its parameters cannot be looked at. */
export const fn = <F>(hint?: string): Rule<F> =>
  is('a function', (value): value is F => typeof value === 'function', hint)

/** A function that is not async: its promise would not be awaited. */
export const syncFn = <F>(): Rule<F> =>
  where(
    fn<F>(),
    (value) => Object.prototype.toString.call(value) !== '[object AsyncFunction]',
    'a function that is not async',
    'Answer at once: decide by what is known, or do what takes time in the handler.',
  )

/** An object of the type that the option has, told by its methods; those that are missing are named. */
export const withMethods =
  <T>(methods: readonly (keyof T & string)[], what: string, hint: string): Rule<T> =>
  (value, name) => {
    const has = (method: string): boolean => typeof (value as Given | null | undefined)?.[method] === 'function'
    const missing = methods.filter((method) => !has(method))
    if (missing.length === 0) return value as T
    const without = missing.length === methods.length ? '' : ` (without ${missing.join(', ')})`
    throw invalidOption(name, `${what}${without}`, value, hint)
  }
