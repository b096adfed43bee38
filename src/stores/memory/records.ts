/** What leaves the store: records, claimed jobs and moves, each a copy that shares nothing changeable with a row. */
import { caps } from '../../core/caps.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import type { CheckIn, HistoryEntry, JobMeta, JobRecord, LogLine } from '../../core/record.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { Checkpoint, CheckpointEntry, InboxMessage, InboxEntry } from '../../core/machine-record.ts'
import { copyPayload, type Json } from '../../core/payload.ts'
import type { ClaimedJob, JobPins, Move } from '../../store.ts'
import type { TransitionArrow, Past, Row, Run, LoggedStep } from './row.ts'

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

/** The move a row has just made. */
export function moveOf(row: Row, error?: ErrorRecord): Move {
  if (row.last === null) throw new TypeError(`job ${row.id} has made no move`)
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
  // The row's own birth comes first, unless the cap has cut it off.
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

const emptyInbox: readonly InboxEntry[] = Object.freeze([])

export const checkpointOf = ({ machine }: Row): Checkpoint | null => {
  const current = machine?.checkpoint ?? undefined
  return current === undefined ? null : { number: current.number, state: copyPayload(current.state) }
}

export const metaOf = ({ terms: { meta } }: Row): JobMeta | null =>
  meta === null ? null : (copyPayload(meta as Json) as JobMeta)

export const checkpointEntry = (entry: CheckpointEntry): CheckpointEntry => ({
  ...entry,
  state: copyPayload(entry.state),
})

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

export function recordOf(row: Row): JobRecord {
  const { phase, run, past, machine } = row
  return {
    id: row.id,
    type: row.type,
    state: phase.name,
    priority: row.priority,
    attempt: row.attempt,
    maxAttempts: row.maxAttempts,
    generation: row.generation,
    input: copyPayload(row.input),
    output: copyPayload(run?.output),
    error: past?.error ?? null,
    errors: past === null ? [] : past.errors.map((error) => ({ ...error })),
    checkin: checkinOf(row),
    logs: past === null ? [] : past.logs.map(logLine),
    tags: [...row.terms.tags],
    meta: metaOf(row) ?? {},
    key: row.key,
    concurrencyKey: row.concurrencyKey,
    enqueuedAt: row.came.at,
    dueAt: row.dueAt,
    startedAt: run === null ? null : run.claim.tick.at,
    finishedAt: phase.ended && row.last !== null ? row.last.tick.at : null,
    worker: run === null ? null : run.claim.worker,
    cancelReason: past?.cancel?.reason ?? null,
    checkpoint: checkpointOf(row),
    machineStates: machine === null ? [] : [...machine.states],
    machineTags: machine === null ? [] : [...machine.tags],
    inbox: machine === null ? [] : machine.messages.map(inboxOf),
    lastMessageNumber: machine === null ? 0 : machine.lastMessage,
    parent: machine === null || machine.parent === null ? null : { ...machine.parent },
    version: machine === null ? null : machine.version,
    unsupported: machine === null || machine.unsupported === null ? null : { ...machine.unsupported },
    history: historyOf(row),
  }
}

const stepsOf = ({ steps }: Past): Readonly<Record<string, Json>> | null =>
  steps === null || steps.size === 0
    ? null
    : Object.fromEntries(Array.from(steps, ([name, result]) => [name, copyPayload(result)]))

/** A job in the hands of a worker. Its record is made when it is asked for: most handlers never do. */
export class Claimed implements ClaimedJob {
  readonly input: Json | undefined
  readonly maxAttempts: number
  readonly generation: number
  readonly steps: Readonly<Record<string, Json>> | null
  readonly checkpoint: Checkpoint | null
  readonly inbox: readonly InboxEntry[]
  readonly version: string | null
  private readonly row: Row
  private readonly run: Run

  constructor(row: Row, run: Run) {
    this.input = copyPayload(row.input)
    this.maxAttempts = row.maxAttempts
    this.generation = row.generation
    this.steps = row.past === null ? null : stepsOf(row.past)
    this.checkpoint = row.machine === null ? null : checkpointOf(row)
    this.inbox = row.machine === null ? emptyInbox : row.machine.messages.map(inboxOf)
    this.version = row.machine === null ? null : row.machine.version
    this.row = row
    this.run = run
  }

  get id(): string {
    return this.row.id
  }

  get type(): string {
    return this.row.queue.type
  }

  get priority(): number {
    return this.row.terms.priority
  }

  get attempt(): number {
    return this.run.claim.attempt
  }

  get token(): string {
    return this.run.token
  }

  get startedAt(): number {
    return this.run.claim.tick.at
  }

  get pins(): JobPins | null {
    const { pins } = this.row.terms
    return pins === undefined ? null : structuredClone(pins)
  }

  get meta(): JobMeta | null {
    return metaOf(this.row)
  }

  get seq(): number {
    return this.run.claim.seq
  }

  record(): JobRecord {
    return recordOf(this.row)
  }
}
