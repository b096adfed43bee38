/** The last settled attempt of a job, and its answer, as text. */
import { Deferred, type Cell } from '../../core/cell.ts'
import type { Settled } from '../../core/job-row.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { WrittenTransition } from '../../core/values.ts'

type Packed = [
  token: string,
  attempt: number,
  seq: number,
  at: number,
  from: JobState,
  to: JobState,
  spent: number,
  dueAt: number | null,
  woken?: WrittenTransition | null,
  successor?: WrittenTransition | null,
  hook?: WrittenTransition,
]

export class PackedSettled extends Deferred<Settled> {
  readonly text: string

  constructor(text: string) {
    super()
    this.text = text
  }

  get(): Settled {
    const [token, attempt, seq, at, from, to, spent, dueAt, woken, successor, hook] = JSON.parse(this.text) as Packed
    const answer = { outcome: 'settled', seq, at, from, to, attempt: spent, dueAt } as const
    const others = { ...(woken && { woken }), ...(successor && { successor }), ...(hook && { hook }) }
    return { token, attempt, answer: { ...answer, ...others } }
  }
}

/** The text; null where nothing is kept. */
export function settledText(cell: Cell<Settled | null>): string | null {
  if (cell === null) return null
  if (cell instanceof PackedSettled) return cell.text
  return cell instanceof Deferred ? settledText(cell.get()) : textOf(cell)
}

function textOf({ token, attempt, answer }: Settled): string {
  const { seq, at, from, to, attempt: spent, dueAt, woken = null, successor = null, hook } = answer
  const packed: Packed = [token, attempt, seq, at, from, to, spent, dueAt]
  if (hook !== undefined) packed.push(woken, successor, hook)
  else if (successor !== null) packed.push(woken, successor)
  else if (woken !== null) packed.push(woken)
  return JSON.stringify(packed)
}
