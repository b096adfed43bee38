/**
 * A job as the memory store keeps it. Every row has the same shape, so that V8 compiles access to it once; what most
 * waiting jobs do not have (a run, a past, a machine) is an object of its own, created when it is needed.
 */
import { caps } from '../../core/caps.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import type { AttemptError, CheckIn, LogLine } from '../../core/record.ts'
import type { Arrow, JobState } from '../../core/lifecycle.ts'
import type { Json } from '../../core/payload.ts'
import type { CancelMark } from '../../core/row-fields.ts'
import type { JobRow, LeaseKey } from '../../core/unit-of-work.ts'
import { defaultKeyWeight } from '../../core/shares.ts'
import type { WrittenTransition, NewJob } from '../../store.ts'
import { Machine } from './machine.ts'
import type { Phase } from './phases.ts'
import type { Queue, QueuedJob } from './queue.ts'
import type { Terms } from './terms.ts'

/** A time, shared by all that happened at it: a large number in a field is an object of its own in V8, one per row. */
export class Tick {
  readonly at: number

  constructor(at: number) {
    this.at = at
  }
}

/** One transition of a job, linked to the one before it. The ENQUEUE has none: the row has all of its fields. */
export class StoredTransition {
  readonly arrow: Arrow
  readonly seq: number
  readonly tick: Tick
  readonly attempt: number
  readonly worker: string | null
  readonly reason: string | null
  before: StoredTransition | null
  /** The number of transitions in the list, this one included. */
  depth: number

  constructor(arrow: Arrow, row: Row, seq: number, tick: Tick, worker: string | null, reason: string | null) {
    this.arrow = arrow
    this.seq = seq
    this.tick = tick
    this.attempt = row.attempt
    this.worker = worker
    this.reason = reason
    this.before = row.last
    this.depth = row.last === null ? 1 : row.last.depth + 1
  }

  get at(): number {
    return this.tick.at
  }

  get from(): JobState {
    return this.arrow.from
  }

  get to(): JobState {
    return this.arrow.to
  }

  /** Cuts the list at the cap. It is called when the list has twice that length: the cost per transition is small. */
  trim(): void {
    let kept = 1
    for (let earlier = this.before; earlier !== null; earlier = earlier.before) {
      if (++kept === caps.history) earlier.before = null
    }
    this.depth = caps.history
  }
}

/** One attempt. The row keeps it after its end. */
export class Run {
  readonly token: string
  readonly claim: StoredTransition
  /** The transition that ended it, and the due time that it set: a repeated settlement gets the same answer. */
  end: StoredTransition | null = null
  dueAt: number | null = null
  output: Json | undefined = undefined
  /** The last attempt before this one that was settled, until this one is. */
  settled: Run | null

  constructor(token: string, claim: StoredTransition, settled: Run | null) {
    this.token = token
    this.claim = claim
    this.settled = settled
  }
}

/** What few jobs have: errors, logs, check-ins, steps, a cancel. */
export class Past {
  error: ErrorRecord | null = null
  /** The fingerprint of `error`. */
  failure: string | null = null
  errors: readonly AttemptError[] = []
  logs: readonly LogLine[] = []
  checkin: CheckIn | null = null
  /** Results of finished steps, by name. */
  steps: Map<string, Json> | null = null
  cancel: CancelMark | null = null
  /** The type of the job that is inserted if this one dies. */
  onDead: string | null = null
  /** The transitions of other jobs in the last settlement: a repeated settlement gets the same answer. */
  successor: WrittenTransition | null = null
  hook: WrittenTransition | null = null
}

export class Row implements JobRow, QueuedJob<Row> {
  readonly id: string
  readonly queue: Queue<Row>
  terms: Terms
  input: Json | undefined
  attempt = 0
  generation = 1
  phase: Phase
  /** seq and time of the ENQUEUE. */
  readonly seq: number
  readonly came: Tick
  /** Its place in its queue: the seq of the transition that put it at the end. */
  place: number
  /** Its due time, or the end of its lease: it is among the timers or in the heap of leases at most. */
  wakeAt: number | null = null
  heapIndex = -1
  /** The hash of its id, for the row table. */
  hash = 0
  /** Its neighbours in a linked list: that of its queue, or of the leased or ended rows. */
  prev: Row | null = null
  next: Row | null = null
  run: Run | null = null
  last: StoredTransition | null = null
  past: Past | null = null
  machine: Machine | null = null

  constructor(job: NewJob, queue: Queue<Row>, terms: Terms, phase: Phase, seq: number, came: Tick) {
    this.id = job.id
    this.queue = queue
    this.terms = terms
    this.input = job.input
    this.phase = phase
    this.seq = seq
    this.came = came
    this.place = seq
  }

  get type(): string {
    return this.queue.type
  }

  get state(): JobState {
    return this.phase.name
  }

  get checkpointedAttempts(): number {
    return this.machine === null ? 0 : this.machine.checkpointedAttempts
  }

  set checkpointedAttempts(attempts: number) {
    if (this.machine !== null) this.machine.checkpointedAttempts = attempts
  }

  get startedAt(): number | null {
    return this.run === null ? null : this.run.claim.tick.at
  }

  get worker(): string | null {
    return this.run === null ? null : this.run.claim.worker
  }

  get endedAt(): number {
    return this.last === null ? 0 : this.last.tick.at
  }

  /** When it made its last transition. */
  get movedAt(): number {
    return this.last === null ? this.came.at : this.last.tick.at
  }

  get endedBy(): number {
    return this.last === null ? 0 : this.last.seq
  }

  get cancelMark(): CancelMark | null {
    return this.past === null ? null : this.past.cancel
  }

  get hasError(): boolean {
    return this.past !== null && this.past.error !== null
  }

  get onDead(): string | null {
    return this.past === null ? null : this.past.onDead
  }

  isLeasedBy({ attempt, token }: LeaseKey): boolean {
    const { run } = this
    return this.phase.leased && run !== null && run.token === token && run.claim.attempt === attempt
  }

  get priority(): number {
    return this.terms.priority
  }

  get maxAttempts(): number {
    return this.machine === null ? this.terms.maxAttempts : this.terms.maxAttempts + this.machine.checkpointedAttempts
  }

  /** The unique key it holds or held. */
  get key(): string | null {
    return this.terms.key
  }

  get hasPinnedAttempts(): boolean {
    return this.terms.pins?.maxAttempts !== undefined
  }

  get untilStart(): boolean {
    return this.terms.until === 'start'
  }

  get concurrencyKey(): string | null {
    return this.terms.concurrencyKey
  }

  get keyWeight(): number {
    return this.terms.keyWeight ?? defaultKeyWeight
  }

  get dueAt(): number | null {
    return this.phase.timed ? this.wakeAt : null
  }

  /** The last attempt that was settled. */
  get settled(): Run | null {
    return this.run === null || this.run.end !== null ? this.run : this.run.settled
  }

  /**
   * Drops the references to its other objects. A removed row may stay in memory long before the garbage collector frees
   * it, and would keep everything alive that it refers to.
   */
  forget(): void {
    this.run = null
    this.last = null
    this.past = null
    this.machine = null
  }

  /** Removes from its history the transitions after this number. */
  forgetTransitionsAfter(seq: number): void {
    while (this.last !== null && this.last.seq > seq) this.last = this.last.before
  }

  /** Its past, created if it has none. */
  remember(): Past {
    return (this.past ??= new Past())
  }

  /** Its machine, created if it has none. */
  withMachine(): Machine {
    return (this.machine ??= new Machine(null))
  }
}

/** Appends to a list with a maximum length: the oldest items are removed. */
export function keep<T>(list: T[], added: readonly T[], max: number): void {
  list.push(...added)
  if (list.length > max) list.splice(0, list.length - max)
}
