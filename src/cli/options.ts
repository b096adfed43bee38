/** Options of several commands, and the parsers of their values. */
import { messageOf } from '../core/errors.ts'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { systemClock } from '../core/clock.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import { filterKeys } from '../core/filter.ts'
import { jobStates } from '../core/lifecycle.ts'
import { metaMember } from '../dashboard/meta-member.ts'
import type { JobFilter } from '../index.ts'

export interface OutputOptions {
  readonly json?: true
  readonly verbose?: true
}

export interface StoreOptions extends OutputOptions {
  readonly store?: string
  readonly jobs?: readonly string[]
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

const withOutput = (command: Command): Command =>
  command.option('--json', 'print JSON').option('--verbose', 'print the stack and the causes of an error')

const withJobs = (command: Command): Command =>
  command.option(
    '--jobs <file>',
    'module that exports job definitions, for machines, charts and events; may be repeated',
    collect,
  )

export const withStore = (command: Command): Command =>
  withJobs(
    withOutput(
      command.addOption(
        new Option(
          '--store <address>',
          'where the jobs are: sqlite:FILE, redis://HOST:PORT/DB?prefix=PREFIX or postgres://HOST/DB?schema=SCHEMA',
        ).env('JOBCHART_STORE'),
      ),
    ),
  )

/** A whole number from `min` to `max`. */
export const integer =
  (min: number, max: number) =>
  (text: string): number => {
    const number = Number(text)
    if (/^-?\d+$/.test(text) && number >= min && number <= max) return number
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`)
  }

/** A time: an ISO date, ms since the epoch, or how long ago (`2h`). */
function time(text: string): number {
  if (/^\d{11,}$/.test(text)) return Number(text)
  try {
    return systemClock.now() - durationMs(text, 'time')
  } catch {
    const ms = Date.parse(text)
    if (Number.isFinite(ms)) return ms
  }
  throw new InvalidArgumentError('Expected how long ago (90s, 15m, 2h, 1d), an ISO date, or ms since the epoch.')
}

/** A duration: ms, or text such as `30s`. */
export function duration(text: string): Duration {
  const given = (/^\d+$/.test(text) ? Number(text) : text) as Duration
  try {
    durationMs(given, 'duration')
    return given
  } catch {
    throw new InvalidArgumentError('Expected a duration such as 250ms, 30s, 5m, 2h or 1d.')
  }
}

/** JSON as it is passed on a command line. */
export function jsonArgument(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new InvalidArgumentError(`Expected JSON: ${messageOf(error)}.`)
  }
}

const metaEntry = (
  text: string,
  before: Readonly<Record<string, string | number | boolean>> = {},
): Readonly<Record<string, string | number | boolean>> => {
  const member = metaMember(text)
  if (member === null) throw new InvalidArgumentError('Expected name=value.')
  const [name, value] = member
  return { ...before, [name]: value }
}

export interface FilterOptions {
  readonly type?: readonly string[]
  readonly state?: JobFilter['state'] & readonly string[]
  readonly tag?: string
  readonly key?: string
  readonly concurrencyKey?: string
  readonly failure?: readonly string[]
  readonly parent?: string
  readonly machineState?: string
  readonly machineTag?: string
  readonly meta?: JobFilter['meta']
  readonly unsupported?: true
  readonly enqueuedAfter?: number
  readonly enqueuedBefore?: number
  readonly finishedAfter?: number
  readonly finishedBefore?: number
}

/** The options that filter jobs. */
export const withFilter = (command: Command): Command =>
  command
    .option('-t, --type <type>', 'of this type; may be repeated', collect)
    .addOption(
      new Option('-s, --state <state>', 'in this state; may be repeated').argParser(
        (value: string, before: readonly string[] | undefined) => {
          if ((jobStates as readonly string[]).includes(value)) return collect(value, before)
          throw new InvalidArgumentError(`Expected one of ${jobStates.join(', ')}.`)
        },
      ),
    )
    .option('--tag <tag>', 'with this tag')
    .option('--meta <name=value>', 'with this member in its meta; may be repeated', metaEntry)
    .option('--key <key>', 'with this unique key')
    .option('--concurrency-key <key>', 'with this concurrency key')
    .option(
      '--failure <fingerprint>',
      'whose last error is of this group of jobchart failures; may be repeated',
      collect,
    )
    .option('--parent <id>', 'children of this job')
    .option('--machine-state <path>', 'whose machine is in this state, such as paid.shipping')
    .option('--machine-tag <tag>', 'whose machine has this tag')
    .option('--unsupported', 'whose machine no worker could run')
    .option('--enqueued-after <time>', 'enqueued at this time or later: 2h ago, or an ISO date', time)
    .option('--enqueued-before <time>', 'enqueued before this time', time)
    .option('--finished-after <time>', 'ended at this time or later', time)
    .option('--finished-before <time>', 'ended before this time', time)

/** The filter in the options of a command; empty if there is none. */
export const filterIn = (options: FilterOptions): JobFilter =>
  Object.fromEntries(filterKeys.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])))
