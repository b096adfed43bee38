/** A search over everything by which jobs are found: what it takes, and what it answers. */
import { integer, byDefault, table, type RulesOf } from './checks.ts'
import type { TermKind } from './terms.ts'
import type { JobFilter } from './values.ts'

export interface FindOptions {
  /** Hits of each kind at most: 1…100, default 10. */
  readonly limit?: number
}

/**
 * What a hit is: one `job` by its id; or jobs by `type`, unique `key`, `concurrencyKey`, `tag`, a member of `meta`, the
 * `machineState` or `machineTag` of their machine, or their last error (`failure`).
 */
export type FindKind = 'job' | Exclude<TermKind, 'id'> | 'type' | 'machineState' | 'machineTag' | 'failure'

export interface FindHit {
  readonly kind: FindKind
  /** The id, the type, the tag, the state, …; of `meta` the value, of `failure` the message of the group. */
  readonly value: string
  /** Of `meta` the name of the member; of `failure`, `machineState` and `machineTag` the type of the jobs. */
  readonly name: string | null
  /**
   * Jobs that `filter` finds, as far as they were counted. Of `machineState` and `machineTag` only those that have not
   * ended, of `failure` only the dead ones.
   */
  readonly jobs: number
  /** Of `failure` its failed attempts; left out of the others. */
  readonly failed?: number
  /** Are there more than were counted? */
  readonly more: boolean
  /** Is it all of the text that was searched? Otherwise it begins with it, or has it within. */
  readonly exact: boolean
  /** Finds its jobs: for `list`, and for changes by filter. Null of a `job`, whose id is the value. */
  readonly filter: JobFilter | null
}

/** What was looked at for one kind of hits. */
export interface FindSearched {
  readonly kind: FindKind
  /** The jobs that were looked at, those that were enqueued last; null: all. */
  readonly newest: number | null
}

export interface FindResult {
  readonly text: string
  /** Exact hits first; within these in the order of `searched`. */
  readonly hits: readonly FindHit[]
  readonly searched: readonly FindSearched[]
  /**
   * What the hits have, because nothing has all of the text: a beginning of it, half of it at least, or a word that
   * differs from it in one letter; null: they have all of it.
   */
  readonly near: string | null
  /** The text in lower case, if that is what the hits are for, because nothing has it as it is. */
  readonly as?: string
  /** Workers and schedules whose name has it, or the host of a worker; left out if there is none. */
  readonly others?: readonly FindOther[]
}

/** What is found beside jobs. */
export interface FindOther {
  readonly kind: 'worker' | 'schedule'
  readonly name: string
  /** The host of a worker; the type of a schedule's jobs. */
  readonly of: string
}

/** Characters of a text that is searched. */
export const findTextMax = 200

export const findOptions = table({ limit: byDefault(10, integer(1, 100)) } satisfies RulesOf<FindOptions>)
