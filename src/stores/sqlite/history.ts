/**
 * The history of a job as text, to which every transition appends. It is short: values that the row or the transition
 * before has are not repeated. It begins with the first state; numbers and times are relative to the enqueue.
 *
 *   "queued",[2,120,"CLAIM","running",1],[7,151,"COMPLETE","done",1]
 */
import { caps } from '../../core/caps.ts'
import { enqueueEntry, historyEntry } from '../../core/history.ts'
import type { RowTransition } from '../../core/job-row.ts'
import type { HistoryEntry } from '../../core/record.ts'
import { isLeased, jobStates, type JobState } from '../../core/lifecycle.ts'

/** What the text does not repeat of the row. */
interface Told {
  readonly seq: number
  readonly enqueuedAt: number
  readonly worker: string | null
}

/** `seq` and `at` are relative to those of the row. The worker is given at a claim, unless it is that of the row. */
type PackedTransition = [
  seq: number,
  at: number,
  event: HistoryEntry['event'],
  to: JobState,
  attempt: number,
  worker?: string | null,
  reason?: string,
]

/** The first state; in a list, the state before the first transition that is kept, if earlier ones were cut off. */
type Start = JobState | [JobState]

/** Beyond this many characters a history is cut to the capped number of transitions. */
const charsMax = 12_000

const births = new Map(jobStates.map((state) => [state, JSON.stringify(state)]))

/** The history of a new job. */
export const born = (state: JobState): string => births.get(state) as string

/** The history of a job that was queued by its enqueue and completed in its first attempt. */
export function plainHistory({ seq, enqueuedAt }: Told, claim: PlainMove, end: PlainMove): string {
  const move = (event: string, to: JobState, { seq: own, at }: PlainMove): string =>
    `[${own - seq},${at - enqueuedAt},"${event}","${to}",1]`
  return `${born('queued')},${move('CLAIM', 'running', claim)},${move('COMPLETE', 'done', end)}`
}

interface PlainMove {
  readonly seq: number
  readonly at: number
}

/** A history with one more transition. */
export function withTransition(row: Told, text: string, transition: RowTransition): string {
  const { seq, at, attempt, reason } = transition
  const { event, to } = transition.arrow
  const why = reason === null ? '' : `,null,${JSON.stringify(reason)}`
  const before = text.length < charsMax ? text : packHistory(row, historyOf(row, text))
  return `${before},[${seq - row.seq},${at - row.enqueuedAt},"${event}","${to}",${attempt}${why}]`
}

/** The history with its workers. */
export const withWorkers = (row: Told, text: string): string => packHistory(row, historyOf(row, text), true)

/** The history without the transitions after this number. */
export const historyUntil = (row: Told, text: string, seq: number): string =>
  packHistory(
    row,
    historyOf(row, text).filter((entry) => entry.seq <= seq),
  )

export function historyOf(row: Told, text: string): HistoryEntry[] {
  const [start, ...transitions] = JSON.parse(`[${text}]`) as [Start, ...PackedTransition[]]
  const { seq, enqueuedAt } = row
  const entries: HistoryEntry[] = []
  let state = typeof start === 'string' ? start : start[0]
  if (typeof start === 'string') entries.push(enqueueEntry(start, seq, enqueuedAt))
  let worker: string | null = null
  for (const [later, laterMs, event, to, attempt, by, reason] of transitions) {
    const from = state
    state = to
    if (event === 'CLAIM') worker = by ?? row.worker
    else if (typeof by === 'string') worker = by
    const leasedBy = isLeased(from) || isLeased(to) ? worker : null
    entries.push(
      historyEntry({ event, from, to }, seq + later, enqueuedAt + laterMs, attempt, leasedBy, reason ?? null),
    )
  }
  return entries.slice(-caps.history)
}

/** The time of the last transition of a history. */
export function lastAt(row: Told, text: string): number {
  // Most transitions end with the number of the attempt: then no text can have a bracket behind the last one.
  if (/\d\]$/.test(text)) {
    const [, laterMs] = JSON.parse(text.slice(text.lastIndexOf('['))) as PackedTransition
    return row.enqueuedAt + laterMs
  }
  return historyOf(row, text).at(-1)?.at ?? row.enqueuedAt
}

/** @param named is the worker of the row written, too? */
function packHistory(row: Told, entries: readonly HistoryEntry[], named = false): string {
  const [first] = entries
  if (first === undefined) throw new TypeError('a history has no entry')
  const born = first.event === 'ENQUEUE'
  const start: Start = born ? first.to : [first.from ?? first.to]
  let before: string | undefined
  const transitions = entries
    .slice(born ? 1 : 0)
    .map(({ seq, at, event, to, attempt, worker, reason }): PackedTransition => {
      const begins = worker !== undefined && (event === 'CLAIM' || before === undefined)
      before = worker
      const by = begins && (named || event !== 'CLAIM' || worker !== row.worker) ? worker : null
      const transition: PackedTransition = [seq - row.seq, at - row.enqueuedAt, event, to, attempt]
      if (by !== null || reason !== undefined) transition.push(by)
      if (reason !== undefined) transition.push(reason)
      return transition
    })
  return JSON.stringify([start, ...transitions]).slice(1, -1)
}
