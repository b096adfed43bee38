/** Claims: which jobs of a type are claimed under its pause, caps and rate limit, and the reason if there are fewer than asked for. */
import type { ClaimRequest, Demand, Shortfall } from '../../store.ts'
import { claimJob } from '../../core/claim.ts'
import type { FileUnit } from './unit.ts'
import { withWorkers } from './history.ts'
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
}

export function claim(unit: FileUnit, request: ClaimRequest): ClaimedRows {
  const jobs: ClaimedRow[] = []
  const shortfalls: Shortfall[] = []
  for (const demand of request.demand) {
    const queue = unit.queues.known(demand.type)
    const given = queue === undefined || queue.paused ? [] : claimFrom(unit, queue, demand, request)
    jobs.push(...given)
    if (given.length < demand.max) shortfalls.push(shortfallOf(unit, queue, demand))
  }
  return { jobs, shortfalls }
}

function claimFrom(unit: FileUnit, queue: Queue, demand: Demand, request: ClaimRequest): ClaimedRow[] {
  const { max, limits } = demand
  const { concurrency, rate } = limits
  unit.keyGroups.begin(queue, demand, unit.now)
  let room = Math.min(max, queue.queued)
  if (concurrency !== null) room = Math.min(room, concurrency - queue.held)
  if (rate !== null && room > 0) room = Math.min(room, freeClaims(unit, queue, rate))
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
  if (rate !== null) spend(unit, queue, rate, given.length)
  return given
}

/** Those that stand in no lane. */
const readyRows = (unit: FileUnit, queue: Queue, limit: number): Row[] =>
  queue.hasLane(null) ? [] : unit.rows.ready(queue, limit)

function firstOf(a: Row | undefined, b: Row | undefined): Row | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return before(a.priority, a.place, [b.priority, b.place]) ? a : b
}

function claimRow(unit: FileUnit, row: Row, demand: Demand, { worker, token, leaseMs }: ClaimRequest): ClaimedRow {
  const steps = stepsOf(unit.sql, row)
  if (row.worker !== worker) {
    row.history = withWorkers(row)
    row.worker = worker
  }
  row.token = token
  row.startedAt = unit.now
  row.leaseAt = Math.ceil(unit.now + leaseMs)
  claimJob(unit, row, demand)
  return { values: row.values(), type: row.type, kept: unit.machines.keptOf(row), steps }
}

/** The first of the reasons, in the order of the contract, that holds now. */
function shortfallOf(unit: FileUnit, queue: Queue | undefined, demand: Demand): Shortfall {
  const { type, limits } = demand
  if (queue?.paused === true) return { type, reason: 'paused' }
  if (queue === undefined || queue.queued === 0) return { type, reason: 'empty' }
  const { concurrency, rate, keyRate } = limits
  const keysUntil = hasOpen(unit, queue, demand) ? 0 : unit.keyGroups.limitedUntil(queue, demand)
  // With a rate per key other keys may be at their cap.
  if (keyRate !== undefined) queue.capped = true
  if ((concurrency !== null && queue.held >= concurrency) || keysUntil === null) {
    queue.capped = true
    return { type, reason: 'capped' }
  }
  const isSpent = rate !== null && freeClaims(unit, queue, rate) === 0
  if (!isSpent && keysUntil === 0)
    throw new TypeError(`claim answered fewer jobs of ${type} than asked for, without a reason`)
  return { type, reason: 'limited', until: Math.max(isSpent ? freeAt(unit, queue, rate) : 0, keysUntil) }
}

/** Is there a queued job whose key is below its cap? */
const hasOpen = (unit: FileUnit, queue: Queue, demand: Demand): boolean =>
  (demand.limits.perKey === null && demand.limits.keyRate === undefined) ||
  !queue.keyed ||
  readyRows(unit, queue, 1).length > 0 ||
  unit.keyGroups.first(queue, demand, unit.now) !== undefined
