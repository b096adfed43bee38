/** Parts of records, each a copy that shares nothing mutable with a row. */
import { caps } from '../../core/caps.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import type { CheckIn, HistoryEntry, JobMeta, LogLine } from '../../core/record.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { Checkpoint, CheckpointEntry, InboxMessage, InboxEntry } from '../../core/machine-record.ts'
import { copyPayload, type Json } from '../../core/payload.ts'
import type { WrittenTransition } from '../../store.ts'
import type { TransitionArrow, Row, LoggedStep } from './row.ts'

export function historyEntry(
  { event, from, to }: TransitionArrow,
  seq: number,
  at: number,
  attempt: number,
  worker: string | null,
  reason: string | null,
): HistoryEntry {
  return {
    seq,
    at,
    event,
    from,
    to,
    attempt,
    ...(worker !== null && { worker }),
    ...(reason !== null && { reason }),
  }
}

const entryOf = (step: LoggedStep): HistoryEntry =>
  historyEntry(step.arrow, step.seq, step.tick.at, step.attempt, step.worker, step.reason)

/** The last transition of a row. */
export function transitionOf(row: Row, error?: ErrorRecord): WrittenTransition {
  if (row.last === null) throw new TypeError(`job ${row.id} has made no transition`)
  return { id: row.id, type: row.type, ...entryOf(row.last), ...(error !== undefined && { error }) }
}

export function historyOf(row: Row): HistoryEntry[] {
  const entries: HistoryEntry[] = []
  let to: JobState = row.phase.name
  let step = row.last
  for (; step !== null && entries.length < caps.history; step = step.before) {
    entries.push(entryOf(step))
    to = step.arrow.from
  }
  // The ENQUEUE comes first, unless the cap has cut it off.
  const cut = step !== null || entries.length === caps.history
  if (!cut) entries.push(historyEntry({ event: 'ENQUEUE', from: null, to }, row.seq, row.came.at, 0, null, null))
  return entries.toReversed()
}

export function checkinOf(row: Row): CheckIn | null {
  const checkin = row.past?.checkin ?? null
  return checkin === null ? null : { at: checkin.at, value: copyPayload(checkin.value) }
}

export const logLine = (line: LogLine): LogLine =>
  line.fields === undefined ? { ...line } : { ...line, fields: copyPayload(line.fields) }

export const checkpointOf = ({ machine }: Row): Checkpoint | null => {
  const current = machine?.checkpoint ?? undefined
  return current === undefined ? null : { number: current.number, state: copyPayload(current.state) }
}

export const metaOf = ({ terms: { meta } }: Row): JobMeta | null =>
  meta === null ? null : (copyPayload(meta as Json) as JobMeta)

const checkpointEntry = (entry: CheckpointEntry): CheckpointEntry => ({
  ...entry,
  state: copyPayload(entry.state),
})

export const checkpointsOf = (row: Row | undefined): CheckpointEntry[] =>
  row?.machine?.checkpoints.map(checkpointEntry) ?? []

export const inboxOf = ({ number, at, message }: InboxEntry): InboxEntry => ({
  number,
  at,
  message: messageOf(message),
})

function messageOf(message: InboxMessage): InboxMessage {
  if (message.kind === 'event') return { ...message, event: copyPayload(message.event) }
  if (message.kind === 'checkin') return { ...message, value: copyPayload(message.value) }
  if (message.kind !== 'ended' || message.output === undefined) return { ...message }
  return { ...message, output: copyPayload(message.output) }
}
