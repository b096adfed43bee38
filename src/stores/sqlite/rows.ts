/** Finds rows for operations. What the transaction has changed is written before a query that depends on it. */
import { handOverRoom } from '../../core/hand-over.ts'
import { Terms, type JobToInsert, type Tick } from '../../core/job-row.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { InboxEntry } from '../../core/machine-record.ts'
import type { Source } from '../../core/source.ts'
import type { SelectedRows, Selection } from '../../core/source.ts'
import type { Claims } from './claims.ts'
import { noKey, type RowValues } from './columns.ts'
import type { Ends } from './ends.ts'
import type { Machines } from './machines.ts'
import type { Minutes } from './minutes.ts'
import type { Queue } from './queue.ts'
import type { Queues } from './queues.ts'
import { inboxOf } from './record.ts'
import { noTags, plainTerms, Row, rowOf } from './row.ts'
import type { RowCache } from './row-cache.ts'
import { select } from './search.ts'
import { workerSlots } from './slots.ts'
import type { Statements } from './statements.ts'
import { claimable } from './state-names.ts'
import { frontOf, type Waiting } from './waiting.ts'
import { addRow } from './write-row.ts'
import type { Writer } from './writer.ts'

interface Tables {
  readonly sql: Statements
  readonly queues: Queues
  readonly machines: Machines
  readonly minutes: Minutes
  readonly cache: RowCache
  readonly claims: Claims
  readonly waiting: Waiting
  readonly ends: Ends
  readonly writer: Writer
  flush(): void
}

export class Rows implements Source<Row> {
  readonly sql: Statements
  readonly queues: Queues
  readonly minutes: Minutes
  readonly cache: RowCache
  private readonly machines: Machines
  private readonly claims: Claims
  private readonly waiting: Waiting
  private readonly writer: Writer
  private readonly file: Tables
  now = 0
  /** The number of the last transition. */
  private readonly lastSeq: () => number
  /** Does any job of the file have a parent? null = not known in this transaction. */
  private hasChildren: boolean | null = null

  constructor(file: Tables, lastSeq: () => number) {
    const { sql, queues, machines, minutes, cache, claims, waiting, writer } = file
    this.file = file
    this.sql = sql
    this.queues = queues
    this.machines = machines
    this.minutes = minutes
    this.cache = cache
    this.claims = claims
    this.waiting = waiting
    this.writer = writer
    this.lastSeq = lastSeq
  }

  begin(now: number): void {
    this.now = now
    this.hasChildren = null
  }

  /** Writes what the transaction has changed. */
  write(): void {
    this.writer.write()
  }

  /** Writes also where it is found. */
  flush(): void {
    this.file.flush()
  }

  // ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

  find(id: string): Row | undefined {
    const known = this.cache.get(id)
    if (known !== undefined) return known.isRemoved ? undefined : known
    // New rows are not remembered: most are not asked for before the transaction ends.
    this.writer.writeNew()
    const values = this.sql.get('byId', id)
    return values === undefined ? undefined : this.from(values)
  }

  findLeased(id: string): Row | undefined {
    return this.find(id)
  }

  /** The row of a job that has been read. */
  from(values: RowValues): Row {
    const known = this.cache.get(values[1])
    if (known !== undefined) return known
    const row = this.partOf(values)
    this.cache.add(row)
    return row
  }

  /** A row of which some columns alone were read. It is not remembered, and must not be changed. */
  partOf(values: RowValues): Row {
    const [seq] = values
    this.cache.meet(seq)
    // An ended job has no lease.
    const lease = values[12] === null || values[21] === null ? this.claims.of(seq) : undefined
    return rowOf(values, this.queues.at(values[2]), this.machines.of, lease)
  }

  private found(rows: readonly RowValues[]): Row[] {
    return rows.map((values) => this.from(values))
  }

  findAll(ids: readonly string[]): readonly Row[] {
    return ids.flatMap((id) => this.find(id) ?? [])
  }

  existing(ids: readonly string[]): ReadonlyMap<string, string> {
    this.write()
    const found = this.sql.all('existing', JSON.stringify(ids))
    return new Map(found.map(([id, queue]) => [id, this.queues.at(queue).type]))
  }

  holder(type: string, key: string): Row | undefined {
    const queue = this.queues.known(type)
    if (queue === undefined) return undefined
    this.write()
    const values = this.sql.get('holder', queue.number, key)
    return values === undefined ? undefined : this.from(values)
  }

  hasPredecessor(type: string, key: string): boolean {
    const queue = this.queues.known(type)
    if (queue === undefined) return false
    this.write()
    // Most files have no such job: then no key is queried.
    this.writer.hasLeaving ??= this.sql.get('anyPredecessor') !== undefined
    return this.writer.hasLeaving && this.sql.get('predecessor', queue.number, key) !== undefined
  }

  /** The first jobs of a queue that have this concurrency key, or none. */
  ready(queue: Queue, key: string | null, limit: number): RowValues[] {
    this.write()
    this.waiting.write()
    const all = this.sql.all('ready', queue.number, key ?? noKey, ...frontOf(queue, key), limit)
    // Most have nothing but their enqueue: of the others the rest is read.
    const others = all.flatMap((values) => (values[12] === null ? [] : values[0]))
    if (others.length === 0) return all
    const whole = new Map(this.sql.all('bySeqs', JSON.stringify(others)).map((values) => [values[0], values]))
    return all.map((values) => whole.get(values[0]) ?? values)
  }

  select(selection: Selection, states: ReadonlySet<JobState>): SelectedRows<Row> {
    return select(this, selection, this.lastSeq(), (state) => states.has(state))
  }

  children({ id }: Row): readonly Row[] {
    this.write()
    // Most files have no child jobs: then they are not queried.
    this.hasChildren ??= this.sql.get('anyChild') !== undefined
    return this.hasChildren ? this.sql.all('childrenOf', id).flatMap(([child]) => this.find(child) ?? []) : []
  }

  due(limit: number): readonly Row[] {
    this.write()
    return this.found(this.sql.all('due', this.now, limit))
  }

  expired(limit: number): readonly Row[] {
    this.write()
    return this.claims.expired(this.now, limit).flatMap((job) => this.numbered(job) ?? [])
  }

  private numbered(job: number): Row | undefined {
    const values = this.sql.get('bySeq', job)
    return values === undefined ? undefined : this.from(values)
  }

  nextDueAt(): number | null {
    this.write()
    return this.sql.get('nextDue')?.[0] ?? null
  }

  nextExpiryAt(): number | null {
    this.write()
    return this.claims.nextExpiry()
  }

  backlogOf(type: string | null): number {
    return type === null ? this.queues.backlog() : (this.queues.known(type)?.backlog ?? 0)
  }

  isPaused(type: string): boolean {
    return this.queues.known(type)?.paused === true
  }

  inbox(row: Row): readonly InboxEntry[] {
    return inboxOf(this.machines.inbox(row))
  }

  handOverRoom(type: string): number {
    this.write()
    return handOverRoom(type, workerSlots(this.sql, this.claims, this.now), (each) => this.queues.known(each))
  }

  // ── adding ───────────────────────────────────────────────────────────────────────────────────────────────────────

  newRow(job: JobToInsert, state: JobState, seq: number, came: Tick): Row {
    const queue = this.queues.of(job.type)
    return new Row(job, termsOfNew(job, queue), state, seq, came, queue)
  }

  add(row: Row): boolean {
    const { queue, concurrencyKey, machineCell } = row
    // The first job of a key group is read from the table: what has left it must have been written before.
    const hasKeyGroup = queue.hasKeyGroup(concurrencyKey)
    if (hasKeyGroup) this.write()
    if (!addRow(this.sql, row)) return false
    if (row.state === claimable) this.waiting.add(row, hasKeyGroup)
    if (machineCell !== null && row.machine?.parent !== null) this.hasChildren = true
    return true
  }
}

function termsOfNew(job: JobToInsert, queue: Queue): Terms {
  const { key, concurrencyKey, tags, meta, until, pins, keyWeight } = job
  const isPlain = key === null && concurrencyKey === null && tags === noTags && meta === undefined
  const hasOptions = until !== undefined || pins !== undefined || keyWeight !== undefined
  return isPlain && !hasOptions ? plainTerms(queue, job.priority, job.maxAttempts) : new Terms(job)
}
