/**
 * The row of a job as the file has it: JSON as text, which is parsed when it is read. Its columns are in `columns.ts`.
 */
import { jsonOf, Packed, type Cell } from '../../core/cell.ts'
import {
  JobRow,
  RareFields,
  Run,
  Terms,
  Tick,
  type JobMachine,
  RowTransition,
  type InsertedJob,
} from '../../core/job-row.ts'
import { changeCounters, compiledArrow } from '../../core/compiled-arrows.ts'
import { statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { Json } from '../../core/payload.ts'
import { defaultKeyWeight } from '../../core/shares.ts'
import type { NewJob } from '../../core/values.ts'
import { never, type RowValues } from './columns.ts'
import { born, historyUntil, plainHistory, withTransition, withWorkers } from './history.ts'
import type { Queue } from './queue.ts'
import { PackedSettled } from './settled.ts'
import { claimable } from './state-names.ts'

/** What few jobs have: options of their enqueue, and the type of the job that is inserted if they die. */
export type StoredOptions = Pick<NewJob, 'until' | 'pins' | 'keyWeight'> & { readonly onDead?: string }

/** The terms of a job without a key, tags, meta and options. */
export function plainTerms(queue: Queue, priority: number, maxAttempts: number): Terms {
  const { terms, type } = queue
  if (terms !== null && terms.priority === priority && terms.attempts === maxAttempts) return terms
  return (queue.terms = new Terms({ type, priority, maxAttempts, key: null, concurrencyKey: null, tags: noTags }))
}

const timed = statesTagged('timed')

export const noTags: readonly string[] = Object.freeze([])

export class Row extends JobRow {
  readonly queue: Queue
  /** Its tags as the file has them, as JSON; null = none. */
  storedTags: string | null = null
  /** The same of its meta. */
  storedMeta: string | null = null
  /** The same of the attempts that led to a checkpoint; null of a plain job. */
  storedCheckpointed: number | null = null
  /** Has the file a row of what has become of it? */
  hasLife = false
  /** The place at which the file has it among the jobs that wait; null: not there. */
  waitsAt: number | null = null
  private text: string
  /** The number of the last transition in the text. */
  private textSeq: number

  constructor(job: InsertedJob, terms: Terms, state: JobState, seq: number, came: Tick, queue: Queue) {
    super(job, terms, state, seq, came)
    this.queue = queue
    this.text = born(state)
    this.textSeq = seq
  }

  /** Its history as it was read, up to its last transition. */
  setHistory(text: string): void {
    this.text = text
    this.textSeq = this.lastSeq
  }

  /** Its history as text, up to its last transition. */
  get history(): string {
    const until = this.change?.added?.historyUntil ?? null
    if (until !== null && this.textSeq > until && !this.hasInTransaction(this.textSeq)) {
      this.text = historyUntil(this, this.text, until)
      this.textSeq = until
    }
    const { last } = this
    if (last !== null && last.seq > this.textSeq) this.append(last)
    return this.text
  }

  /** Was the transition of this number made in this transaction, and not removed since? */
  private hasInTransaction(seq: number): boolean {
    let { last } = this
    while (last !== null && last.seq > seq) last = last.before
    return last?.seq === seq
  }

  private append(transition: RowTransition): void {
    const { before } = transition
    if (before !== null && before.seq > this.textSeq) this.append(before)
    this.text = withTransition(this, this.text, transition)
    this.textSeq = transition.seq
  }

  /** Another worker is about to claim it: the text names the earlier ones, because the row keeps the last one only. */
  nameWorkers(): void {
    if (this.worker !== null) this.text = withWorkers(this, this.history)
  }
}

/** What an open claim tells of one of its jobs. */
export interface Lease {
  /** The number of its CLAIM. */
  readonly seq: number
  readonly tick: Tick
  readonly token: string
  readonly worker: string
  /** Ms since the epoch. */
  readonly leaseAt: number
}

/** A cell of a column with JSON; `otherwise` of one without a value. */
const cellOf = <T>(text: string | null, otherwise: T): Cell<T> => (text === null ? otherwise : new Packed<T>(text))

/**
 * The row of a job that was read.
 * @param machineOf what it has of a machine, which is read when it is first asked for
 * @param lease that of the open claim that has it
 */
export function rowOf(
  values: RowValues,
  queue: Queue,
  machineOf: (row: Row) => Cell<JobMachine | null>,
  lease?: Lease,
): Row {
  const options = values[11] === null ? null : (JSON.parse(values[11]) as StoredOptions)
  const isPlain = values[7] === null && values[8] === null && values[9] === null && values[10] === null
  const terms = isPlain && options === null ? plainTerms(queue, values[3], values[4]) : termsOf(values, queue, options)
  const job = { id: values[1], input: cellOf<Json | undefined>(values[6], undefined) }
  const row = new Row(job, terms, values[12] ?? claimable, values[0], new Tick(values[5]), queue)
  row.storedTags = values[9]
  row.storedMeta = values[10]
  if (values[12] !== null) readLife(row, values, machineOf)
  const onDead = options?.onDead ?? null
  if (onDead !== null) row.withRare().onDead = onDead
  if (lease !== undefined) takeLease(row, lease)
  if (row.state === claimable) row.waitsAt = row.place
  return row
}

function readLife(row: Row, values: RowValues, machineOf: (row: Row) => Cell<JobMachine | null>): void {
  row.hasLife = true
  row.place = values[13] ?? row.seq
  row.attempt = values[14] ?? 1
  row.generation = values[15] ?? 1
  row.wakeAt = values[16] === never ? null : values[16]
  row.lastSeq = values[22] ?? row.seq
  if (values[19] !== null || values[21] !== null || values[18] !== null) row.run = runOf(values)
  row.setHistory(values[31] ?? plainHistoryOf(row, values))
  if (values[32] !== null) {
    row.storedCheckpointed = values[32]
    row.machineCell = machineOf(row)
  }
  const hasGivenUpKey = values[7] !== null && values[23] === null && values[21] === null
  const hasNews = values[25] !== null || values[26] !== null || values[27] !== null || values[28] !== null
  if (hasNews || hasGivenUpKey || values[29] !== null || values[34] !== null) row.rare = rareOf(values, hasGivenUpKey)
}

const plainHistoryOf = (row: Row, values: RowValues): string =>
  plainHistory(
    row,
    { seq: values[17] ?? row.seq, at: values[20] ?? row.enqueuedAt },
    { seq: row.lastSeq, at: values[21] ?? row.enqueuedAt },
  )

/** A job of an open claim is leased by it. Unless its own row says so, it has made its CLAIM since that was written. */
export function takeLease(row: Row, { seq, tick, token, worker, leaseAt }: Lease): void {
  if (row.isEnded) return
  if (!row.isLeased) {
    const arrow = compiledArrow(row.state, 'CLAIM', row)
    if (arrow === null) return
    if (row.worker !== worker) row.nameWorkers()
    changeCounters(row, arrow)
    row.last = new RowTransition(arrow, seq, tick, row.attempt, worker, null, null)
    row.stateIndex = arrow.toIndex
    row.lastSeq = seq
    const run = row.withRun()
    run.worker = worker
    run.token = token
    run.startedAt = tick
    if (row.rare !== null) row.rare.dueAfter = null
  }
  row.wakeAt = leaseAt
}

const termsOf = (values: RowValues, { type }: Queue, options: StoredOptions | null): Terms =>
  new Terms({
    type,
    priority: values[3],
    maxAttempts: values[4],
    key: values[7],
    concurrencyKey: values[8],
    tags: cellOf(values[9], noTags),
    meta: cellOf(values[10], null),
    ...options,
  })

function runOf(values: RowValues): Run {
  const run = new Run()
  run.token = values[18]
  run.worker = values[19]
  if (values[20] !== null) run.startedAt = new Tick(values[20])
  if (values[21] !== null) run.ended = new Tick(values[21])
  run.output = cellOf<Json | undefined>(values[24], undefined)
  if (values[30] !== null) run.settled = new PackedSettled(values[30])
  return run
}

function rareOf(values: RowValues, hasGivenUpKey: boolean): RareFields {
  const rare = new RareFields()
  rare.error = cellOf(values[25], null)
  rare.failure = values[33]
  if (values[26] !== null) rare.errors = new Packed(values[26])
  rare.checkin = cellOf(values[27], null)
  if (values[28] !== null) rare.logs = new Packed(values[28])
  rare.cancelMark = cellOf(values[29], null)
  rare.hasGivenUpKey = hasGivenUpKey
  rare.dueAfter = values[34]
  return rare
}

// ── columns of a row ───────────────────────────────────────────────────────────────────────────────────────────────

/** JSON of a list or an object; null for one without members. */
export const textOrNull = (cell: Cell<object | null>): string | null => {
  if (cell === null || cell === noTags) return null
  if (cell instanceof Packed) return cell.json
  return Array.isArray(cell) && cell.length === 0 ? null : jsonOf(cell)
}

/** The options as they are stored; null if there are none. */
export function optionsText({ terms, onDead }: JobRow): string | null {
  const { until, pins } = terms
  const keyWeight = terms.keyWeight === defaultKeyWeight ? undefined : terms.keyWeight
  if (until === undefined && pins === undefined && keyWeight === undefined && onDead === null) return null
  return JSON.stringify({ until, pins, keyWeight, onDead: onDead ?? undefined })
}

/** What the column of due times has; null in a state that is not timed. */
export const dueColumn = (row: JobRow): number | null => (timed.has(row.state) ? (row.wakeAt ?? never) : null)

export const heldKeyColumn = (row: JobRow): string | null => (row.holdsKey ? row.key : null)

/** The key that a live job has given up. */
export const leftKeyColumn = (row: JobRow): string | null => (row.holdsKey || row.isEnded ? null : row.key)

/** What a claim weighs of a job with these options. */
export const keyWeightOf = (options: string | null): number =>
  options === null ? defaultKeyWeight : ((JSON.parse(options) as StoredOptions).keyWeight ?? defaultKeyWeight)
