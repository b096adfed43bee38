/** Retry and discard of ended jobs, by administrators. */
import { isEnded, jobStates, nextArrow, type JobState } from './lifecycle.ts'
import { dropMessages, emptyInbox } from './dropped-events.ts'
import type { DiscardAnswer, DropInbox, EditedInput, WrittenTransition, RetryAnswer } from './values.ts'
import { applyEvent } from './transition.ts'
import type { JobRow } from './job-row.ts'
import type { Unit } from './unit.ts'

const anyCounters = { attempt: 0, maxAttempts: 1, generation: 1 }
/** The states from which a job is retried. */
export const retryable: ReadonlySet<JobState> = new Set(
  jobStates.filter((state) => nextArrow(state, 'RETRY', anyCounters) !== null),
)
/** The states in which a job may be discarded. */
export const discardable: ReadonlySet<JobState> = new Set(jobStates.filter(isEnded))

/**
 * RETRY: a new generation.
 * @param fromStart removes the checkpoints and messages of a machine, which then starts at its initial state
 * @param dropInbox which messages to remove: see `dropMessages`
 * @param edit a new input for the jobs; implies `fromStart`
 */
export function retry(
  unit: Unit,
  ids: readonly string[],
  fromStart: boolean,
  dropInbox: DropInbox,
  edit?: EditedInput,
): RetryAnswer {
  const { rows, notFound } = unit.findEach(ids)
  return { ...retryRows(unit, rows, fromStart, dropInbox, edit), notFound }
}

/** As `retry`, of jobs that were found. */
export function retryRows(
  unit: Unit,
  rows: readonly JobRow[],
  fromStart: boolean,
  dropInbox: DropInbox,
  edit?: EditedInput,
): Omit<RetryAnswer, 'notFound'> {
  const retried: string[] = []
  const refused: string[] = []
  const transitions: WrittenTransition[] = []
  for (const row of rows) {
    if (!retryable.has(row.state) || isKeyTaken(unit, row)) {
      refused.push(row.id)
      continue
    }
    unit.write(row, unended)
    if (fromStart || edit !== undefined) {
      emptyInbox(unit, row, 'start')
      unit.forgetCheckpoints(row)
    }
    if (edit !== undefined) unit.write(row, { input: edit.input })
    // A machine that continues at its checkpoint restarts its actors, which need the results of their completed steps.
    if ((row.machine?.checkpoint ?? null) === null) unit.forgetSteps(row)
    dropMessages(unit, row, dropInbox)
    applyEvent(unit, row, 'RETRY')
    retried.push(row.id)
    transitions.push(unit.lastTransition(row))
  }
  return { retried, refused, transitions }
}

/** What an end leaves in a job, and a new generation does not have. */
const unended = { error: null, failure: null, cancelMark: null, output: undefined }

const isKeyTaken = (unit: Unit, { type, key }: JobRow): boolean =>
  key !== null && (unit.holder(type, key) !== undefined || unit.hasPredecessor(type, key))

/** Removes ended jobs. */
export function discard(unit: Unit, ids: readonly string[]): DiscardAnswer {
  const { rows, notFound } = unit.findEach(ids)
  return { ...discardRows(unit, rows), notFound }
}

/** As `discard`, of jobs that were found. */
export function discardRows(unit: Unit, rows: readonly JobRow[]): Omit<DiscardAnswer, 'notFound'> {
  const discarded: string[] = []
  const refused: string[] = []
  for (const row of rows) {
    if (isEnded(row.state)) {
      unit.remove(row)
      discarded.push(row.id)
    } else {
      refused.push(row.id)
    }
  }
  return { discarded, refused }
}
