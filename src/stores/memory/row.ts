/**
 * A job as the memory store keeps it. Every row has the same shape, so that the engine compiles access to it once; what
 * most waiting jobs do not have yet (a run, a past) hangs on it when it comes to be.
 */
import { caps } from '../../core/caps.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import type { AttemptError, CheckIn, LogLine } from '../../core/record.ts'
import type { Arrow, ArrowEvent, JobState } from '../../core/lifecycle.ts'
import type { Json } from '../../core/payload.ts'
import type { CancelMark, JobRow, LeaseKey } from '../../core/unit-of-work.ts'
import { defaultKeyWeight } from '../../core/shares.ts'
import type { Move, NewJob } from '../../store.ts'
import { Machine } from './machine.ts'
import type { Phase } from './phases.ts'
import type { Queue, QueuedJob } from './queue.ts'
import type { Terms } from './terms.ts'

/** An arrow of the chart, the enqueue, or a checkpoint. */
export interface TransitionArrow {
  readonly event: ArrowEvent | 'ENQUEUE' | 'CHECKPOINT'
  readonly from: JobState | null
  readonly to: JobState
}

/** A time, shared by all that happened at it: as a field of its own it would be an object of its own in every row. */
export class Tick {
  readonly at: number

  constructor(at: number) {
    this.at = at
  }
}

/** One move of a job, linked to the one before it. The enqueue has none: the row itself knows all about it. */
export class LoggedStep {
  readonly arrow: Arrow
  readonly seq: number
  readonly tick: Tick
  readonly attempt: number
  readonly worker: string | null
  readonly reason: string | null
  before: LoggedStep | null
  /** Steps down to the oldest kept, this one included. */
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

  /** Cuts the chain at the cap. Done only when it has grown to twice that, it costs next to nothing per step. */
  trim(): void {
    let kept = 1
    for (let step = this.before; step !== null; step = step.before) {
      if (++kept === caps.history) step.before = null
    }
    this.depth = caps.history
  }
}

/** One attempt in the hands of a worker. It stays with the row when it is over. */
export class Run {
  readonly token: string
  readonly claim: LoggedStep
  /** How it was settled, and what was due then: enough to give the same answer again. */
  end: LoggedStep | null = null
  dueAt: number | null = null
  output: Json | undefined = undefined
  /** The last attempt before this one that was settled, until this one is. */
  settled: Run | null

  constructor(token: string, claim: LoggedStep, settled: Run | null) {
    this.token = token
    this.claim = claim
    this.settled = settled
  }
}

/** What few jobs have. */
export class Past {
  error: ErrorRecord | null = null
  errors: AttemptError[] = []
  logs: LogLine[] = []
  checkin: CheckIn | null = null
  /** Results of finished steps, by name. */
  steps: Map<string, Json> | null = null
  cancel: CancelMark | null = null
  /** What the last settlement let go on, for whoever settles again. */
  successor: Move | null = null
}

export class Row implements JobRow, QueuedJob<Row> {
  readonly id: string
  readonly queue: Queue<Row>
  terms: Terms
  input: Json | undefined
  attempt = 0
  generation = 1
  phase: Phase
  /** seq and time of the ENQUEUE: the order in which jobs came. */
  readonly seq: number
  readonly came: Tick
  /** Its place in its queue: the seq of the move that put it at the end. */
  place: number
  /** When it falls due, or its lease runs out; it is in one heap of the two at most. */
  wakeAt: number | null = null
  heapIndex = -1
  /** Of its id; the register's. */
  hash = 0
  /** Its neighbours in its queue, or among the ended. */
  prev: Row | null = null
  next: Row | null = null
  run: Run | null = null
  last: LoggedStep | null = null
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

  get endedBy(): number {
    return this.last === null ? 0 : this.last.seq
  }

  get cancelMark(): CancelMark | null {
    return this.past === null ? null : this.past.cancel
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
   * Lets go of what hangs on it. A removed row may be garbage for long before the collector comes to it, and would keep
   * alive, and have copied, everything it still points to.
   */
  forget(): void {
    this.run = null
    this.last = null
    this.past = null
    this.machine = null
  }

  /** Leaves out of its history the steps after the one of this number. */
  forgetSteps(seq: number): void {
    while (this.last !== null && this.last.seq > seq) this.last = this.last.before
  }

  /** Its past, to be written to. */
  remember(): Past {
    return (this.past ??= new Past())
  }

  /** Its machine, to be written to. */
  withMachine(): Machine {
    return (this.machine ??= new Machine(null))
  }
}

/** Appends to a list of which the oldest go first. */
export function keep<T>(list: T[], added: readonly T[], max: number): void {
  list.push(...added)
  if (list.length > max) list.splice(0, list.length - max)
}
