/** Finds rows for operations. What the transaction has changed is written before a query that depends on it. */
import { Terms, type JobToInsert, type Tick } from '../../core/job-row.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { InboxEntry } from '../../core/machine-record.ts'
import type { Source } from '../../core/source.ts'
import type { SelectedRows, Selection } from '../../core/source.ts'
import type { Claims } from './claims.ts'
import { noKey, type RowValues } from './columns.ts'
import type { Machines } from './machines.ts'
import type { Minutes } from './minutes.ts'
import type { Queue } from './queue.ts'
import type { Queues } from './queues.ts'
import { inboxOf } from './record.ts'
import { noTags, plainTerms, Row, rowOf } from './row.ts'
import type { RowCache } from './row-cache.ts'
import { select } from './search.ts'
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
  readonly writer: Writer
  /** The number of the last transition. */
  readonly seq: number
  /** Writes what the transaction has changed, and where it is found. */
  flush(): void
}

export class Rows implements Source<Row> {
  readonly file: Tables
  now = 0
  /** Does any job of the file have a parent? null = not known in this transaction. */
  private hasChildren: boolean | null = null

  constructor(file: Tables) {
    this.file = file
  }

  /** Begins a transaction. */
  begin(now: number): void {
    this.now = now
    this.hasChildren = null
  }

  // ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

  find(id: string): Row | undefined {
    const { cache, writer, sql } = this.file
    const known = cache.get(id)
    if (known !== undefined) return known.isRemoved ? undefined : known
    // New rows are not remembered: most are not asked for before the transaction ends.
    writer.writeNew()
    const values = sql.get('byId', id)
    return values === undefined ? undefined : this.from(values)
  }

  findLeased(id: string): Row | undefined {
    return this.find(id)
  }

  /** The row of a job that has been read. */
  from(values: RowValues): Row {
    const known = this.file.cache.get(values[1])
    if (known !== undefined) return known
    const row = this.partOf(values)
    this.file.cache.add(row)
    return row
  }

  /** A row of which some columns alone were read. It is not remembered, and must not be changed. */
  partOf(values: RowValues): Row {
    const { cache, claims, queues, machines } = this.file
    const [seq] = values
    cache.meet(seq)
    // An ended job has no lease.
    const lease = values[12] === null || values[21] === null ? claims.of(seq) : undefined
    return rowOf(values, queues.at(values[2]), machines.of, lease)
  }

  private found(rows: readonly RowValues[]): Row[] {
    return rows.map((values) => this.from(values))
  }

  findAll(ids: readonly string[]): readonly Row[] {
    return ids.flatMap((id) => this.find(id) ?? [])
  }

  existing(ids: readonly string[]): ReadonlyMap<string, string> {
    const { sql, queues, writer } = this.file
    writer.write()
    const found = sql.all('existing', JSON.stringify(ids))
    return new Map(found.map(([id, queue]) => [id, queues.at(queue).type]))
  }

  holder(type: string, key: string): Row | undefined {
    const { sql, queues, writer } = this.file
    const queue = queues.known(type)
    if (queue === undefined) return undefined
    writer.write()
    const values = sql.get('holder', queue.number, key)
    return values === undefined ? undefined : this.from(values)
  }

  hasPredecessor(type: string, key: string): boolean {
    const { sql, queues, writer } = this.file
    const queue = queues.known(type)
    if (queue === undefined) return false
    writer.write()
    // Most files have no such job: then no key is queried.
    writer.hasLeaving ??= sql.get('anyPredecessor') !== undefined
    return writer.hasLeaving && sql.get('predecessor', queue.number, key) !== undefined
  }

  /** The first jobs of a queue that have this concurrency key, or none. */
  ready(queue: Queue, key: string | null, limit: number): RowValues[] {
    const { sql, waiting, writer } = this.file
    writer.write()
    waiting.write()
    const all = sql.all('ready', queue.number, key ?? noKey, ...frontOf(queue, key), limit)
    // Most have nothing but their enqueue: of the others the rest is read.
    const others = all.flatMap((values) => (values[12] === null ? [] : values[0]))
    if (others.length === 0) return all
    const whole = new Map(sql.all('bySeqs', JSON.stringify(others)).map((values) => [values[0], values]))
    return all.map((values) => whole.get(values[0]) ?? values)
  }

  select(selection: Selection, states: ReadonlySet<JobState>): SelectedRows<Row> {
    const { found, next } = select(this.file, selection, states)
    return { rows: this.found(found), next }
  }

  children({ id }: Row): readonly Row[] {
    const { sql, writer } = this.file
    writer.write()
    // Most files have no child jobs: then they are not queried.
    this.hasChildren ??= sql.get('anyChild') !== undefined
    return this.hasChildren ? sql.all('childrenOf', id).flatMap(([child]) => this.find(child) ?? []) : []
  }

  due(limit: number): readonly Row[] {
    this.file.writer.write()
    return this.found(this.file.sql.all('due', this.now, limit))
  }

  expired(limit: number): readonly Row[] {
    this.file.writer.write()
    return this.file.claims.expired(this.now, limit).flatMap((job) => this.numbered(job) ?? [])
  }

  private numbered(job: number): Row | undefined {
    const values = this.file.sql.get('bySeq', job)
    return values === undefined ? undefined : this.from(values)
  }

  nextDueAt(): number | null {
    this.file.writer.write()
    return this.file.sql.get('nextDue')?.[0] ?? null
  }

  nextExpiryAt(): number | null {
    this.file.writer.write()
    return this.file.claims.nextExpiry()
  }

  backlogOf(type: string | null): number {
    return this.file.queues.backlogOf(type)
  }

  isPaused(type: string): boolean {
    return this.file.queues.known(type)?.paused === true
  }

  inbox(row: Row): readonly InboxEntry[] {
    return inboxOf(this.file.machines.inbox(row))
  }

  handOverRoom(type: string): number {
    return this.file.writer.handOverRoom(type)
  }

  // ── adding ───────────────────────────────────────────────────────────────────────────────────────────────────────

  newRow(job: JobToInsert, state: JobState, seq: number, came: Tick): Row {
    const queue = this.file.queues.of(job.type)
    return new Row(job, termsOfNew(job, queue), state, seq, came, queue)
  }

  add(row: Row): boolean {
    const { queue, concurrencyKey, machineCell } = row
    // The first job of a key group is read from the table: what has left it must have been written before.
    const hasKeyGroup = queue.hasKeyGroup(concurrencyKey)
    if (hasKeyGroup) this.file.writer.write()
    if (!addRow(this.file.sql, row)) return false
    if (row.state === claimable) this.file.waiting.add(row, hasKeyGroup)
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
