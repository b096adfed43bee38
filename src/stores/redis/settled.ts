/** The last settlement of a job, so that the same one gets the same answer again. */
import type { JobState } from '../../core/lifecycle.ts'
import type { LeaseKey } from '../../core/unit-of-work.ts'
import type { SettleAnswer } from '../../store.ts'
import type { Row } from './row.ts'

interface Settled extends LeaseKey {
  readonly answer: SettleAnswer
}

/** The last settlement of a job: of one that ended it only where it led from is kept. */
export function settledOf(row: Row): Settled | null {
  const text = row.text('settled')
  if (text === undefined) return null
  if (text.startsWith('{')) return JSON.parse(text) as Settled
  const { attempt, state } = row
  const [seq, at] = [row.number('last') ?? 0, row.number('finishedAt') ?? 0]
  const answer = { outcome: 'settled', seq, at, from: text as JobState, to: state, attempt, dueAt: null } as const
  return { attempt, token: row.text('token') ?? '', answer }
}
