/** The last settlement of a job, so that the same one gets the same answer again. */
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
 * The last settlement of a job: of one that ended it only where it led from is kept.
 * @param attempt that was settled: a retry has begun to count anew before its transition is written
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

/** Keeps the answer to a settlement: in a word, as long as the row says the rest. */
export function keepAnswer(row: Row, { attempt, token }: LeaseKey, answer: SettleAnswer): void {
  const settled = { attempt, token, answer }
  row.set('settled', answer.from)
  if (!sameJson(settledOf(row) as unknown as Json, settled as unknown as Json)) row.setJson('settled', settled)
}
