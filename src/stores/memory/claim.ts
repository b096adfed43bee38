/** Claims: what a type gives under its pause, caps and rate, and why it gives no more. */
import type { ClaimAnswer, ClaimRequest, Demand, Dry, Lease, Standing } from '../../store.ts'
import type { Books } from './books.ts'
import type { Queue } from './queue.ts'
import { Claimed } from './records.ts'
import { Run, type Row } from './row.ts'

export function claim(books: Books, request: ClaimRequest, now: number): ClaimAnswer {
  const jobs: Claimed[] = []
  const dry: Dry[] = []
  for (const demand of request.demand) {
    const queue = books.queues.get(demand.type)
    const before = jobs.length
    if (queue !== undefined && !queue.paused) claimFrom(books, queue, demand, request, now, jobs)
    if (jobs.length - before < demand.max) dry.push(whyDry(queue, demand, now))
  }
  return { jobs, dry }
}

function claimFrom(
  books: Books,
  queue: Queue,
  demand: Demand,
  request: ClaimRequest,
  now: number,
  jobs: Claimed[],
): void {
  const { concurrency, perKey, rate } = demand.limits
  let room = demand.max
  if (concurrency !== null) room = Math.min(room, concurrency - queue.held)
  if (rate !== null) room = Math.min(room, queue.rate.free(rate, now))
  for (; room > 0; room--) {
    const row = queue.next(perKey)
    if (row === null) return
    jobs.push(claimRow(books, row, request, now))
    if (rate !== null) queue.rate.spend(now)
  }
}

function claimRow(books: Books, row: Row, request: ClaimRequest, now: number): Claimed {
  const step = books.move(row, 'CLAIM', now, request)
  row.run = new Run(request.token, step, row.settled)
  books.lease(row, now + request.leaseMs)
  return new Claimed(row, row.run)
}

/** How a claimed row stands, before it starts. */
export function standing(books: Books, lease: Lease): Standing {
  const row = books.inHand(lease.id)
  if (row === undefined || row.heldBy(lease) === null) return { outcome: 'lost' }
  const { mark } = row
  if (mark !== null) return { outcome: 'cancelling', ...(mark.reason !== undefined && { reason: mark.reason }) }
  return row.queue.paused ? paused : held
}

const held: Standing = { outcome: 'held' }
const paused: Standing = { outcome: 'paused' }

/** The first of the reasons, in the order of the contract, that holds now. */
function whyDry(queue: Queue | undefined, { type, limits }: Demand, now: number): Dry {
  if (queue?.paused === true) return { type, why: 'paused' }
  if (queue === undefined || queue.queued === 0) return { type, why: 'empty' }
  if ((limits.concurrency !== null && queue.held >= limits.concurrency) || queue.next(limits.perKey) === null) {
    queue.capped = true
    return { type, why: 'capped' }
  }
  if (limits.rate === null) throw new TypeError(`claim gave too few of ${type} for no reason`)
  return { type, why: 'limited', until: queue.rate.freeAt(limits.rate, now) }
}
