/**
 * Events that are removed from an inbox although no machine has taken them. Their senders were told that they are kept;
 * so each removal adds a line to the log of the job, and frees the keys: an event that is sent again under its key is
 * delivered.
 */
import { keepLogs } from './kept.ts'
import { isEnded, type JobState } from './lifecycle.ts'
import type { InboxEntry, NewCheckpoint, SentEvent } from './machine-record.ts'
import type { Json } from './payload.ts'
import type { LogLine } from './record.ts'
import type { DropInbox } from './values.ts'
import type { JobRow } from './job-row.ts'
import type { Unit } from './unit.ts'

/** Of more events that are dropped together, the line names these and the number of the others. */
const namedMax = 20
const nameCharsMax = 100

/** Why events were dropped, to follow "dropped: ". */
const reasons = {
  'not taken': 'the state in which the machine read it does not take it',
  expired: 'no state took it in the time that it was kept',
  done: 'the machine has ended',
  start: 'the job starts from its beginning',
  request: 'a retry has dropped it',
} as const

type Why = keyof typeof reasons

type SentEntry = InboxEntry & { readonly message: SentEvent }

/** Removes messages that were read by a checkpoint, except those that it defers, and reports those that it drops. */
export function readMessages(unit: Unit, row: JobRow, checkpoint: NewCheckpoint): void {
  const { deferred = [], dropped = [] } = checkpoint
  const { machine } = row
  if (dropped.length > 0) {
    const entries = new Map(unit.inbox(row, 0).map((entry) => [entry.number, entry]))
    for (const why of ['not taken', 'expired'] as const) {
      const numbers = dropped.filter((each) => each.why === why).map(({ number }) => number)
      report(
        unit,
        row,
        numbers.flatMap((number) => entries.get(number) ?? []),
        why,
      )
    }
  }
  if (machine === null) return
  const read = Math.max(machine.lastRead, Math.min(checkpoint.read, machine.lastMessage))
  if (read !== machine.lastRead || deferred.length !== machine.deferred.length) unit.markRead(row, read, deferred)
}

/** @throws TypeError if a checkpoint defers a message that is not in the inbox, or that it has not read */
export function mustBeInInbox({ id, machine }: JobRow, { read, deferred = [] }: NewCheckpoint): void {
  const { lastRead = 0, lastMessage = 0, deferred: before = [] } = machine ?? {}
  for (const number of deferred) {
    if (before.includes(number) || (number > lastRead && number <= Math.min(read, lastMessage))) continue
    throw new TypeError(
      `job ${id}: message ${number}, which the checkpoint defers, is not among those that it has read`,
    )
  }
}

/** Removes all messages: the machine has ended, or starts anew. */
export function emptyInbox(unit: Unit, row: JobRow, why: 'done' | 'start'): void {
  const { machine } = row
  if (machine === null || !hasMessages(row)) return
  report(unit, row, unit.inbox(row, 0), why)
  unit.markRead(row, machine.lastMessage, [])
}

/**
 * Removes messages before a retry.
 * @param drop how many unread ones, oldest first; or numbers: of deferred ones, and of unread ones without a gap from
 * the first
 */
export function dropMessages(unit: Unit, row: JobRow, drop: DropInbox): void {
  const { machine } = row
  if (machine === null || drop === 0 || !hasMessages(row)) return
  const { lastRead, lastMessage, deferred } = machine
  const numbers = new Set(typeof drop === 'number' ? [] : drop)
  let read = typeof drop === 'number' ? Math.min(lastRead + drop, lastMessage) : lastRead
  while (read < lastMessage && numbers.has(read + 1)) read++
  const kept = deferred.filter((number) => !numbers.has(number))
  const gone = unit.inbox(row, 0).filter(({ number }) => number <= read && !kept.includes(number))
  if (gone.length === 0) return
  report(unit, row, gone, 'request')
  unit.markRead(row, read, kept)
}

/** A job that is dead or cancelled keeps its messages for a retry: a line of its log says so. */
export function reportKept(unit: Unit, row: JobRow): void {
  if (!isEnded(row.state) || row.state === 'done' || !hasMessages(row)) return
  const line = keptLine(unit.inbox(row, 0), row.state)
  if (line !== null) keepLogs(unit, row, [{ at: unit.now, attempt: row.attempt, ...line }])
}

const hasMessages = ({ machine }: JobRow): boolean =>
  machine !== null && (machine.lastMessage > machine.lastRead || machine.deferred.length > 0)

function report(unit: Unit, row: JobRow, entries: readonly InboxEntry[], why: Why): void {
  const line = droppedLine(entries, why)
  if (line === null) return
  keepLogs(unit, row, [{ at: unit.now, attempt: row.attempt, ...line }])
  const freed = keysOf(entries)
  if (freed.size > 0)
    unit.write(row, { messageKeys: (row.machine?.messageKeys ?? []).filter((key) => !freed.has(key)) })
}

type Line = Omit<LogLine, 'at' | 'attempt'>

/** The line that reports the events among dropped messages; null if there are none. */
export function droppedLine(entries: readonly InboxEntry[], why: Why): Line | null {
  const events = sent(entries)
  if (events.length === 0) return null
  const what = events.length === 1 ? 'an event was dropped' : `${events.length} events were dropped`
  const dropped = events.slice(0, namedMax).map(({ number, at, message }): Json => {
    const { key } = message
    return { number, at, type: typeOf(message), ...(key !== undefined && { key }) }
  })
  return { message: `${what}: ${reasons[why]}: ${names(events)}`, fields: { dropped } }
}

/** The line that reports the events among messages which an ended job keeps; null if there are none. */
export function keptLine(entries: readonly InboxEntry[], state: JobState): Line | null {
  const events = sent(entries)
  if (events.length === 0) return null
  const [what, them] = events.length === 1 ? ['1 event stays', 'it'] : [`${events.length} events stay`, 'them']
  return { message: `${what} in the inbox of the ${state} job, and a retry delivers ${them}: ${names(events)}` }
}

/** The keys of the callers among messages. */
export const keysOf = (entries: readonly InboxEntry[]): Set<string> =>
  new Set(sent(entries).flatMap(({ message: { key } }) => key ?? []))

const sent = (entries: readonly InboxEntry[]): SentEntry[] =>
  entries.filter((entry): entry is SentEntry => entry.message.kind === 'event')

function typeOf({ event }: SentEvent): string {
  const type = (event as { readonly type?: unknown } | null)?.type
  return String(type).slice(0, nameCharsMax)
}

const names = (events: readonly SentEntry[]): string =>
  events
    .slice(0, namedMax)
    .map(({ message }) => typeOf(message))
    .join(', ') + (events.length > namedMax ? ` and ${events.length - namedMax} more` : '')
