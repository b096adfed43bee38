/** What a client and a runtime are made with, checked and with every default in its place. */
import { integer, oneOf, required, syncFn, table, type Rule } from './checks.ts'
import type { Clock, Random } from './clock.ts'
import type { JobDefinition, Middleware } from './definition.ts'
import { durationMs, type Duration } from './duration.ts'
import { invalidOption } from './errors.ts'
import type { EnqueueMiddleware } from './enqueue-call.ts'
import type { Inspect } from './inspection.ts'
import type { Logger } from './logger.ts'
import type { OpenTransaction } from './open-transaction.ts'
import type { ScheduleDefinition } from './schedule-options.ts'
import type { Telemetry } from './telemetry.ts'
import type { RetentionPolicies } from './values.ts'

/** A queue as an own selection function sees it. */
export interface Candidate {
  readonly type: string
  /** Its share of the picks, relative to the weights of the others. */
  readonly weight: number
  /** Picks it was given since the start. */
  readonly given: number
}

/** Gives the type to pick from among `candidates`, which may have work; null to pick nothing now. */
export type SelectionFunction = (candidates: readonly Candidate[]) => string | null

export type SelectionOption =
  | 'weighted'
  | 'random'
  | 'strict'
  | { readonly strategy: 'weighted' | 'random' }
  /** `ageing`: this long without a pick is worth one point of weight. */
  | { readonly strategy: 'strict'; readonly ageing?: Duration }
  | SelectionFunction

const strategy = oneOf('weighted', 'random', 'strict')
const ageing = integer(1, 2 ** 47)
const ownSelection = syncFn<SelectionFunction>()
const namedSelection = table({
  strategy: required((value) => strategy(value, 'selection')),
  ageing: (value) => ageing(durationMs(value, 'selection.ageing'), 'selection.ageing'),
})

/** `ageing` in ms. */
export const selectionOption: Rule<SelectionOption> = (value, name) => {
  if (value === null) throw invalidOption(name, "'weighted', 'random', 'strict' or a function", value)
  if (typeof value === 'function') return ownSelection(value, name)
  return typeof value === 'object' ? namedSelection(value, name) : strategy(value, name)
}

export interface ClientSettings {
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly capacity: number | null
  readonly enqueueMiddleware: readonly EnqueueMiddleware[]
  readonly telemetry: Telemetry | null
  readonly logger: Logger
  readonly clock: Clock
  readonly random: Random
  /** Generates the id of the runtime, and those of jobs that are enqueued without one. */
  readonly newId: () => string
  /** The transaction that calls without their own join. */
  readonly tx: (() => OpenTransaction | null | undefined) | null
}

export interface RuntimeSettings extends ClientSettings {
  readonly schedules: readonly ScheduleDefinition[]
  readonly scheduleOwner: string
  readonly retireSchedules: boolean
  readonly concurrency: number
  readonly selection: SelectionOption
  readonly middleware: readonly Middleware[]
  /** Does not throw. */
  readonly inspect: Inspect | null
  readonly leaseMs: number
  readonly name: string | null
  readonly graceMs: number
  readonly retention: RetentionPolicies
}
