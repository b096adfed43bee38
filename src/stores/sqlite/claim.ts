/** Claims: what a type gives under its pause, caps and rate, and why it gives no more. */
import type { ClaimRequest, Demand, Dry, Lease, Standing } from '../../store.ts'
import type { Books } from './books.ts'
import { withWorkers } from './history.ts'
import type { Kept } from './kept.ts'
import { before } from './lanes.ts'
import { keptOf } from './machine.ts'
import type { Queue } from './queue.ts'
import { freeAt, freeClaims, spend } from './rate.ts'
import { Row, toldOf, type RowValues } from './row.ts'
import { stepsOf, type PackedStep } from './steps.ts'

export interface HandedJob {
  readonly values: RowValues
  readonly type: string
  readonly kept: Kept | null
  readonly steps: readonly PackedStep[]
}

/** Jobs as they stand in the file after the claim. */
export interface Handed {
  readonly jobs: readonly HandedJob[]
  readonly dry: readonly Dry[]
}

export function claim(books: Books, request: ClaimRequest): Handed {
  const jobs: HandedJob[] = []
  const dry: Dry[] = []
  for (const demand of request.demand) {
    const queue = books.queues.known(demand.type)
    const given = queue === undefined || queue.paused ? [] : claimFrom(books, queue, demand, request)
    jobs.push(...given)
    if (given.length < demand.max) dry.push(whyDry(books, queue, demand))
  }
  return { jobs, dry }
}

function claimFrom(books: Books, queue: Queue, { max, limits }: Demand, request: ClaimRequest): HandedJob[] {
  const { concurrency, perKey, rate } = limits
  let room = Math.min(max, queue.queued)
  if (concurrency !== null) room = Math.min(room, concurrency - queue.held)
  if (rate !== null && room > 0) room = Math.min(room, freeClaims(books, queue, rate))
  if (room <= 0) return []
  const plain = readyRows(books, queue, room)
  const given: HandedJob[] = []
  if (!queue.keyed) {
    for (const row of plain) given.push(claimRow(books, queue, row, request))
  } else {
    for (let next = 0; given.length < room;) {
      const row = firstOf(plain[next], books.lanes.first(queue, perKey ?? Infinity))
      if (row === undefined) break
      if (row === plain[next]) next++
      given.push(claimRow(books, queue, row, request))
    }
  }
  if (rate !== null) spend(books, queue, rate, given.length)
  return given
}

/** Those without a concurrency key. */
const readyRows = (books: Books, queue: Queue, limit: number): Row[] =>
  books.sql.all('ready', queue.number, limit).map((values) => new Row(values))

function firstOf(a: Row | undefined, b: Row | undefined): Row | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return before(a.priority, a.place, [b.priority, b.place]) ? a : b
}

function claimRow(books: Books, { type }: Queue, row: Row, { worker, token, leaseMs }: ClaimRequest): HandedJob {
  const steps = stepsOf(books, row)
  if (row.worker !== worker) {
    row.history = withWorkers(row)
    row.worker = worker
  }
  row.token = token
  row.startedAt = books.now
  row.leaseAt = Math.ceil(books.now + leaseMs)
  books.move(row, 'CLAIM')
  return { values: row.values(), type, kept: keptOf(books, row), steps }
}

/** How claimed jobs stand, before they start. */
export function confirm(books: Books, leases: readonly Lease[]): Standing[] {
  return leases.map((lease) => {
    const row = books.rows.of(lease.id)
    if (row?.isHeldBy(lease) !== true) return { outcome: 'lost' }
    const mark = toldOf(row)
    if (mark !== null) return { outcome: 'cancelling', ...(mark.reason !== undefined && { reason: mark.reason }) }
    return { outcome: books.queues.at(row.queue).paused ? 'paused' : 'held' }
  })
}

/** The first of the reasons, in the order of the contract, that holds now. */
function whyDry(books: Books, queue: Queue | undefined, { type, limits }: Demand): Dry {
  if (queue?.paused === true) return { type, why: 'paused' }
  if (queue === undefined || queue.queued === 0) return { type, why: 'empty' }
  const { concurrency, perKey, rate } = limits
  if ((concurrency !== null && queue.held >= concurrency) || !hasOpen(books, queue, perKey)) {
    queue.capped = true
    return { type, why: 'capped' }
  }
  if (rate === null) throw new TypeError(`claim gave too few of ${type} for no reason`)
  return { type, why: 'limited', until: freeAt(books, queue, rate) }
}

/** Is any queued job of it not kept back by its key? */
const hasOpen = (books: Books, queue: Queue, perKey: number | null): boolean =>
  perKey === null ||
  !queue.keyed ||
  readyRows(books, queue, 1).length > 0 ||
  books.lanes.first(queue, perKey) !== undefined
