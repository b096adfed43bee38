/** The history and the errors of a job as texts to which entries can be added without reading them. */
import { historyEntry } from '../../core/history.ts'
import type { ArrowEvent, JobState } from '../../core/lifecycle.ts'
import type { AttemptError, HistoryEntry } from '../../core/record.ts'
import type { Fields } from './fields.ts'

/** Between the entries of a history: no JSON has it. */
export const separator = '\0'

type EntryText = readonly [number, number, string, JobState | null, JobState, number, (string | null)?, string?]

/** A transition in a history, and in the log: the number first. */
export function entryText({ seq, at, event, from, to, attempt, worker, reason }: HistoryEntry): string {
  const entry: unknown[] = [seq, at, event, from, to, attempt]
  if (worker !== undefined || reason !== undefined) entry.push(worker ?? null)
  if (reason !== undefined) entry.push(reason)
  return JSON.stringify(entry)
}

export function entryOf(text: string): HistoryEntry {
  const [seq, at, event, from, to, attempt, worker, reason] = JSON.parse(text) as EntryText
  return historyEntry({ event: event as ArrowEvent, from, to }, seq, at, attempt, worker ?? null, reason ?? null)
}

export const historyEntries = (history: string): HistoryEntry[] =>
  history === '' ? [] : history.split(separator).map(entryOf)

/** A history without its last entries. */
export const historyWithout = (history: string, dropped: number): string =>
  dropped === 0 || history === '' ? history : history.split(separator).slice(0, -dropped).join(separator)

/** The errors of a job: each a line. */
export const errorsOf = ({ errors }: Fields): AttemptError[] =>
  errors === undefined || errors === '' ? [] : errors.split('\n').map((line) => JSON.parse(line) as AttemptError)
