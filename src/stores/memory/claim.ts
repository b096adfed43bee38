/** Claims: which jobs of a type are claimed under its pause, caps and rate limit, and the reason if there are fewer than asked for. */
import { claimJob } from '../../core/claim.ts'
import type { ClaimAnswer, ClaimRequest, Demand, Shortfall } from '../../store.ts'
import type { MemoryUnit } from './unit.ts'
import type { Queue } from './queue.ts'
import { Claimed } from './claimed.ts'
import { Run, type Row, type LoggedStep } from './row.ts'

export function claim(unit: MemoryUnit, request: ClaimRequest, now: number): ClaimAnswer {
  const jobs: Claimed[] = []
  const shortfalls: Shortfall[] = []
  for (const demand of request.demand) {
    const queue = unit.queues.get(demand.type)
    const before = jobs.length
    if (queue !== undefined && !queue.paused) claimFrom(unit, queue, demand, request, now, jobs)
    if (jobs.length - before < demand.max) shortfalls.push(shortfallOf(queue, demand, now))
  }
  return { jobs, shortfalls }
}

function claimFrom(
  unit: MemoryUnit,
  queue: Queue<Row>,
  demand: Demand,
  request: ClaimRequest,
  now: number,
  jobs: Claimed[],
): void {
  const { concurrency, rate } = demand.limits
  let room = demand.max
  if (concurrency !== null) room = Math.min(room, concurrency - queue.leasedCount)
  if (rate !== null) room = Math.min(room, queue.rate.free(rate, now))
  for (; room > 0; room--) {
    const row = queue.next(demand, now)
    if (row === null) return
    queue.charge(row, now)
    jobs.push(claimRow(unit, row, demand, request, now))
    if (rate !== null) queue.rate.spend(now)
  }
}

function claimRow(unit: MemoryUnit, row: Row, demand: Demand, request: ClaimRequest, now: number): Claimed {
  const { settled } = row
  claimJob(unit, row, demand, request)
  row.run = new Run(request.token, row.last as LoggedStep, settled)
  unit.extendLease(row, now + request.leaseMs)
  return new Claimed(row, row.run)
}

/** The first of the reasons, in the order of the contract, that holds now. */
function shortfallOf(queue: Queue<Row> | undefined, demand: Demand, now: number): Shortfall {
  const { type, limits } = demand
  if (queue?.paused === true) return { type, reason: 'paused' }
  if (queue === undefined || queue.queued === 0) return { type, reason: 'empty' }
  const { concurrency, rate, keyRate } = limits
  const isOpen = queue.next(demand, now) !== null
  const keysUntil = isOpen ? null : queue.limitedUntil
  // With a rate per key other keys may be at their cap.
  if (keyRate !== undefined) queue.capped = true
  if ((concurrency !== null && queue.leasedCount >= concurrency) || (!isOpen && keysUntil === null)) {
    queue.capped = true
    return { type, reason: 'capped' }
  }
  const isSpent = rate !== null && queue.rate.free(rate, now) === 0
  if (!isSpent && keysUntil === null)
    throw new TypeError(`claim answered fewer jobs of ${type} than asked for, without a reason`)
  return { type, reason: 'limited', until: Math.max(isSpent ? queue.rate.freeAt(rate, now) : 0, keysUntil ?? 0) }
}
