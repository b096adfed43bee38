/**
 * A job as the core works on it: plain fields, whatever the store keeps them in. Operations read it, a `Unit` changes
 * it, and a store writes what has changed.
 *
 * All rows have one shape, so that V8 compiles access to them once. What most jobs do not have is an object of its own,
 * created when it is needed.
 */
import { valueOf, type Cell } from './cell.ts'
import type { ErrorRecord } from './failure.ts'
import { isLeased, jobStates, statesTagged, type JobState } from './lifecycle.ts'
import type { CheckpointEntry, Gather, InboxEntry, Parent, Unsupported } from './machine-record.ts'
import type { Json } from './payload.ts'
import type { AttemptError, CheckIn, HistoryEntry, JobMeta, LogLine } from './record.ts'
import { defaultKeyWeight } from './shares.ts'
import type { CancelMark } from './row-fields.ts'
import type { JobPins, NewJob, SettleAnswer } from './values.ts'

/** A new job, its payloads perhaps packed. */
export type JobToInsert = Omit<NewJob, 'input' | 'tags' | 'meta' | 'checkpoint'> & {
  readonly input: Cell<Json | undefined>
  readonly tags: Cell<readonly string[]>
  readonly meta?: Cell<JobMeta>
  readonly checkpoint?: Cell<Json>
}

/** The last settled attempt of a job, and its answer. */
export interface Settled {
  readonly attempt: number
  readonly token: string
  readonly answer: SettleAnswer
}

const noTags: readonly string[] = Object.freeze([])
const noErrors: readonly AttemptError[] = Object.freeze([])
const noNumbers: readonly number[] = Object.freeze([])
const noLogs: readonly LogLine[] = Object.freeze([])
const noTransitions: readonly HistoryEntry[] = Object.freeze([])

/** What few jobs have: terms of their enqueue, errors, logs, check-ins, a cancel. */
export class RareFields {
  pins: JobPins | null = null
  until: 'start' | null = null
  keyWeight: number | null = null
  tags: Cell<readonly string[]> = noTags
  meta: Cell<JobMeta | null> = null
  /** Type of the job that is inserted if this one dies. */
  onDead: string | null = null
  cancelMark: Cell<CancelMark | null> = null
  checkin: Cell<CheckIn | null> = null
  logs: Cell<readonly LogLine[]> = noLogs
  /** The error of the last attempt, and the fingerprint of its group; null if it did not fail. */
  error: Cell<ErrorRecord | null> = null
  failure: string | null = null
  errors: Cell<readonly AttemptError[]> = noErrors
  /** The last settled attempt, unless it is told by the other fields: see `JobRow.settled`. */
  settled: Cell<Settled | null> = null
  /** It waits for the end of the job that has given up its key, and is then due at this time, ms since the epoch. */
  dueAfter: number | null = null
}

const noRareFields: Readonly<RareFields> = Object.freeze(new RareFields())

/** What a job with a machine, or with a parent, has beside a plain one. */
export class JobMachine {
  readonly parent: Parent | null
  /** The version that the job was enqueued with. */
  version: string | null = null
  /** The last checkpoint: its number, and the number of its entry in the log; null before the first. */
  checkpoint: { readonly number: number; readonly seq: number } | null = null
  /** When it was written, ms since the epoch. */
  checkpointAt: Cell<number> = 0
  /** Attempts of this generation that led to a checkpoint: they do not count as failures. */
  checkpointedAttempts = 0
  /** Does the machine handle a cancel as an event at its last checkpoint? */
  takesCancel = false
  /** State paths and tags at the last checkpoint, each once. */
  states: readonly string[] = noTags
  tags: readonly string[] = noTags
  /** Numbers of the last message delivered, and of the last one read. */
  lastMessage = 0
  lastRead = 0
  /** Numbers of the events up to `lastRead` that no state has taken yet, ascending. They wake nobody. */
  deferred: readonly number[] = noNumbers
  /** How many messages it gathers before it is woken; null: each message wakes it. */
  gather: Gather | null = null
  /** Keys of the latest messages. */
  messageKeys: readonly string[] = noTags
  /** Set while no worker that has claimed the job can run its machine. */
  unsupported: Unsupported | null = null

  constructor(parent: Parent | null) {
    this.parent = parent
  }
}

/** Which parts of a row differ from what the store has, as bits. */
export const part = {
  /** State, place, counters, times, lease, key: what a transition changes. */
  transition: 1,
  /** The end of the lease, or the due time. */
  wakeAt: 2,
  attempts: 4,
  input: 8,
  output: 16,
  /** `tags` and `meta`. */
  terms: 32,
  onDead: 64,
  cancelMark: 128,
  checkin: 256,
  logs: 512,
  /** `error`, `failure` and `errors`. */
  errors: 1024,
  settled: 2048,
  /** Whether it holds its unique key, and `dueAfter`. */
  key: 4096,
  /** Of the machine what a checkpoint changes, and the rest. */
  checkpoint: 8192,
  machine: 16384,
} as const

/**
 * What has changed of a row and is not written yet: what it was, which is what the indexes of a store have it under,
 * which parts differ, and what was added to its lists.
 */
export class RowChange {
  /** Index of its state in `jobStates`; -1: it was not there. */
  stateIndex = -1
  place = 0
  wakeAt: number | null = null
  holdsKey = false
  failure: string | null = null
  lastSeq = 0
  finishedAt: number | null = null
  /** What it had of a machine; null: nothing. */
  machine: MachineWas | null = null
  /** The parts that differ, as bits of `part`. */
  parts = 0
  isRemoved = false
  /** Null: none. */
  added: Additions | null = null

  /** Begins with what a row is now. Objects are used again: a change of its own for each would be half of its cost. */
  begin(row: JobRow, isNew: boolean): void {
    this.stateIndex = isNew ? -1 : row.stateIndex
    this.place = row.place
    this.wakeAt = row.wakeAt
    this.holdsKey = !isNew && row.holdsKey
    this.lastSeq = row.lastSeq
    this.finishedAt = row.finishedAt
    this.failure = row.rare === null ? null : row.rare.failure
    this.machine = isNew || row.machineCell === null ? null : new MachineWas(row.machine as JobMachine)
    this.parts = 0
    this.isRemoved = false
    this.added = null
  }

  /** null: it was not there. */
  get state(): JobState | null {
    return jobStates[this.stateIndex] ?? null
  }

  withAdditions(): Additions {
    return (this.added ??= new Additions())
  }
}

/** What the indexes of a store have of a machine. */
class MachineWas {
  readonly isUnsupported: boolean
  readonly states: readonly string[]
  readonly tags: readonly string[]
  readonly lastMessage: number
  readonly lastRead: number
  readonly deferred: readonly number[]

  constructor({ unsupported, states, tags, lastMessage, lastRead, deferred }: JobMachine) {
    this.isUnsupported = unsupported !== null
    this.states = states
    this.tags = tags
    this.lastMessage = lastMessage
    this.lastRead = lastRead
    this.deferred = deferred
  }
}

/** What is added to the lists of a row, or taken from them. */
export class Additions {
  messages: InboxEntry[] = []
  checkpoints: (Omit<CheckpointEntry, 'state'> & { readonly state: Cell<Json> })[] = []
  /** Are the checkpoints removed that were there before? */
  forgetsCheckpoints = false
  /** Results of steps by name; null: it is removed. */
  readonly steps = new Map<string, Json | null>()
  /** Are all results removed that were there before? */
  forgetsSteps = false
  /** The transitions after this number are removed from the history; null: none. */
  historyUntil: number | null = null
}

const stateIndexes = new Map(jobStates.map((state, index) => [state, index]))
const timed = jobStates.map((state) => statesTagged('timed').has(state))

export class JobRow {
  readonly id: string
  readonly type: string
  readonly priority: number
  readonly key: string | null
  readonly concurrencyKey: string | null
  /** Number and time of the ENQUEUE: the order of inserts. */
  readonly seq: number
  readonly enqueuedAt: number
  /** Index of its state in `jobStates`. */
  stateIndex: number
  /** Its place in its queue: the number of the transition that put it at the end. */
  place: number
  attempt = 0
  generation = 1
  /** Attempts allowed, without those that led to a checkpoint. */
  attempts: number
  /** Its due time, or the end of its lease, ms since the epoch; null = none. */
  wakeAt: number | null = null
  /** Of its last attempt. An ended job keeps the token of the settlement that has ended it. */
  token: string | null = null
  worker: string | null = null
  startedAt: number | null = null
  finishedAt: number | null = null
  /** The number of its last transition. */
  lastSeq: number
  holdsKey: boolean
  input: Cell<Json | undefined>
  output: Cell<Json | undefined> = undefined
  rare: RareFields | null = null
  /** What it has of a machine; null of a plain job. */
  machineCell: Cell<JobMachine | null> = null
  /** Its transitions: those that the unit has made, or all, as the store keeps them. */
  transitions: readonly HistoryEntry[] = noTransitions
  /** What has changed and is not written yet; null: nothing. */
  change: RowChange | null = null

  constructor(job: JobToInsert, state: JobState, seq: number, enqueuedAt: number) {
    this.id = job.id
    this.type = job.type
    this.priority = job.priority
    this.key = job.key
    this.concurrencyKey = job.concurrencyKey
    this.seq = seq
    this.enqueuedAt = enqueuedAt
    this.stateIndex = stateIndexes.get(state) as number
    this.place = this.lastSeq = seq
    this.attempts = job.maxAttempts
    this.holdsKey = job.key !== null
    this.input = job.input
    const { tags, meta, pins, until, keyWeight, parent, version } = job
    const hasTags = !(Array.isArray(tags) && tags.length === 0)
    if (hasTags || meta !== undefined || pins !== undefined || until !== undefined || keyWeight !== undefined) {
      const rare = (this.rare = new RareFields())
      rare.tags = tags
      rare.meta = meta ?? null
      rare.pins = pins ?? null
      rare.until = until ?? null
      rare.keyWeight = keyWeight ?? null
    }
    if (parent !== undefined || version !== undefined || job.checkpoint !== undefined) {
      const machine = new JobMachine(parent ?? null)
      machine.version = version ?? null
      this.machineCell = machine
    }
  }

  get state(): JobState {
    return jobStates[this.stateIndex] as JobState
  }

  set state(state: JobState) {
    this.stateIndex = stateIndexes.get(state) as number
  }

  /** The rare fields, to be read. */
  get rarely(): Readonly<RareFields> {
    return this.rare ?? noRareFields
  }

  /** The rare fields, to be changed. */
  withRare(): RareFields {
    return (this.rare ??= new RareFields())
  }

  get isMachine(): boolean {
    return this.machineCell !== null
  }

  /** What it has of a machine, or of a parent; null of a plain job. */
  get machine(): JobMachine | null {
    const { machineCell } = this
    if (machineCell === null || machineCell instanceof JobMachine) return machineCell
    const machine = valueOf(machineCell)
    this.machineCell = machine
    return machine
  }

  /** The same, made if it has none. */
  withMachine(): JobMachine {
    const { machine } = this
    if (machine !== null) return machine
    const made = new JobMachine(null)
    this.machineCell = made
    return made
  }

  get isRemoved(): boolean {
    return this.change !== null && this.change.isRemoved
  }

  get checkpointedAttempts(): number {
    return this.machineCell === null ? 0 : (this.machine?.checkpointedAttempts ?? 0)
  }

  /** Those of a plain job stay 0. */
  set checkpointedAttempts(attempts: number) {
    const { machine } = this
    if (machine === null || machine.checkpointedAttempts === attempts) return
    machine.checkpointedAttempts = attempts
    if (this.change !== null) this.change.parts |= part.checkpoint
  }

  get maxAttempts(): number {
    return this.machineCell === null ? this.attempts : this.attempts + this.checkpointedAttempts
  }

  /** When its timed state ends, ms since the epoch; null = at an event only. */
  get dueAt(): number | null {
    return timed[this.stateIndex] === true ? this.wakeAt : null
  }

  get cancelMark(): CancelMark | null {
    return this.rare === null ? null : valueOf(this.rare.cancelMark)
  }

  get hasError(): boolean {
    return this.rare !== null && this.rare.error !== null
  }

  get onDead(): string | null {
    return this.rare === null ? null : this.rare.onDead
  }

  /** Was `maxAttempts` set at its enqueue? */
  get hasPinnedAttempts(): boolean {
    return this.rare !== null && this.rare.pins?.maxAttempts !== undefined
  }

  /** Does it give up its unique key at its claim? */
  get untilStart(): boolean {
    return this.rare !== null && this.rare.until === 'start'
  }

  get keyWeight(): number {
    return this.rare === null ? defaultKeyWeight : (this.rare.keyWeight ?? defaultKeyWeight)
  }

  /** When it made its last transition. */
  get movedAt(): number {
    return this.transitions.at(-1)?.at ?? this.enqueuedAt
  }

  isLeasedBy({ attempt, token }: { readonly attempt: number; readonly token: string }): boolean {
    return this.token === token && this.attempt === attempt && isLeased(this.state)
  }

  /**
   * The last settled attempt. Of most ended jobs the other fields tell it: the token is that of the settlement, and the
   * answer was this last transition, from running.
   */
  get settled(): Settled | null {
    const kept = this.rare === null ? null : valueOf(this.rare.settled)
    if (kept !== null || this.token === null || this.finishedAt === null) return kept
    const { attempt, token, lastSeq: seq, finishedAt: at, state: to } = this
    return {
      attempt,
      token,
      answer: { outcome: 'settled', seq, at, from: 'running', to, attempt, dueAt: null },
    }
  }
}
