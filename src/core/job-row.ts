/**
 * A job as the core works on it: plain fields, whatever the store keeps them in. Operations read it, a `Unit` changes
 * it, and a store writes what has changed.
 *
 * All rows have one shape, so that V8 compiles access to them once. What most jobs do not have is an object of its own,
 * created when it is needed.
 */
import { valueOf, type Cell } from './cell.ts'
import type { ErrorRecord } from './failure.ts'
import { isEnded, isLeased, jobStates, statesTagged, type JobState } from './lifecycle.ts'
import type { CheckpointEntry, Gather, InboxEntry, Parent, Unsupported } from './machine-record.ts'
import type { Json } from './payload.ts'
import type { AttemptError, CheckIn, HistoryEntry, JobMeta, LogLine } from './record.ts'
import { caps } from './caps.ts'
import { historyEntry, type LoggedArrow } from './history.ts'
import { defaultKeyWeight } from './shares.ts'
import type { JobPins, NewJob, SettleAnswer } from './values.ts'

/** A new job, its payloads perhaps packed. */
export type JobToInsert = Omit<NewJob, 'input' | 'tags' | 'meta' | 'checkpoint'> & {
  readonly input: Cell<Json | undefined>
  readonly tags: Cell<readonly string[]>
  readonly meta?: Cell<JobMeta>
  readonly checkpoint?: Cell<Json>
}

/** What a row takes from it beside its terms. */
export type InsertedJob = Pick<JobToInsert, 'id' | 'input' | 'parent' | 'version' | 'checkpoint'>

/** The last settled attempt of a job, and its answer. */
export interface Settled {
  readonly attempt: number
  readonly token: string
  readonly answer: SettleAnswer
}

const noNames: readonly string[] = Object.freeze([])
const noNumbers: readonly number[] = Object.freeze([])
const noErrors: readonly AttemptError[] = Object.freeze([])
const noLogs: readonly LogLine[] = Object.freeze([])

/** A time, shared by all that happened at it: a large number in a field is an object of its own in V8. */
export class Tick {
  readonly at: number

  constructor(at: number) {
    this.at = at
  }
}

/** What a job got at its enqueue. Jobs with equal terms may share one object. */
export class Terms {
  readonly type: string
  readonly priority: number
  readonly key: string | null
  readonly concurrencyKey: string | null
  readonly tags: Cell<readonly string[]>
  /** Attempts allowed: that of the enqueue, until a claim sets another number. */
  readonly attempts: number
  private readonly rare: RareTerms

  constructor(job: TermsOfJob) {
    this.type = job.type
    this.priority = job.priority
    this.key = job.key
    this.concurrencyKey = job.concurrencyKey
    this.tags = job.tags
    this.attempts = job.maxAttempts
    const { pins, until, meta = null, keyWeight } = job
    const isPlain = pins === undefined && until === undefined && meta === null && keyWeight === undefined
    this.rare = isPlain ? noRareTerms : { pins, until, meta, keyWeight }
  }

  get pins(): JobPins | undefined {
    return this.rare.pins
  }

  get until(): 'start' | undefined {
    return this.rare.until
  }

  get meta(): Cell<JobMeta | null> {
    return this.rare.meta
  }

  get keyWeight(): number {
    return this.rare.keyWeight ?? defaultKeyWeight
  }

  /** A copy with these changes. */
  with(changed: Partial<TermsOfJob>): Terms {
    const { type, priority, attempts: maxAttempts, key, concurrencyKey, tags } = this
    const { pins, until, meta, keyWeight } = this.rare
    const given = { ...(pins && { pins }), ...(until && { until }), ...(keyWeight !== undefined && { keyWeight }) }
    return new Terms({ type, priority, maxAttempts, key, concurrencyKey, tags, meta, ...given, ...changed })
  }

  /** Are they those of this job? */
  fit(job: JobToInsert): boolean {
    const { rare } = this
    return (
      this.type === job.type &&
      this.priority === job.priority &&
      this.attempts === job.maxAttempts &&
      this.tags === job.tags &&
      this.key === job.key &&
      this.concurrencyKey === job.concurrencyKey &&
      rare.pins === job.pins &&
      rare.until === job.until &&
      rare.keyWeight === job.keyWeight &&
      rare.meta === (job.meta ?? null)
    )
  }
}

type TermsOfJob = Pick<
  JobToInsert,
  'type' | 'priority' | 'maxAttempts' | 'pins' | 'tags' | 'key' | 'until' | 'concurrencyKey' | 'keyWeight'
> & { readonly meta?: Cell<JobMeta | null> }

/** Jobs with different keys do not share terms, and each field costs memory per job. */
interface RareTerms {
  readonly pins: JobPins | undefined
  readonly until: 'start' | undefined
  readonly meta: Cell<JobMeta | null>
  readonly keyWeight: number | undefined
}

const noRareTerms: RareTerms = { pins: undefined, until: undefined, meta: null, keyWeight: undefined }

/** A transition, and the one before it. */
export class RowTransition {
  readonly arrow: LoggedArrow
  readonly seq: number
  readonly tick: Tick
  readonly attempt: number
  readonly worker: string | null
  readonly reason: string | null
  before: RowTransition | null
  /** The number of transitions in the list, this one included. */
  private depth: number

  constructor(
    arrow: LoggedArrow,
    seq: number,
    tick: Tick,
    attempt: number,
    worker: string | null,
    reason: string | null,
    before: RowTransition | null,
  ) {
    this.arrow = arrow
    this.seq = seq
    this.tick = tick
    this.attempt = attempt
    this.worker = worker
    this.reason = reason
    this.before = before
    this.depth = before === null ? 1 : before.depth + 1
    if (this.depth >= 2 * caps.history) this.trim()
  }

  get at(): number {
    return this.tick.at
  }

  get entry(): HistoryEntry {
    return historyEntry(this.arrow, this.seq, this.tick.at, this.attempt, this.worker, this.reason)
  }

  /** Cuts the list at the cap. It is called when the list has twice that length: the cost per transition is small. */
  private trim(): void {
    let kept = 1
    for (let earlier = this.before; earlier !== null; earlier = earlier.before) {
      if (++kept === caps.history) earlier.before = null
    }
    this.depth = caps.history
  }
}

/** The last attempt. */
export class Run {
  token: string | null = null
  worker: string | null = null
  startedAt: Tick | null = null
  /** When the job has ended; null while it is live. */
  ended: Tick | null = null
  output: Cell<Json | undefined> = undefined
  /** The attempt before it that was settled last, and its answer, unless the fields of the row tell it. */
  settled: Cell<Settled | null> = null
}

/** Not frozen: it would have another shape than the others. */
const noRun: Readonly<Run> = new Run()

/** A cancel that was requested. */
export interface CancelMark {
  readonly reason: string | null
  /** How long a running handler may take to end, ms; null = the `grace` of the runtime that runs it. */
  readonly graceMs: number | null
}

/** What few jobs have: errors, logs, check-ins, a cancel. */
export class RareFields {
  /** Type of the job that is inserted if this one dies. */
  onDead: string | null = null
  cancelMark: Cell<CancelMark | null> = null
  checkin: Cell<CheckIn | null> = null
  logs: Cell<readonly LogLine[]> = noLogs
  /** The error of the last attempt, and the fingerprint of its group; null if it did not fail. */
  error: Cell<ErrorRecord | null> = null
  failure: string | null = null
  errors: Cell<readonly AttemptError[]> = noErrors
  hasGivenUpKey = false
  /** It waits for the end of the job that has given up its key, and is then due at this time, ms since the epoch. */
  dueAfter: number | null = null
}

const noRareFields: Readonly<RareFields> = new RareFields()

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
  states: readonly string[] = noNames
  tags: readonly string[] = noNames
  /** Numbers of the last message delivered, and of the last one read. */
  lastMessage = 0
  lastRead = 0
  /** Numbers of the events up to `lastRead` that no state has taken yet, ascending. They wake nobody. */
  deferred: readonly number[] = noNumbers
  /** How many messages it gathers before it is woken; null: each message wakes it. */
  gather: Gather | null = null
  /** Keys of the latest messages. */
  messageKeys: readonly string[] = noNames
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
  ended: Tick | null = null
  /** What it had of a machine; null: nothing, or it is not read yet. */
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
    this.ended = row.ended
    this.failure = row.rare === null ? null : row.rare.failure
    this.machine = !isNew && row.machineCell instanceof JobMachine ? new MachineWas(row.machineCell) : null
    this.parts = 0
    this.isRemoved = false
    this.added = null
  }

  get wasLeased(): boolean {
    return leased[this.stateIndex] === true
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
const leased = jobStates.map(isLeased)
const ended = jobStates.map(isEnded)

export class JobRow {
  readonly id: string
  terms: Terms
  /** Number and time of the ENQUEUE: the order of inserts. */
  readonly seq: number
  readonly came: Tick
  /** Index of its state in `jobStates`. */
  stateIndex: number
  /** Its place in its queue: the number of the transition that put it at the end. */
  place: number
  attempt = 0
  generation = 1
  /** Its due time, or the end of its lease, ms since the epoch; null = none. */
  wakeAt: number | null = null
  /** The number of its last transition. */
  lastSeq: number
  input: Cell<Json | undefined>
  run: Run | null = null
  rare: RareFields | null = null
  /** What it has of a machine; null of a plain job. */
  machineCell: Cell<JobMachine | null> = null
  /** Its last transition, and those before it: of the unit, or all, as the store keeps them. */
  last: RowTransition | null = null
  /** What has changed and is not written yet; null: nothing. */
  change: RowChange | null = null

  constructor(job: InsertedJob, terms: Terms, state: JobState, seq: number, came: Tick) {
    this.id = job.id
    this.terms = terms
    this.seq = seq
    this.came = came
    this.stateIndex = stateIndexes.get(state) as number
    this.place = this.lastSeq = seq
    this.input = job.input
    const { parent, version } = job
    if (parent !== undefined || version !== undefined || job.checkpoint !== undefined) {
      const machine = new JobMachine(parent ?? null)
      machine.version = version ?? null
      this.machineCell = machine
    }
  }

  get state(): JobState {
    return jobStates[this.stateIndex] as JobState
  }

  get isLeased(): boolean {
    return leased[this.stateIndex] === true
  }

  get isEnded(): boolean {
    return ended[this.stateIndex] === true
  }

  get type(): string {
    return this.terms.type
  }

  get priority(): number {
    return this.terms.priority
  }

  /** Its unique key, also after it has given it up. */
  get key(): string | null {
    return this.terms.key
  }

  /** A live job with a unique key holds it, unless it has given it up. */
  get holdsKey(): boolean {
    return this.terms.key !== null && !this.rarely.hasGivenUpKey && ended[this.stateIndex] !== true
  }

  get concurrencyKey(): string | null {
    return this.terms.concurrencyKey
  }

  get keyWeight(): number {
    return this.terms.keyWeight
  }

  get enqueuedAt(): number {
    return this.came.at
  }

  get startedAt(): number | null {
    return this.run === null || this.run.startedAt === null ? null : this.run.startedAt.at
  }

  get ended(): Tick | null {
    return this.run === null ? null : this.run.ended
  }

  get finishedAt(): number | null {
    return this.run === null || this.run.ended === null ? null : this.run.ended.at
  }

  /** The worker that holds its lease, or held the last one. */
  get worker(): string | null {
    return this.run === null ? null : this.run.worker
  }

  /** That of its lease; an ended job keeps that of the settlement that has ended it. */
  get token(): string | null {
    return this.run === null ? null : this.run.token
  }

  /** The last attempt, to be changed. */
  withRun(): Run {
    return (this.run ??= new Run())
  }

  /** The last attempt, to be read. */
  get lastRun(): Readonly<Run> {
    return this.run ?? noRun
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
    return this.machineCell === null ? null : this.readMachine()
  }

  private readMachine(): JobMachine | null {
    const { machineCell, change } = this
    if (machineCell instanceof JobMachine) return machineCell
    const machine = (this.machineCell = valueOf(machineCell))
    // Nobody can have changed what was not read.
    if (machine !== null && change !== null && change.stateIndex >= 0) change.machine = new MachineWas(machine)
    return machine
  }

  /** Is what it has of a machine in memory? Otherwise the store has it as it is. */
  get hasReadMachine(): boolean {
    return this.machineCell instanceof JobMachine
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
    return this.machineCell === null ? this.terms.attempts : this.terms.attempts + this.checkpointedAttempts
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
    return this.terms.pins?.maxAttempts !== undefined
  }

  /** Does it give up its unique key at its claim? */
  get untilStart(): boolean {
    return this.terms.until === 'start'
  }

  /** The state that its ENQUEUE put it into, as far as its transitions tell. */
  get birth(): JobState {
    let state = this.state
    for (let { last } = this; last !== null; last = last.before) state = last.arrow.from ?? state
    return state
  }

  /** When it made its last transition. */
  get movedAt(): number {
    return this.last === null ? this.came.at : this.last.tick.at
  }

  isLeasedBy({ attempt, token }: { readonly attempt: number; readonly token: string }): boolean {
    return this.attempt === attempt && leased[this.stateIndex] === true && this.token === token
  }

  /**
   * The last settled attempt. Of most ended jobs the other fields tell it: the token is that of the settlement, and the
   * answer was this last transition, from running.
   */
  get settled(): Settled | null {
    const { token, settled: cell } = this.lastRun
    const kept = valueOf(cell)
    if (kept !== null || token === null || this.ended === null) return kept
    const { attempt, lastSeq: seq, state: to } = this
    const { at } = this.ended
    return { attempt, token, answer: { outcome: 'settled', seq, at, from: 'running', to, attempt, dueAt: null } }
  }
}
