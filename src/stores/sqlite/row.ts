/** The row of a job in the file: its columns by name, JSON as text. */
import type { CancelMark } from '../../core/row-fields.ts'
import type { JobRow, LeaseKey } from '../../core/unit-of-work.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import { failureOf } from '../../core/fingerprint.ts'
import type { HistoryEntry } from '../../core/record.ts'
import { isLeased, type JobState } from '../../core/lifecycle.ts'
import type { Demand, JobPins, NewJob } from '../../core/values.ts'
import { defaultKeyWeight } from '../../core/shares.ts'
import type { RowValues } from './columns.ts'
import type { Machine } from './machine.ts'
import { never } from './state-names.ts'

/** What few jobs have: options of their enqueue, and the type of the job that is inserted if they die. */
export type StoredOptions = Pick<NewJob, 'until' | 'pins' | 'keyWeight'> & Pick<Demand, 'onDead'>

/**
 * Which parts of a row differ from the file, as bits. A claim and the end of a run change fewer columns than other
 * transitions; `data` is input, errors, check-in, logs and cancel; `checkpoint` is what a checkpoint changes of the
 * machine.
 */
export const changes = {
  claim: 1,
  end: 2,
  otherTransition: 4,
  data: 8,
  lease: 16,
  machine: 32,
  failure: 64,
  checkpointed: 128,
  checkpoint: 256,
} as const

/** For rows outside the engine. */
const noMachines = {
  load(row: Row): Machine {
    throw new TypeError(`job ${row.id}: its machine can be read by the engine only`)
  },
}

export class Row implements JobRow {
  readonly seq: number
  readonly id: string
  readonly queue: number
  state: JobState
  readonly priority: number
  place: number
  attempt: number
  /** The maximum, without the attempts that led to a checkpoint. */
  attempts: number
  generation: number
  dueAt: number | null
  leaseAt: number | null
  token: string | null
  worker: string | null
  readonly enqueuedAt: number
  startedAt: number | null
  finishedAt: number | null
  lastSeq: number
  readonly key: string | null
  heldKey: string | null
  readonly concurrencyKey: string | null
  input: string | null
  tags: string | null
  output: string | null
  error: string | null
  errors: string | null
  checkin: string | null
  logs: string | null
  cancel: string | null
  settled: string | null
  history: string
  /** Attempts that led to a checkpoint, and so do not count; null of a plain job. */
  checkpointed: number | null
  meta: string | null
  /** `StoredOptions` as JSON; null of most jobs. */
  options: string | null

  /** The parts that differ from the file: bits of `changes`. */
  unwritten = 0
  /** The entry of its last transition in this unit. */
  lastEntry: HistoryEntry | null = null
  readonly type: string
  private readonly machines: { load(row: Row): Machine }
  private loaded: Machine | null = null

  constructor(values: RowValues, type: string, machines: { load(row: Row): Machine } = noMachines) {
    this.type = type
    this.machines = machines
    this.seq = values[0]
    this.id = values[1]
    this.queue = values[2]
    this.state = values[3]
    this.priority = values[4]
    this.place = values[5]
    this.attempt = values[6]
    this.attempts = values[7]
    this.generation = values[8]
    this.dueAt = values[9] === never ? null : values[9]
    this.leaseAt = values[10]
    this.token = values[11]
    this.worker = values[12]
    this.enqueuedAt = values[13]
    this.startedAt = values[14]
    this.finishedAt = values[15]
    this.lastSeq = values[16]
    this.key = values[17]
    this.heldKey = values[18]
    this.concurrencyKey = values[19]
    this.input = values[20]
    this.tags = values[21]
    this.output = values[22]
    this.error = values[23]
    this.errors = values[24]
    this.checkin = values[25]
    this.logs = values[26]
    this.cancel = values[27]
    this.settled = values[28]
    this.history = values[29]
    this.checkpointed = values[30]
    this.meta = values[31]
    this.options = values[32]
  }

  get maxAttempts(): number {
    return this.checkpointed === null ? this.attempts : this.attempts + this.checkpointed
  }

  /** Its machine, read when it is first asked for. */
  get machine(): Machine | null {
    return this.checkpointed === null ? null : (this.loaded ??= this.machines.load(this))
  }

  get checkpointedAttempts(): number {
    return this.checkpointed ?? 0
  }

  set checkpointedAttempts(attempts: number) {
    if (this.checkpointed === attempts) return
    this.checkpointed = attempts
    this.unwritten |= changes.checkpointed
  }

  /** The fingerprint of its last error; null if there is none. */
  get failure(): string | null {
    return this.error === null ? null : failureOf(JSON.parse(this.error) as ErrorRecord).fingerprint
  }

  get hasError(): boolean {
    return this.error !== null
  }

  get cancelMark(): CancelMark | null {
    return unpacked<CancelMark | null>(this.cancel, null)
  }

  get untilStart(): boolean {
    return this.options !== null && unpacked<StoredOptions>(this.options, {}).until === 'start'
  }

  get pins(): JobPins | null {
    return unpacked<StoredOptions>(this.options, {}).pins ?? null
  }

  get keyWeight(): number {
    return keyWeightOf(this.options)
  }

  get onDead(): string | null {
    return this.options === null ? null : (unpacked<StoredOptions>(this.options, {}).onDead ?? null)
  }

  get hasPinnedAttempts(): boolean {
    return this.options !== null && this.pins?.maxAttempts !== undefined
  }

  isLeasedBy({ attempt, token }: LeaseKey): boolean {
    return isLeased(this.state) && this.token === token && this.attempt === attempt
  }

  /** The values as the driver would give them. */
  values(): RowValues {
    return [
      this.seq,
      this.id,
      this.queue,
      this.state,
      this.priority,
      this.place,
      this.attempt,
      this.attempts,
      this.generation,
      this.dueAt,
      this.leaseAt,
      this.token,
      this.worker,
      this.enqueuedAt,
      this.startedAt,
      this.finishedAt,
      this.lastSeq,
      this.key,
      this.heldKey,
      this.concurrencyKey,
      this.input,
      this.tags,
      this.output,
      this.error,
      this.errors,
      this.checkin,
      this.logs,
      this.cancel,
      this.settled,
      this.history,
      this.checkpointed,
      this.meta,
      this.options,
    ]
  }
}

/** What a claim weighs of a job with these options. */
export const keyWeightOf = (options: string | null): number =>
  unpacked<StoredOptions>(options, {}).keyWeight ?? defaultKeyWeight

/** JSON of a value; null for undefined. */
export const packed = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

/** The value of such a text, or `otherwise` for null. Its type follows from the column. */
export function unpacked<T>(text: string | null, otherwise: T): T {
  return text === null ? otherwise : (JSON.parse(text) as T)
}

/** Appends to a list with a maximum length: the oldest items are removed. */
export const extended = (text: string | null, more: readonly unknown[], cap: number): string =>
  JSON.stringify([...unpacked<unknown[]>(text, []), ...more].slice(-cap))
