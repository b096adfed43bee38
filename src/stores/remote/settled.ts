/** The last settlement of a job: a repeated settlement gets the same answer. */
import type { JobState } from '../../core/lifecycle.ts'
import type { Json } from '../../core/payload.ts'
import { sameJson } from '../../core/unique.ts'
import type { LeaseKey } from '../../core/unit-of-work.ts'
import type { SettleAnswer } from '../../store.ts'
import type { Row } from './row.ts'

interface Settled extends LeaseKey {
  readonly answer: SettleAnswer
}

/**
 * The last settlement of a job. Of one that ended its job, only the state before it is stored.
 * @param attempt the one that was settled: a retry sets the counter to 0 before its transition is written
 */
export function settledOf(row: Row, attempt = row.attempt): Settled | null {
  const text = row.text('settled')
  if (text === undefined) return null
  if (text.startsWith('{')) return JSON.parse(text) as Settled
  const { state } = row
  const [seq, at] = [row.number('last') ?? 0, row.number('finishedAt') ?? 0]
  const answer = { outcome: 'settled', seq, at, from: text as JobState, to: state, attempt, dueAt: null } as const
  return { attempt, token: row.text('token') ?? '', answer }
}

/** The answer to the last settlement, if it was by this lease. */
export function answerBefore(row: Row, { attempt, token }: LeaseKey): SettleAnswer | null {
  const settled = settledOf(row)
  return settled?.token === token && settled.attempt === attempt ? settled.answer : null
}

/** Stores the answer to a settlement: only the state before it, if the rest can be read from the row. */
export function keepAnswer(row: Row, { attempt, token }: LeaseKey, answer: SettleAnswer): void {
  const settled = { attempt, token, answer }
  row.set('settled', answer.from)
  if (!sameJson(settledOf(row) as unknown as Json, settled as unknown as Json)) row.setJson('settled', settled)
}
