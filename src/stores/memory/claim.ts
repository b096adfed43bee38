/**
 * Claims: which jobs of a type are claimed under its pause, caps and rate limit, and the reason if there are fewer than
 * asked for.
 */
import { claimJob, claimRoom, shortfallOf, type ClaimSource } from '../../core/claim.ts'
import { demandUnder, termsAfter } from '../../core/key-terms.ts'
import type { ClaimAnswer, ClaimRequest, Demand, RateLimit, Shortfall } from '../../store.ts'
import type { Unit } from '../../core/unit.ts'
import type { Tables } from './tables.ts'
import type { Queue } from './queue.ts'
import { Claimed } from './claimed.ts'
import type { Row } from './row.ts'

export function claim(unit: Unit<Row>, tables: Tables, request: ClaimRequest, now: number): ClaimAnswer {
  const jobs: Claimed[] = []
  const shortfalls: Shortfall[] = []
  for (const own of request.demand) {
    const queue = tables.queues.get(own.type)
    if (queue !== undefined && !queue.paused) queue.keyTerms = termsAfter(queue.keyTerms, own, request.startedAt, now)
    const demand = queue === undefined ? own : demandUnder(queue.keyTerms, own)
    const source = queue && new QueueSource(queue, demand, now)
    const before = jobs.length
    if (source !== undefined) claimFrom(unit, source, request, jobs)
    if (jobs.length - before < demand.max) shortfalls.push(shortfallOf(demand, source))
  }
  return { jobs, shortfalls }
}

class QueueSource implements ClaimSource {
  readonly queue: Queue<Row>
  readonly demand: Demand
  readonly now: number

  constructor(queue: Queue<Row>, demand: Demand, now: number) {
    this.queue = queue
    this.demand = demand
    this.now = now
  }

  freeClaims(rate: RateLimit): number {
    return this.queue.rate.free(rate, this.now)
  }

  freeAt(rate: RateLimit): number {
    return this.queue.rate.freeAt(rate, this.now)
  }

  hasOpenKey(): boolean {
    return this.queue.next(this.demand, this.now) !== null
  }

  keysFreeAt(): number | null {
    return this.queue.limitedUntil
  }
}

function claimFrom(unit: Unit<Row>, source: QueueSource, request: ClaimRequest, jobs: Claimed[]): void {
  const { queue, demand, now } = source
  for (let room = claimRoom(demand, source); room > 0; room--) {
    const row = queue.next(demand, now)
    if (row === null) return
    queue.charge(row, now)
    jobs.push(claimRow(unit, row, demand, request))
    if (demand.limits.rate !== null) queue.rate.spend(now)
  }
}

function claimRow(unit: Unit<Row>, row: Row, demand: Demand, request: ClaimRequest): Claimed {
  claimJob(unit, row, demand, row.movedAt, request)
  return new Claimed(row)
}
