/**
 * Claims: which jobs of a type are claimed under its pause, caps and rate limit, and the reason if there are fewer than
 * asked for.
 */
import type { ClaimRequest, Demand, RateLimit, Shortfall } from '../../store.ts'
import { claimJob, claimRoom, shortfallOf, type ClaimSource } from '../../core/claim.ts'
import { demandUnder, termsAfter } from '../../core/key-terms.ts'
import type { FileUnit } from './unit.ts'
import { movedAt, withWorkers } from './history.ts'
import type { PackedStep, RowValues } from './columns.ts'
import type { StoredMachine } from './stored-machine.ts'
import { before } from './key-groups.ts'
import type { Queue } from './queue.ts'
import { freeAt, freeClaims, spend } from './rate.ts'
import type { Row } from './row.ts'
import { stepsOf } from './steps.ts'

export interface ClaimedRow {
  readonly values: RowValues
  readonly type: string
  readonly kept: StoredMachine | null
  readonly steps: readonly PackedStep[]
}

/** The rows after the claim. */
export interface ClaimedRows {
  readonly jobs: readonly ClaimedRow[]
  readonly shortfalls: readonly Shortfall[]
  /** Ids of jobs that were set aside since the last claim. */
  readonly unreadable: readonly string[]
}

export function claim(unit: FileUnit, request: ClaimRequest): ClaimedRows {
  const jobs: ClaimedRow[] = []
  const shortfalls: Shortfall[] = []
  for (const own of request.demand) {
    const queue = unit.queues.known(own.type)
    if (queue !== undefined && !queue.paused) {
      unit.queues.setKeyTerms(queue, termsAfter(queue.keyTerms, own, request.startedAt, unit.now))
    }
    const demand = queue === undefined ? own : demandUnder(queue.keyTerms, own)
    const source = queue && new QueueSource(unit, queue, demand)
    const claimed = source === undefined ? [] : claimFrom(source, demand, request)
    jobs.push(...claimed)
    if (claimed.length < demand.max) shortfalls.push(shortfallOf(demand, source))
  }
  return { jobs, shortfalls, unreadable: unit.rows.unreadable.splice(0) }
}

class QueueSource implements ClaimSource {
  readonly unit: FileUnit
  readonly queue: Queue
  private readonly demand: Demand

  constructor(unit: FileUnit, queue: Queue, demand: Demand) {
    this.unit = unit
    this.queue = queue
    this.demand = demand
  }

  freeClaims(rate: RateLimit): number {
    return freeClaims(this.unit, this.queue, rate)
  }

  freeAt(rate: RateLimit): number {
    return freeAt(this.unit, this.queue, rate)
  }

  hasOpenKey(): boolean {
    const { unit, queue, demand } = this
    return (
      (demand.limits.perKey === null && demand.limits.keyRate === undefined) ||
      !queue.keyed ||
      readyRows(unit, queue, 1).length > 0 ||
      unit.keyGroups.first(queue, demand, unit.now) !== undefined
    )
  }

  keysFreeAt(): number | null {
    return this.unit.keyGroups.limitedUntil(this.queue, this.demand)
  }
}

function claimFrom(source: QueueSource, demand: Demand, request: ClaimRequest): ClaimedRow[] {
  const { unit, queue } = source
  unit.keyGroups.begin(queue, demand, unit.now)
  const room = claimRoom(demand, source)
  if (room <= 0) return []
  const plain = readyRows(unit, queue, room)
  const given: ClaimedRow[] = []
  if (!queue.keyed && queue.clock === null) {
    for (const row of plain) given.push(claimRow(unit, row, demand, request))
  } else {
    for (let next = 0; given.length < room;) {
      const row = firstOf(plain[next], unit.keyGroups.first(queue, demand, unit.now))
      if (row === undefined) break
      if (row === plain[next]) next++
      unit.keyGroups.charge(queue, row, demand, unit.now)
      given.push(claimRow(unit, row, demand, request))
    }
  }
  const { rate } = demand.limits
  if (rate !== null) spend(unit, queue, rate, given.length)
  return given
}

/** Since when the first job of a queue is queued, whatever its key; null if none is. */
export function queuedSince(unit: FileUnit, type: string): number | null {
  const queue = unit.queues.known(type)
  if (queue === undefined) return null
  const hasKeyGroups = queue.keyed || queue.clock !== null
  if (!hasKeyGroups) {
    unit.rows.write()
    const head = unit.sql.get('headOfQueue', queue.number)
    if (head === undefined) return null
    const [seq, moved, enqueuedAt] = head
    // Most have made no other transition: then the row itself is not read.
    if (seq === moved) return enqueuedAt
  }
  const [plain] = readyRows(unit, queue, 1)
  const first = hasKeyGroups ? firstOf(plain, unit.keyGroups.firstOfAll(queue)) : plain
  return first === undefined ? null : movedAt(first)
}

/** The first queued jobs that belong to no key group. */
const readyRows = (unit: FileUnit, queue: Queue, limit: number): Row[] =>
  queue.hasKeyGroup(null) ? [] : unit.rows.ready(queue, limit)

function firstOf(a: Row | undefined, b: Row | undefined): Row | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return before(a.priority, a.place, [b.priority, b.place]) ? a : b
}

function claimRow(unit: FileUnit, row: Row, demand: Demand, { worker, token, leaseMs }: ClaimRequest): ClaimedRow {
  const steps = stepsOf(unit.sql, row)
  const queuedAt = movedAt(row)
  if (row.worker !== worker) {
    row.history = withWorkers(row)
    row.worker = worker
  }
  row.token = token
  row.startedAt = unit.now
  row.leaseAt = Math.ceil(unit.now + leaseMs)
  claimJob(unit, row, demand, queuedAt)
  return { values: row.values(), type: row.type, kept: unit.machines.keptOf(row), steps }
}
