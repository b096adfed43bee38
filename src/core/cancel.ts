/**
 * Cancels. A job without a lease ends at once; a leased job is marked, and its run is asked to stop. If its machine
 * handles a cancel as an event, the first cancel is delivered as a message, and the machine decides how to end; a
 * second cancel is forced. A forced cancel also cancels the child jobs and their descendants.
 */
import { isEnded, jobStates, nextArrow, type JobState } from './lifecycle.ts'
import type { CancelAnswer, CancelRequest, WrittenTransition } from './values.ts'
import { reportKept } from './dropped-events.ts'
import { deliver, notifyParentOfEnd } from './inbox.ts'
import { releaseSuccessor } from './succession.ts'
import { applyEvent } from './transition.ts'
import type { CancelMark } from './job-row.ts'
import type { JobRow } from './job-row.ts'
import type { Unit } from './unit.ts'

/** The states in which a cancel does something. */
export const cancellable: ReadonlySet<JobState> = new Set(jobStates.filter((state) => !isEnded(state)))

/** Of child jobs. */
export const childReason = 'its parent was cancelled'

export function cancel(unit: Unit, request: CancelRequest): CancelAnswer {
  const { rows, notFound } = unit.findEach(request.ids)
  return { ...cancelRows(unit, rows, request), notFound }
}

/** What a cancel without child jobs has done. `parents`: the jobs whose child jobs are to be cancelled. */
export interface CancelledAlone extends CancelAnswer {
  readonly parents: readonly string[]
}

export function cancelAlone(unit: Unit, request: CancelRequest): CancelledAlone {
  const { rows, notFound } = unit.findEach(request.ids)
  return { ...cancelRowsAlone(unit, rows, request), notFound }
}

export function cancelRowsAlone(
  unit: Unit,
  rows: readonly JobRow[],
  request: Pick<CancelRequest, 'reason' | 'graceMs'>,
): Omit<CancelledAlone, 'notFound'> {
  const { forced, ...answer } = cancelEach(unit, rows, request)
  return { ...answer, parents: forced.map(({ id }) => id) }
}

/** Cancels jobs, those of a higher priority first, then the older ones, and then their descendants. */
export function cancelRows(
  unit: Unit,
  rows: readonly JobRow[],
  request: Pick<CancelRequest, 'reason' | 'graceMs'>,
): Omit<CancelAnswer, 'notFound'> {
  const { forced, ...answer } = cancelEach(unit, rows, request)
  cancelChildren(unit, forced, request.graceMs, answer.transitions)
  return answer
}

function cancelEach(
  unit: Unit,
  rows: readonly JobRow[],
  { reason, graceMs }: Pick<CancelRequest, 'reason' | 'graceMs'>,
): Omit<CancelAnswer, 'notFound' | 'transitions'> & { forced: JobRow[]; transitions: WrittenTransition[] } {
  const byUrgency = rows.toSorted((a, b) => b.priority - a.priority || a.seq - b.seq)
  const cancelled: string[] = []
  const cancelling: string[] = []
  const finished: string[] = []
  const forced: JobRow[] = []
  const transitions: WrittenTransition[] = []
  for (const row of byUrgency) {
    if (isEnded(row.state)) {
      finished.push(row.id)
      continue
    }
    if (cancelJob(unit, row, { reason, graceMs }, transitions)) forced.push(row)
    if (isEnded(row.state)) cancelled.push(row.id)
    else cancelling.push(row.id)
  }
  return { cancelled, cancelling, finished, transitions, forced }
}

/**
 * Cancels the job that another one supersedes, as a forced cancel. Returns its CANCEL; null if it was cancelled before.
 */
export function cancelSuperseded(unit: Unit, row: JobRow): WrittenTransition | null {
  const transitions: WrittenTransition[] = []
  if (cancelNow(unit, row, { reason: 'superseded', graceMs: null }, transitions)) {
    cancelChildren(unit, [row], null, transitions)
  }
  return transitions[0] ?? null
}

function cancelChildren(unit: Unit, forced: JobRow[], graceMs: number | null, transitions: WrittenTransition[]): void {
  const mark = { reason: childReason, graceMs }
  // The loop appends to `forced`: children of children follow.
  for (const parent of forced) {
    for (const child of unit.children(parent)) {
      // The cancel of a sibling may have ended it.
      if (!isEnded(child.state) && cancelJob(unit, child, mark, transitions)) forced.push(child)
    }
  }
}

/** Cancels a live job. Returns whether this call has forced the cancel. */
function cancelJob(unit: Unit, row: JobRow, mark: CancelMark, transitions: WrittenTransition[]): boolean {
  if (row.machine?.takesCancel !== true || row.cancelMark !== null) return cancelNow(unit, row, mark, transitions)
  unit.write(row, { cancelMark: { reason: mark.reason, graceMs: mark.graceMs } })
  const woken = deliver(unit, row, { kind: 'cancel', reason: mark.reason, generation: row.generation })
  if (woken !== null) transitions.push(woken)
  return false
}

function cancelNow(unit: Unit, row: JobRow, mark: CancelMark, transitions: WrittenTransition[]): boolean {
  if (nextArrow(row.state, 'CANCEL', row) === null) return false
  unit.write(row, { cancelMark: { reason: mark.reason, graceMs: mark.graceMs } })
  applyEvent(unit, row, 'CANCEL', mark)
  transitions.push(unit.lastTransition(row))
  reportKept(unit, row)
  for (const other of [notifyParentOfEnd(unit, row), releaseSuccessor(unit, row)])
    if (other !== null) transitions.push(other)
  return true
}
