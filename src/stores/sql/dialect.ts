/** What databases with SQL write otherwise. Claims, counters and migrations are each database's own. */
import type { Json } from '../../core/payload.ts'

/** A value of a parameter. */
export type SqlValue = string | number | null

/** A condition of a WHERE, with a value for each of its question marks. */
export interface Condition {
  readonly term: string
  readonly values: readonly SqlValue[]
}

export interface Dialect {
  /**
   * A text with the parameters as the database names them.
   * @param text has `?` for each in turn, or `?1`, `?2` if one is named more than once
   */
  statement(text: string): string
  /** The values of the JSON list that a parameter has, in the place of a list in parentheses. */
  list(parameter: string): string
  /** The same, as a table with the column `value`. */
  elements(parameter: string): string
  /** A table that is read by an index, or in the order of its rows (null). */
  table(name: string, index: string | null): string
  /** The rows of the second table that belong to each of the first, which is read first. */
  join(first: string, second: string, on: string): string
  /** The end of a query that gives so many rows, after those that it passes over. */
  limit(count: string, passed?: string): string
  /** Has the JSON object in a column this member? */
  hasMember(column: string, name: string, value: Exclude<Json, object>): Condition
}

/** A question to the database, as data. */
interface Query<Answer> {
  readonly text: string
  readonly params: readonly SqlValue[]
  decode(rows: readonly (readonly unknown[])[]): Answer
}

/** Questions one after the other, each depending on the answers before it: a database answers at once, or later. */
export type Asking<Answer> = Generator<Query<unknown>, Answer, unknown>

/** Asks one of them. */
export function* ask<Answer>(query: Query<Answer>): Asking<Answer> {
  // Whoever runs it passes what `decode` has made.
  return (yield query) as Answer
}

export const termOf = (all: readonly Condition[]): string => all.map(({ term }) => term).join(' AND ')
export const valuesIn = (all: readonly Condition[]): SqlValue[] => all.flatMap(({ values }) => values)
