/** Parts of records, each a copy that shares nothing mutable with a row. */
import { caps } from '../../core/caps.ts'
import { valueOf } from '../../core/cell.ts'
import { enqueueEntry } from '../../core/history.ts'
import type { CheckIn, HistoryEntry, JobMeta, LogLine } from '../../core/record.ts'
import type { Checkpoint, CheckpointEntry, InboxMessage, InboxEntry } from '../../core/machine-record.ts'
import { copyPayload, type Json } from '../../core/payload.ts'
import type { KeptCheckpoint, Row } from './row.ts'

export function historyOf({ last, state, seq, enqueuedAt }: Row): HistoryEntry[] {
  const entries: HistoryEntry[] = []
  let to = state
  let transition = last
  for (; transition !== null && entries.length < caps.history; transition = transition.before) {
    entries.push(transition.entry)
    to = transition.arrow.from ?? to
  }
  // The ENQUEUE comes first, unless the cap has cut it off.
  const cut = transition !== null || entries.length === caps.history
  if (!cut) entries.push(enqueueEntry(to, seq, enqueuedAt))
  return entries.toReversed()
}

export function checkinOf(row: Row): CheckIn | null {
  const checkin = valueOf(row.rarely.checkin)
  return checkin === null ? null : { at: checkin.at, value: copyPayload(checkin.value) }
}

export const logLine = (line: LogLine): LogLine =>
  line.fields === undefined ? { ...line } : { ...line, fields: copyPayload(line.fields) }

export const checkpointOf = ({ lists }: Row): Checkpoint | null => {
  const current = lists?.checkpoints.at(-1)
  return current === undefined ? null : { number: current.number, state: current.state }
}

export const metaOf = ({ terms }: Row): JobMeta | null => {
  const meta = valueOf(terms.meta)
  return meta === null ? null : (copyPayload(meta as Json) as JobMeta)
}

const checkpointEntry = ({ number, state, seq, at, note }: KeptCheckpoint): CheckpointEntry => {
  return { number, state, seq, at, note }
}

export const checkpointsOf = (row: Row | undefined): CheckpointEntry[] =>
  row?.lists?.checkpoints.map(checkpointEntry) ?? []

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
