/** Terms: short texts by which single jobs, or a few, are found. Part of the contract in `store.ts`. */

import type { Json } from './payload.ts'

/** Which part of a job a term is: its id, its unique key, its concurrency key, a tag, or a member of its meta. */
export type TermKind = 'id' | 'key' | 'concurrencyKey' | 'tag' | 'meta'

export const termKinds = ['id', 'key', 'concurrencyKey', 'tag', 'meta'] as const satisfies readonly TermKind[]

/** Asks for terms that begin with a text. */
export interface TermQuery {
  /** What they begin with; 1…200 characters, in their case. */
  readonly text: string
  /** Terms of each kind at most. */
  readonly limit: number
  /** Jobs of each term are counted up to this number. */
  readonly countMax: number
}

export interface FoundTerm {
  readonly kind: TermKind
  /** Of `meta`: the name of the member. */
  readonly name?: string
  /** The whole text. */
  readonly value: string
  /** Of `meta`: is the value a number, of which `value` is the text? */
  readonly isNumber?: true
  /** Jobs that have it, up to `countMax`. */
  readonly jobs: number
  /** Have more jobs it than were counted? */
  readonly more: boolean
}

/** A longer text in meta is in no index. */
export const metaTextMax = 200

/** Has an index of meta members with this value? */
export const isIndexedMeta = (value: Json): boolean =>
  typeof value === 'string' ? Array.from(value).length <= metaTextMax : Number.isSafeInteger(value)

export interface FoundTerms {
  /** The kinds that were looked for among all jobs. */
  readonly kinds: readonly TermKind[]
  /** The terms of these kinds, of each kind in ascending order. */
  readonly terms: readonly FoundTerm[]
}
