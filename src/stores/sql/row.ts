/**
 * The row of a job as SQL databases have it: columns by name, JSON as text, which is parsed when it is read. Names of
 * columns are in `columns.ts`.
 */
import { jsonOf, Packed, type Cell, type Deferred } from '../../core/cell.ts'
import {
  JobRow,
  RareFields,
  Run,
  Terms,
  Tick,
  type JobMachine,
  type InsertedJob,
  type RowTransition,
} from '../../core/job-row.ts'
import { statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { Json } from '../../core/payload.ts'
import { defaultKeyWeight } from '../../core/shares.ts'
import type { NewJob } from '../../core/values.ts'
import type { RowValues } from './columns.ts'
import { born, historyUntil, withTransition, withWorkers } from './history.ts'
import { PackedSettled, settledText } from './settled.ts'

/** The due time of a job that waits for an event alone, so that one index has all timed jobs. */
export const never = Number.MAX_SAFE_INTEGER

/** What few jobs have: options of their enqueue, and the type of the job that is inserted if they die. */
export type StoredOptions = Pick<NewJob, 'until' | 'pins' | 'keyWeight'> & { readonly onDead?: string }

export interface StoredQueue {
  readonly number: number
  readonly type: string
  /** Those of its jobs that had nothing but a priority and a number of attempts: equal ones share them. */
  terms: Terms | null
}

/** The terms of a job without a key, tags, meta and options. */
export function plainTerms(queue: StoredQueue, priority: number, maxAttempts: number): Terms {
  const { terms, type } = queue
  if (terms !== null && terms.priority === priority && terms.attempts === maxAttempts) return terms
  return (queue.terms = new Terms({ type, priority, maxAttempts, key: null, concurrencyKey: null, tags: noTags }))
}

const timed = statesTagged('timed')

export const noTags: readonly string[] = Object.freeze([])

export class Row<Queue extends StoredQueue = StoredQueue> extends JobRow {
  readonly queue: Queue
  /** Its tags as the database has them, as JSON; null = none. */
  storedTags: string | null = null
  /** The same of the attempts that led to a checkpoint; null of a plain job. */
  storedCheckpointed: number | null = null
  private text: string
  /** The number of the last transition in the text. */
  private textSeq: number

  constructor(
    job: InsertedJob,
    terms: Terms,
    state: JobState,
    seq: number,
    came: Tick,
    queue: Queue,
    history = born(state),
    lastSeq = seq,
  ) {
    super(job, terms, state, seq, came)
    this.queue = queue
    this.text = history
    this.textSeq = this.lastSeq = lastSeq
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

/** A cell of a column with JSON; `otherwise` of one without a value. */
const cellOf = <T>(text: string | null, otherwise: T): Cell<T> => (text === null ? otherwise : new Packed<T>(text))

/**
 * The row of a job that was read.
 * @param machineOf what it has of a machine, which is read when it is first asked for
 */
export function rowOf<Queue extends StoredQueue>(
  values: RowValues,
  queue: Queue,
  machineOf: (row: Row<Queue>) => Deferred<JobMachine | null>,
): Row<Queue> {
  const options = values[32] === null ? null : (JSON.parse(values[32]) as StoredOptions)
  const isPlain = values[17] === null && values[19] === null && values[21] === null && values[31] === null
  const terms = isPlain && options === null ? plainTerms(queue, values[4], values[7]) : termsOf(values, queue, options)
  const job = { id: values[1], input: cellOf<Json | undefined>(values[20], undefined) }
  const row = new Row(job, terms, values[3], values[0], new Tick(values[13]), queue, values[29], values[16])
  row.place = values[5]
  row.attempt = values[6]
  row.generation = values[8]
  row.wakeAt = values[10] ?? (values[9] === never ? null : values[9])
  row.storedTags = values[21]
  row.storedCheckpointed = values[30]
  if (values[12] !== null || values[15] !== null || values[11] !== null) row.run = runOf(values)
  if (values[30] !== null) row.machineCell = machineOf(row)
  const hasGivenUpKey = values[17] !== null && values[18] === null && values[15] === null
  const onDead = options?.onDead ?? null
  const hasNews = values[23] !== null || values[24] !== null || values[25] !== null || values[26] !== null
  if (hasNews || hasGivenUpKey || onDead !== null || values[27] !== null || values[34] !== null) {
    row.rare = rareOf(values, hasGivenUpKey, onDead)
  }
  return row
}

const termsOf = (values: RowValues, { type }: StoredQueue, options: StoredOptions | null): Terms =>
  new Terms({
    type,
    priority: values[4],
    maxAttempts: values[7],
    key: values[17],
    concurrencyKey: values[19],
    tags: cellOf(values[21], noTags),
    meta: cellOf(values[31], null),
    ...options,
  })

function runOf(values: RowValues): Run {
  const run = new Run()
  run.token = values[11]
  run.worker = values[12]
  if (values[14] !== null) run.startedAt = new Tick(values[14])
  if (values[15] !== null) run.ended = new Tick(values[15])
  run.output = cellOf<Json | undefined>(values[22], undefined)
  if (values[28] !== null) run.settled = new PackedSettled(values[28])
  return run
}

function rareOf(values: RowValues, hasGivenUpKey: boolean, onDead: string | null): RareFields {
  const rare = new RareFields()
  rare.onDead = onDead
  rare.error = cellOf(values[23], null)
  rare.failure = values[33]
  if (values[24] !== null) rare.errors = new Packed(values[24])
  rare.checkin = cellOf(values[25], null)
  if (values[26] !== null) rare.logs = new Packed(values[26])
  rare.cancelMark = cellOf(values[27], null)
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

export const leaseColumn = (row: JobRow): number | null => (row.isLeased ? row.wakeAt : null)

export const heldKeyColumn = (row: JobRow): string | null => (row.holdsKey ? row.key : null)

/** What a claim weighs of a job with these options. */
export const keyWeightOf = (options: string | null): number =>
  options === null ? defaultKeyWeight : ((JSON.parse(options) as StoredOptions).keyWeight ?? defaultKeyWeight)

/** The columns of a row that may be changed and not written yet. */
export function valuesOf(row: Row): RowValues {
  const { terms, lastRun: run, rarely: rare } = row
  return [
    row.seq,
    row.id,
    row.queue.number,
    row.state,
    row.priority,
    row.place,
    row.attempt,
    terms.attempts,
    row.generation,
    dueColumn(row),
    leaseColumn(row),
    run.token,
    run.worker,
    row.enqueuedAt,
    row.startedAt,
    row.finishedAt,
    row.lastSeq,
    row.key,
    heldKeyColumn(row),
    row.concurrencyKey,
    jsonOf(row.input),
    textOrNull(terms.tags),
    jsonOf(run.output),
    textOrNull(rare.error),
    textOrNull(rare.errors),
    textOrNull(rare.checkin),
    textOrNull(rare.logs),
    textOrNull(rare.cancelMark),
    settledText(run.settled),
    row.history,
    row.isMachine ? row.checkpointedAttempts : null,
    textOrNull(terms.meta),
    optionsText(row),
    rare.failure,
    rare.dueAfter,
  ]
}
