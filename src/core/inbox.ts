/** Messages to jobs: events of callers, ends and check-ins of child jobs, cancels that a machine handles as events. */
import { caps } from './caps.ts'
import { arrows, isEnded } from './lifecycle.ts'
import { mayGather, type InboxMessage } from './machine-record.ts'
import type { Json } from './payload.ts'
import type { SendAnswer, SendRequest } from './machine-values.ts'
import type { WrittenTransition } from './values.ts'
import { applyEvent } from './transition.ts'
import { isPutOff } from './unsupported.ts'
import type { JobMachine, JobRow } from './job-row.ts'
import type { Unit } from './unit.ts'

const waiting = new Set<string>(Object.keys(arrows('WAKE')))

/** Puts an event into the inbox of a live job. Repeated calls with the same key deliver it once. */
export function send(unit: Unit, request: SendRequest): SendAnswer {
  const row = unit.find(request.id)
  if (row === undefined) return { outcome: 'notFound', state: null }
  if (request.message.kind === 'resume' && isPutOff(row)) {
    applyEvent(unit, row, 'DUE')
    return { outcome: 'resumed', state: row.state, transition: unit.lastTransition(row) }
  }
  const refused = refusal(row, request)
  if (refused !== null) return { outcome: refused, state: row.state }
  const messageKeys = [...(row.machine?.messageKeys ?? []), request.key].slice(-caps.messageKeys)
  unit.write(row, { messageKeys })
  const woken = deliver(unit, row, request.message)
  return { outcome: 'kept', state: row.state, ...(woken !== null && { transition: woken }) }
}

function refusal({ state, machine }: JobRow, { key, expect }: SendRequest): SendAnswer['outcome'] | null {
  if (machine?.messageKeys.includes(key) === true) return 'duplicate'
  if (isEnded(state)) return 'ended'
  if (expect !== null && !isAsExpected(machine, expect)) return 'changed'
  return isFull(machine) ? 'full' : null
}

function isAsExpected(machine: JobMachine | null, expect: NonNullable<SendRequest['expect']>): boolean {
  const { checkpoint, lastMessageNumber, behind } = expect
  return (
    checkpoint === (machine?.checkpoint?.number ?? 0) &&
    lastMessageNumber === (machine?.lastMessage ?? 0) &&
    (behind === undefined || machine?.messageKeys.at(-1) === behind)
  )
}

/** The difference is the number of unread messages, because message numbers have no gaps and are read in order. */
const isFull = (machine: JobMachine | null): boolean =>
  machine !== null && machine.lastMessage - machine.lastRead + machine.deferred.length >= caps.inbox

/** Puts a message into the inbox of a live job. @returns the WAKE of a job that was waiting, or null */
export function deliver(unit: Unit, row: JobRow, message: InboxMessage): WrittenTransition | null {
  unit.addMessage(row, message)
  return wakeForMessages(unit, row, () => [message])
}

/**
 * Wakes a waiting job with unread messages: deferred ones wake nobody, because its state does not take them. If it
 * gathers messages, sets its due time instead.
 * @param latest returns the unread messages; it may omit those that an earlier call has seen
 */
export function wakeForMessages(
  unit: Unit,
  row: JobRow,
  latest: () => readonly InboxMessage[],
): WrittenTransition | null {
  const { machine } = row
  if (machine === null || machine.lastMessage === machine.lastRead || !waiting.has(row.state)) return null
  const { gather, lastMessage, lastRead } = machine
  if (gather !== null && lastMessage - lastRead < gather.messages && latest().every(mayGather)) {
    const dueAt = Math.ceil(unit.now + gather.ms)
    if (row.dueAt === null || row.dueAt > dueAt) unit.setDue(row, dueAt)
    return null
  }
  applyEvent(unit, row, 'WAKE')
  return unit.lastTransition(row)
}

/** Sends the end of a job to its parent. Returns the WAKE of a parent that was waiting. */
export function notifyParentOfEnd(unit: Unit, row: JobRow): WrittenTransition | null {
  if (!isEnded(row.state)) return null
  const parent = liveParent(unit, row)
  return parent === null ? null : deliver(unit, parent, endMessage(unit, row))
}

/** Sends a check-in to the parent, if it asked for check-ins and its inbox is not full. */
export function notifyParentOfCheckin(unit: Unit, row: JobRow, value: Json): WrittenTransition | null {
  if (row.machine?.parent?.checkins !== true) return null
  const parent = liveParent(unit, row)
  return parent === null || isFull(parent.machine)
    ? null
    : deliver(unit, parent, { kind: 'checkin', child: row.id, value })
}

function liveParent(unit: Unit, { machine }: JobRow): JobRow | null {
  const id = machine?.parent?.id
  const parent = id === undefined ? undefined : unit.find(id)
  return parent === undefined || isEnded(parent.state) ? null : parent
}

function endMessage(unit: Unit, row: JobRow): InboxMessage {
  const ended = { kind: 'ended', child: row.id } as const
  const [output, error] = [unit.read(row, 'output'), unit.read(row, 'error')]
  if (row.state === 'done') return { ...ended, state: 'done', ...(output !== undefined && { output }) }
  if (row.state === 'dead') return { ...ended, state: 'dead', ...(error !== null && { error }) }
  const reason = row.cancelMark?.reason ?? null
  return { ...ended, state: 'cancelled', ...(reason !== null && { reason }) }
}
