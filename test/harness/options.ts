/**
 * Options of a command as a table: each row says what an option is for, how its text is read, and what holds without
 * it. The same table gives the usage.
 */
import { parseArgs } from 'node:util'

/** The command was asked wrongly: it prints this with its usage, and ends with 2. */
export class UsageError extends Error {}

export interface Option<V> {
  /** What stands for the value in the usage; null: the option has none. */
  readonly value: string | null
  readonly says: string
  /** @throws UsageError */
  readonly read: (text: string, name: string) => V
  /** @throws UsageError if it must be given */
  readonly otherwise: () => V
}

export type OptionTable = Readonly<Record<string, Option<unknown>>>

export type OptionsOf<T extends OptionTable> = {
  readonly [name in keyof T]: T[name] extends Option<infer V> ? V : never
}

type Range = readonly [min: number, max: number]

/** A whole number. */
export function whole(says: string, range: Range, otherwise: number): Option<number> {
  return { ...number(`${says}, default ${otherwise}`, range), otherwise: () => otherwise }
}

/** A whole number, or null without it. */
export function optionalWhole(says: string, range: Range): Option<number | null> {
  return { ...number(says, range), otherwise: () => null }
}

function number(says: string, [min, max]: Range): Omit<Option<number>, 'otherwise'> {
  return {
    value: 'n',
    says,
    read(text, name) {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
      if (value >= min && value <= max) return value
      throw new UsageError(`--${name} needs a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`)
    },
  }
}

const seedMax = 2 ** 32 - 1

/** Decides everything that is left to chance; without it there is a new one. */
export function seed(): Option<number> {
  return {
    ...number('default: a new one; it is printed', [0, seedMax]),
    otherwise: () => Math.floor(Math.random() * seedMax),
  }
}

export function flag(says: string): Option<boolean> {
  return { value: null, says, read: () => true, otherwise: () => false }
}

/** One of these names. Without a default it must be given. */
export function choice(says: string, names: readonly string[], otherwise?: string): Option<string> {
  return {
    value: 'name',
    says: `${says}: ${names.join(', ')}${otherwise === undefined ? '' : `; default ${otherwise}`}`,
    read(text, name) {
      if (names.includes(text)) return text
      throw new UsageError(`--${name} is one of ${names.join(', ')}, not ${JSON.stringify(text)}`)
    },
    otherwise() {
      if (otherwise !== undefined) return otherwise
      throw new UsageError(`one of ${names.join(', ')} must be named`)
    },
  }
}

/** Some of these names, with commas; without it all. */
export function choices(says: string, names: readonly string[]): Option<readonly string[]> {
  const { read } = choice(says, names)
  return {
    value: 'a,b',
    says: `${says}: ${names.join(', ')}; default all`,
    read: (given, name) => given.split(',').map((each) => read(each, name)),
    otherwise: () => names,
  }
}

export function text(value: string, says: string): Option<string | null> {
  return { value, says, read: (given) => given, otherwise: () => null }
}

/** @throws UsageError */
export function readOptions<T extends OptionTable>(table: T, args: readonly string[]): OptionsOf<T> {
  const given = parsed(table, args)
  const entries = Object.entries(table).map(([name, option]) => {
    const [first, ...others] = given[name] ?? []
    if (others.length > 0) throw new UsageError(`--${name} is given twice`)
    return [name, first === undefined ? option.otherwise() : option.read(String(first), name)] as const
  })
  return Object.fromEntries(entries) as OptionsOf<T>
}

function parsed(table: OptionTable, args: readonly string[]): Partial<Record<string, (string | boolean)[]>> {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { value }]) => {
      return [name, { type: value === null ? 'boolean' : 'string', multiple: true }] as const
    }),
  )
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

export function usageOf(command: string, table: OptionTable): string {
  const rows = Object.entries(table).map(([name, { value, says }]) => {
    return [value === null ? `--${name}` : `--${name} ${value}`, says] as const
  })
  const width = Math.max(...rows.map(([option]) => option.length))
  return [`${command} [options]`, ...rows.map(([option, says]) => `  ${option.padEnd(width)}  ${says}`)].join('\n')
}
