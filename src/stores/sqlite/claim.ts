/**
 * Claims: which jobs of a type are claimed under its pause, caps and rate limit, and the reason if there are fewer than
 * asked for.
 */
import type { ClaimRequest, Demand, RateLimit, Shortfall } from '../../store.ts'
import { claimJob, claimRoom, shortfallOf, type ClaimSource } from '../../core/claim.ts'
import { demandUnder, termsAfter } from '../../core/key-terms.ts'
import type { JobMachine, Tick } from '../../core/job-row.ts'
import type { PackedStep, RowValues } from './columns.ts'
import { lastAt } from './history.ts'
import type { JobFile } from './job-file.ts'
import { before, keyless } from './key-groups.ts'
import type { Queue } from './queue.ts'
import { freeAt, freeClaims, spend } from './rates.ts'
import type { KeptOfMachine } from './record.ts'
import type { Lease, Row } from './row.ts'
import { frontOf } from './waiting.ts'

/** What a job has of a machine, as it leaves the engine. */
export interface ClaimedMachine extends KeptOfMachine {
  readonly machine: Omit<JobMachine, 'checkpointAt'>
}

export interface ClaimedRow {
  /** As it was before its claim. */
  readonly values: RowValues
  readonly type: string
  /** What its claim has made of it. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly lease: Lease
  readonly kept: ClaimedMachine | null
  readonly steps: readonly PackedStep[]
}

export interface ClaimedRows {
  readonly jobs: readonly ClaimedRow[]
  readonly shortfalls: readonly Shortfall[]
  /** Ids of jobs that were set aside since the last claim. */
  readonly unreadable: readonly string[]
}

export function claim(file: JobFile, request: ClaimRequest): ClaimedRows {
  const jobs: ClaimedRow[] = []
  const shortfalls: Shortfall[] = []
  for (const own of request.demand) {
    const queue = file.queues.known(own.type)
    if (queue !== undefined && !queue.paused) {
      const terms = termsAfter(queue.keyTerms, own, request.startedAt, file.now)
      if (terms !== queue.keyTerms) file.queues.changing(queue).keyTerms = terms
    }
    const demand = queue === undefined ? own : demandUnder(queue.keyTerms, own)
    const source = queue && new QueueSource(file, queue, demand)
    const claimed = source === undefined ? [] : claimFrom(source, demand, request)
    jobs.push(...claimed)
    if (claimed.length < demand.max) shortfalls.push(shortfallOf(demand, source))
  }
  return { jobs, shortfalls, unreadable: file.cache.unreadable.splice(0) }
}

class QueueSource implements ClaimSource {
  readonly file: JobFile
  readonly queue: Queue
  private readonly demand: Demand

  constructor(file: JobFile, queue: Queue, demand: Demand) {
    this.file = file
    this.queue = queue
    this.demand = demand
  }

  freeClaims(rate: RateLimit): number {
    return freeClaims(this.file, this.queue, rate)
  }

  freeAt(rate: RateLimit): number {
    return freeAt(this.file, this.queue, rate)
  }

  hasOpenKey(): boolean {
    const { file, queue, demand } = this
    file.writer.write()
    return (
      !queue.keyed ||
      readyValues(file, queue, 1).length > 0 ||
      file.keyGroups.first(queue, demand, file.now) !== undefined
    )
  }

  keysFreeAt(): number | null {
    return this.file.keyGroups.limitedUntil(this.queue, this.demand)
  }
}

function claimFrom(source: QueueSource, demand: Demand, request: ClaimRequest): ClaimedRow[] {
  const { file, queue } = source
  // Key groups are read from the table.
  if (queue.keyed || queue.clock !== null || demand.keyShares === true) file.writer.write()
  file.keyGroups.begin(queue, demand, file.now)
  const room = claimRoom(demand, source)
  if (room <= 0) return []
  const given: ClaimedRow[] = []
  if (!queue.keyed && queue.clock === null) {
    const plain = rowsOf(file, readyValues(file, queue, room))
    file.waiting.takeFirst(plain)
    const kept = keptTogether(file, plain)
    for (const each of plain) given.push(claimRow(file, each, demand, request, kept))
  } else {
    const plain = rowsOf(file, readyValues(file, queue, room))
    for (let next = 0; given.length < room;) {
      const first = firstOf(plain[next], firstOfKeys(file, queue, demand))
      if (first === undefined) break
      if (first === plain[next]) next++
      file.keyGroups.charge(queue, first.row, demand, file.now)
      given.push(claimRow(file, first, demand, request, keptTogether(file, [first])))
    }
  }
  const { rate } = demand.limits
  if (rate !== null) spend(file, queue, rate, given.length)
  return given
}

/** Since when the first job of a queue is queued, whatever its key; null if none is. */
export function queuedSince(file: JobFile, type: string): number | null {
  const queue = file.queues.known(type)
  if (queue === undefined) return null
  const hasKeyGroups = queue.keyed || queue.clock !== null
  if (!hasKeyGroups) {
    file.writer.write()
    file.waiting.write()
    const head = file.sql.get('headOfQueue', queue.number, ...frontOf(queue, null))
    if (head === undefined) return null
    const [life, enqueuedAt] = head
    // Most have made no other transition: then the row itself is not read.
    if (life === null) return enqueuedAt
  }
  const [plain] = rowsOf(file, readyValues(file, queue, 1))
  const first = hasKeyGroups ? firstOf(plain, rowOfKey(file, queue, file.keyGroups.firstOfAll(queue))) : plain
  return first === undefined ? null : movedAt(first.row)
}

/** A row, and what it was read from. */
interface ReadRow {
  readonly row: Row
  readonly values: RowValues
}

const rowsOf = (file: JobFile, all: readonly RowValues[]): ReadRow[] =>
  all.map((values) => ({ row: file.rows.from(values), values }))

/** The first queued jobs that belong to no key group. */
const readyValues = (file: JobFile, queue: Queue, limit: number): RowValues[] =>
  queue.hasKeyGroup(null) ? [] : file.rows.ready(queue, null, limit)

function firstOf(a: ReadRow | undefined, b: ReadRow | undefined): ReadRow | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return before(a.row.priority, a.row.place, [b.row.priority, b.row.place]) ? a : b
}

function rowOfKey(file: JobFile, queue: Queue, key: string | undefined): ReadRow | undefined {
  return key === undefined ? undefined : rowsOf(file, file.rows.ready(queue, key === keyless ? null : key, 1))[0]
}

function firstOfKeys(file: JobFile, queue: Queue, demand: Demand): ReadRow | undefined {
  file.writer.write()
  return rowOfKey(file, queue, file.keyGroups.first(queue, demand, file.now))
}

/** When a row made its last transition. */
const movedAt = (row: Row): number => (row.hasLife ? lastAt(row, row.history) : row.enqueuedAt)

/** What is kept of the claimed jobs beside their rows, by job. */
interface Kept {
  readonly states: ReadonlyMap<number, string>
  readonly steps: ReadonlyMap<number, readonly PackedStep[]>
}

const nothingKept: Kept = { states: new Map(), steps: new Map() }

function keptTogether({ machines }: JobFile, read: readonly ReadRow[]): Kept {
  // Most have nothing but their enqueue.
  if (read.every(({ row }) => !row.hasLife)) return nothingKept
  const rows = read.map(({ row }) => row)
  return { states: machines.readTogether(rows), steps: machines.stepsOfEach(rows) }
}

function claimRow(
  file: JobFile,
  { row, values }: ReadRow,
  demand: Demand,
  request: ClaimRequest,
  { states, steps }: Kept,
): ClaimedRow {
  const { unit } = file
  const queuedAt = movedAt(row)
  if (row.worker !== request.worker) row.nameWorkers()
  claimJob(unit, row, demand, queuedAt, request)
  const { type, attempt, maxAttempts } = row
  return {
    values,
    type,
    attempt,
    maxAttempts,
    lease: leaseOf(row),
    kept: keptOf(file, row, states),
    steps: steps.get(row.seq) ?? noSteps,
  }
}

const leaseOf = ({ lastSeq: seq, wakeAt, lastRun: { startedAt, token, worker } }: Row): Lease => {
  return { seq, tick: startedAt as Tick, token: token ?? '', worker: worker ?? '', leaseAt: wakeAt ?? 0 }
}

const noSteps: readonly PackedStep[] = []

function keptOf({ machines }: JobFile, row: Row, states: Kept['states']): ClaimedMachine | null {
  const { machine } = row
  if (machine === null) return null
  const { checkpointAt: _, ...others } = machine
  const checkpoint = states.get(row.seq) ?? machines.checkpointState(row)
  return { machine: others, checkpoint, inbox: machines.inbox(row) }
}
