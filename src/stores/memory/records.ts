/** Parts of records, each a copy that shares nothing mutable with a row. */
import { caps } from '../../core/caps.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import { enqueueEntry, historyEntry } from '../../core/history.ts'
import type { CheckIn, HistoryEntry, JobMeta, LogLine } from '../../core/record.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { Checkpoint, CheckpointEntry, InboxMessage, InboxEntry } from '../../core/machine-record.ts'
import { copyPayload, type Json } from '../../core/payload.ts'
import type { WrittenTransition } from '../../store.ts'
import type { Row, StoredTransition } from './row.ts'

const entryOf = ({ arrow, seq, tick, attempt, worker, reason }: StoredTransition): HistoryEntry =>
  historyEntry(arrow, seq, tick.at, attempt, worker, reason)

/** The last transition of a row. */
export function transitionOf(row: Row, error?: ErrorRecord): WrittenTransition {
  if (row.last === null) throw new TypeError(`job ${row.id} has made no transition`)
  return { id: row.id, type: row.type, ...entryOf(row.last), ...(error !== undefined && { error }) }
}

export function historyOf(row: Row): HistoryEntry[] {
  const entries: HistoryEntry[] = []
  let to: JobState = row.phase.name
  let transition = row.last
  for (; transition !== null && entries.length < caps.history; transition = transition.before) {
    entries.push(entryOf(transition))
    to = transition.arrow.from
  }
  // The ENQUEUE comes first, unless the cap has cut it off.
  const cut = transition !== null || entries.length === caps.history
  if (!cut) entries.push(enqueueEntry(to, row.seq, row.came.at))
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
