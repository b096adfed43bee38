/** The history of a job, and the log, as texts to which entries can be added without reading the others. */
import { historyEntry } from '../../core/history.ts'
import type { RowTransition } from '../../core/job-row.ts'
import type { ArrowEvent, JobState } from '../../core/lifecycle.ts'
import type { HistoryEntry } from '../../core/record.ts'

/** Between the entries of a history: no JSON has it. */
export const separator = '\0'

type EntryText = readonly [number, number, string, JobState | null, JobState, number, (string | null)?, string?]

/** A transition in a history, and in the log: the number first. */
export function transitionText({ arrow, seq, at, attempt, worker, reason }: RowTransition): string {
  const entry: unknown[] = [seq, at, arrow.event, arrow.from, arrow.to, attempt]
  if (worker !== null || reason !== null) entry.push(worker)
  if (reason !== null) entry.push(reason)
  return JSON.stringify(entry)
}

/** An ENQUEUE in the log; histories leave it out. */
export const enqueueText = (to: JobState, seq: number, at: number): string =>
  JSON.stringify([seq, at, 'ENQUEUE', null, to, 0])

export function entryOf(text: string): HistoryEntry {
  const [seq, at, event, from, to, attempt, worker, reason] = JSON.parse(text) as EntryText
  return historyEntry({ event: event as ArrowEvent, from, to }, seq, at, attempt, worker ?? null, reason ?? null)
}

export const historyEntries = (history: string): HistoryEntry[] =>
  history === '' ? [] : history.split(separator).map(entryOf)

/** A history without the entries after a number. */
export function historyUntil(history: string, seq: number): string {
  if (history === '') return ''
  const entries = history.split(separator)
  while (entries.length > 0 && entryOf(entries.at(-1) as string).seq > seq) entries.pop()
  return entries.join(separator)
}
