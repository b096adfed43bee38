/**
 * The history of a job as text, to which every transition appends. It is short: values that the row or the transition
 * before has are not repeated. It begins with the first state; numbers and times are relative to the enqueue.
 *
 *   "queued",[2,120,"CLAIM","running",1],[7,151,"COMPLETE","done",1]
 */
import { caps } from '../../core/caps.ts'
import { enqueueEntry, historyEntry } from '../../core/history.ts'
import type { HistoryEntry } from '../../core/record.ts'
import { isLeased, statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { WrittenTransition, SettleAnswer } from '../../store.ts'
import type { Row } from './row.ts'

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

/**
 * A row that outgrows its page is moved, and neighbouring pages with it. So the history of a new row ends with blanks,
 * which JSON ignores, in the place of what a claim and an end will append (SQLite has no fill factor).
 */
const blanks = { forClaim: 84, forEnd: 32 }

const blankEnd = ' '.repeat(blanks.forEnd)

const births = new Map(
  [...statesTagged('birth')].map((state) => {
    return [state, JSON.stringify(state).padEnd(state.length + 2 + blanks.forClaim + blanks.forEnd)]
  }),
)

/** The history of a new job. */
export const born = (state: JobState): string => births.get(state) as string

/** The history of a row with one more transition. */
export function withTransition(row: Row, { seq, at, event, to, attempt, reason }: HistoryEntry): string {
  const why = reason === undefined ? '' : `,null,${JSON.stringify(reason)}`
  const before = row.history.length < charsMax ? row.history.trimEnd() : packHistory(row, historyOf(row))
  const room = event === 'CLAIM' ? blankEnd : ''
  return `${before},[${seq - row.seq},${at - row.enqueuedAt},"${event}","${to}",${attempt}${why}]${room}`
}

/** The history with its workers, before another worker claims the job: the row keeps the last one only. */
export function withWorkers(row: Row): string {
  return row.worker === null ? row.history : packHistory(row, historyOf(row), true)
}

/** The history of a row without the transitions after this number. */
export function historyUntil(row: Row, seq: number): string {
  const entries = historyOf(row).filter((entry) => entry.seq <= seq)
  return packHistory(row, entries)
}

/** When a row made its last transition. */
export const movedAt = (row: Row): number =>
  row.lastSeq === row.seq ? row.enqueuedAt : (historyOf(row).at(-1)?.at ?? row.enqueuedAt)

export function historyOf(row: Row): HistoryEntry[] {
  const [start, ...transitions] = JSON.parse(`[${row.history}]`) as [Start, ...PackedTransition[]]
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

/** @param named is the worker of the row written, too? */
function packHistory(row: Row, entries: readonly HistoryEntry[], named = false): string {
  const [first] = entries
  if (first === undefined) return row.history
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

// ── settled attempts ───────────────────────────────────────────────────────────────────────────────────────────────

type PackedSettled = [
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

/** The last settled attempt, and its answer. */
interface Settled {
  readonly token: string
  readonly attempt: number
  readonly answer: SettleAnswer
}

export function packSettled({ token, attempt, answer }: Settled): string {
  const { seq, at, from, to, attempt: spent, dueAt, woken = null, successor = null, hook } = answer
  const packed: PackedSettled = [token, attempt, seq, at, from, to, spent, dueAt]
  if (hook !== undefined) packed.push(woken, successor, hook)
  else if (successor !== null) packed.push(woken, successor)
  else if (woken !== null) packed.push(woken)
  return JSON.stringify(packed)
}

/** The last settled attempt of a job. */
export function settledOf(row: Row): Settled | null {
  if (row.settled !== null) {
    const [token, attempt, seq, at, from, to, spent, dueAt, woken, successor, hook] = JSON.parse(
      row.settled,
    ) as PackedSettled
    const answer = { outcome: 'settled', seq, at, from, to, attempt: spent, dueAt } as const
    const others = { ...(woken && { woken }), ...(successor && { successor }), ...(hook && { hook }) }
    return { token, attempt, answer: { ...answer, ...others } }
  }
  // An attempt that ended its job has left its token in the row, and its end is the last transition.
  if (row.token === null || isLeased(row.state)) return null
  const history = historyOf(row)
  const end = history.at(-1)
  const claim = history.findLast(({ event }) => event === 'CLAIM')
  if (end === undefined || claim === undefined || end.from === null) return null
  const { seq, at, from, to } = end
  return {
    token: row.token,
    attempt: claim.attempt,
    answer: { outcome: 'settled', seq, at, from, to, attempt: end.attempt, dueAt: null },
  }
}

/** The settled attempt of a row, packed; null if there is none. */
export function packedSettledOf(row: Row): string | null {
  const settled = settledOf(row)
  return settled === null ? null : packSettled(settled)
}
