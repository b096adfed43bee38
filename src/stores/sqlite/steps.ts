/**
 * Finished steps: one row each, so that the cost of a step does not grow with their number. A job that was never
 * claimed has none, and costs no query.
 */
import type { Json } from '../../core/payload.ts'
import type { PackedStep } from './columns.ts'
import type { Row } from './row.ts'
import type { Statements } from './statements.ts'

export function saveSteps(sql: Statements, row: Row, results: Readonly<Record<string, Json>>): void {
  for (const [name, result] of Object.entries(results)) sql.run('saveStep', row.seq, name, JSON.stringify(result))
}

/** The steps of a job in the order in which they were finished; read before the claim is written. */
export const stepsOf = (sql: Statements, row: Row): readonly PackedStep[] =>
  row.startedAt === null ? [] : sql.all('stepsOf', row.seq)

/**
 * Forgets the steps of these names; without names all of them: a new generation, or a new input, starts without steps.
 */
export function forgetSteps(sql: Statements, row: Row, names?: readonly string[]): void {
  if (row.startedAt === null) return
  if (names === undefined) sql.run('forgetSteps', row.seq)
  else sql.run('forgetNamedSteps', row.seq, JSON.stringify(names))
}

export const unpackedSteps = (steps: readonly PackedStep[]): Readonly<Record<string, Json>> | null =>
  steps.length === 0 ? null : Object.fromEntries(steps.map(([name, result]) => [name, JSON.parse(result) as Json]))
