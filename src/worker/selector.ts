/**
 * Selects the queue of the next job.
 *
 * A heap holds every queue that may have work, ordered by key. The queue with the smallest key is picked, and the pick
 * raises its key. The strategies differ in the key:
 * - `weighted` is stride scheduling (Waldspurger & Weihl, 1995): a pick adds 1/weight. Shares are exact, no queue
 *   starves.
 * - `random` adds Exp(1)/weight. As the exponential distribution is memoryless, each pick is an independent draw with
 *   probability weight / sum of weights.
 * - `strict` uses the weight itself; with ageing, a queue gains one point of weight for each `ageing` that it waits.
 *   All queues age alike, so their order does not change while they wait, and a key needs to be computed only once.
 *
 * A queue without work leaves the heap. It enters again with a key no smaller than that of the last pick: the others
 * get its share, and it gains no credit meanwhile.
 */
import type { Random } from '../core/clock.ts'
import type { JobDefinition } from '../core/definition.ts'
import { Heap } from '../core/heap.ts'
import { durationMs } from '../core/duration.ts'
import type { Logger } from '../core/logger.ts'
import type { Candidate, SelectionFunction, SelectionOption } from '../core/settings.ts'
import type { ClaimAnswer, Demand, TypeLimits } from '../store.ts'
import { KeyPicks } from './key-picks.ts'

interface Strategy {
  /** The key of a queue that enters the heap at the virtual time `at`. */
  enter(queue: QueueEntry, at: number): number
  /** The key of a queue after a pick at the virtual time `at`. */
  step(queue: QueueEntry, at: number): number
  /** What is subtracted from the key for a pick that found no job. */
  refund(queue: QueueEntry): number
}

/** What is picked from a queue. */
interface PickedQueue {
  readonly queue: QueueEntry
  readonly wanted: number
  readonly wakesAtPick: number
}

/** Picks, and the demand of the claim for them. */
export interface Picks {
  readonly demand: readonly Demand[]
  /** How many jobs it requests in all. */
  readonly jobs: number
  readonly queues: readonly PickedQueue[]
}

class QueueEntry implements Candidate {
  heapIndex = -1
  key = 0
  given = 0
  /** null before the first pick of a job with a concurrency key. */
  keyPicks: KeyPicks | null = null
  /** Upper bound of its jobs; Infinity if unknown. */
  estimate = 0
  /** Has its last claim found a job? Else an insert of its jobs is answered first. */
  finds = true
  /** Number of wakes: a claim that was sent before the last wake does not prove that the queue is empty. */
  wakes = 0
  /** Jobs requested by the picks that are made, and received by those whose answer is applied. */
  wanted = 0
  got = 0
  readonly type: string
  readonly weight: number
  private lastDemand: Demand
  /** Order of definition, which breaks ties. */
  readonly order: number

  constructor(job: SelectedType, order: number) {
    this.type = job.type
    this.weight = job.weight
    const { type, limits, maxAttempts, keyWeightOf = null, onDead = null } = job
    this.lastDemand = {
      type,
      max: 0,
      limits,
      ...(maxAttempts !== undefined && { maxAttempts }),
      ...(keyWeightOf !== null && { keyShares: true }),
      ...(onDead !== null && { onDead: onDead.type }),
    }
    this.order = order
  }

  /** Most are like the last. */
  demand(max: number): Demand {
    return max === this.lastDemand.max ? this.lastDemand : (this.lastDemand = { ...this.lastDemand, max })
  }
}

const weighted: Strategy = {
  enter: (queue, at) => Math.max(queue.key, at),
  step: (queue) => queue.key + 1 / queue.weight,
  refund: (queue) => 1 / queue.weight,
}

const byChance = (random: Random): Strategy => {
  const wait = (queue: QueueEntry): number => -Math.log(1 - random()) / queue.weight
  return { enter: (queue, at) => at + wait(queue), step: (queue, at) => at + wait(queue), refund: () => 0 }
}

const strict = (ageingMs: number | null, now: () => number): Strategy => {
  const key = (queue: QueueEntry): number => (ageingMs === null ? 0 : now() / ageingMs) - queue.weight
  return { enter: key, step: key, refund: () => 0 }
}

/** What is known of a type when it is picked. */
interface SelectedType {
  readonly type: string
  readonly weight: number
  readonly limits: TypeLimits
  /** Sent with the demand: see there. */
  readonly maxAttempts?: number
  /** Its keys share the claims if it has one. */
  readonly keyWeightOf?: JobDefinition['keyWeightOf']
  /** Its hook: the demand names the type of the job that runs it. */
  readonly onDead?: JobDefinition['onDead']
}

interface SelectOptions {
  readonly jobs: Iterable<SelectedType>
  readonly selection: SelectionOption
  readonly random: Random
  /** Monotonic ms. */
  readonly now: () => number
  readonly logger: Logger
}

export class Selector {
  private readonly queues = new Map<string, QueueEntry>()
  private readonly heap = new Heap<QueueEntry>((a, b) => a.key < b.key || (a.key === b.key && a.order < b.order))
  private readonly strategy: Strategy
  private readonly own: SelectionFunction | null
  private readonly logger: Logger
  /** Virtual time: the key of the last pick. */
  private at = 0

  /** @throws JobchartError INVALID_OPTION for an unknown selection */
  constructor({ jobs, selection, random, now, logger }: SelectOptions) {
    for (const job of jobs) this.queues.set(job.type, new QueueEntry(job, this.queues.size))
    this.own = typeof selection === 'function' ? selection : null
    this.strategy = strategyOf(selection, random, now)
    this.logger = logger
  }

  get idle(): boolean {
    return this.heap.size === 0
  }

  /** The queue may have work now, at most `atMost` jobs. */
  wake(type: string, atMost = Infinity): void {
    const queue = this.queues.get(type)
    if (queue === undefined) return
    queue.wakes++
    if (atMost <= 0) return
    queue.estimate = atMost
    if (queue.heapIndex < 0) this.enter(queue)
  }

  /**
   * Jobs of the queue are being inserted: a claim that is sent at once finds them, unless they exist, their queue is
   * paused or its limits are reached. Where the last claim found none, the next waits for the hint of the store.
   */
  expect(type: string, jobs: number): void {
    const queue = this.queues.get(type)
    if (queue !== undefined && queue.finds && queue.heapIndex < 0) this.wake(type, jobs)
  }

  /**
   * Picks up to `slots` times; null if no queue may have work. Pass the picks and the answer of their claim to
   * `applyClaim`.
   */
  pick(slots: number): Picks | null {
    const picked: QueueEntry[] = []
    let left = slots
    while (left > 0) {
      const queue = this.next()
      if (queue === undefined) break
      // A single queue gets all slots at once.
      const picks = this.own === null && this.heap.size === 1 ? Math.min(left, queue.estimate) : 1
      this.at = queue.key
      if (queue.wanted === 0) picked.push(queue)
      for (let i = 0; i < picks; i++) queue.key = this.strategy.step(queue, queue.key)
      queue.wanted += picks
      queue.estimate -= picks
      left -= picks
      if (queue.estimate <= 0) this.heap.remove(queue)
      else this.heap.update(queue)
    }
    if (picked.length === 0) return null
    const demand: Demand[] = []
    const queues: PickedQueue[] = []
    for (const queue of picked) {
      const { wanted, wakes } = queue
      demand.push(queue.demand(wanted))
      queues.push({ queue, wanted, wakesAtPick: wakes })
      queue.wanted = 0
    }
    return { demand, jobs: slots - left, queues }
  }

  /**
   * Applies the answer to the claim of picks: refunds picks that found no job, and removes empty queues.
   * @param answer null if the claim failed
   */
  applyClaim({ jobs, queues }: Picks, answer: ClaimAnswer | null): void {
    for (const { type, concurrencyKey } of answer?.jobs ?? []) {
      const queue = concurrencyKey === null ? undefined : this.queues.get(type)
      if (queue !== undefined && concurrencyKey !== null) (queue.keyPicks ??= new KeyPicks()).add(concurrencyKey)
    }
    if (answer?.jobs.length === jobs) {
      // Every pick found its job. The estimates hold until the next wake.
      for (const { queue, wanted } of queues) {
        queue.given += wanted
        queue.finds = true
      }
      return
    }
    for (const job of answer?.jobs ?? []) {
      const queue = this.queues.get(job.type)
      if (queue !== undefined) queue.got++
    }
    const short = new Set(answer?.shortfalls.map(({ type }) => type))
    for (const { queue, wanted, wakesAtPick } of queues) {
      const missed = wanted - queue.got
      queue.given += queue.got
      if (answer !== null) queue.finds = queue.got > 0
      queue.got = 0
      if (missed === 0) continue
      queue.key -= missed * this.strategy.refund(queue)
      if (queue.heapIndex >= 0) this.heap.update(queue)
      const woken = queue.wakes !== wakesAtPick
      if (short.has(queue.type) && !woken) {
        queue.estimate = 0
        this.heap.remove(queue)
      } else {
        // The missed jobs may still be queued.
        queue.estimate += missed
        if (queue.heapIndex < 0) this.enter(queue)
      }
    }
  }

  /** Number of picks so far, by type. */
  given(): ReadonlyMap<string, number> {
    return new Map([...this.queues.values()].map((queue) => [queue.type, queue.given]))
  }

  /** The concurrency keys of a type with the most picks so far. */
  topKeys(type: string, count: number): ReturnType<KeyPicks['top']> {
    return this.queues.get(type)?.keyPicks?.top(count) ?? []
  }

  private enter(queue: QueueEntry): void {
    queue.key = this.strategy.enter(queue, this.at)
    this.heap.push(queue)
  }

  private next(): QueueEntry | undefined {
    if (this.own === null || this.heap.size === 0) return this.heap.peek()
    const candidates = [...this.queues.values()].filter((queue) => queue.heapIndex >= 0)
    try {
      const type = this.own(candidates.map(({ type, weight, given }) => ({ type, weight, given })))
      if (type === null) return undefined
      const chosen = candidates.find((queue) => queue.type === type)
      if (chosen !== undefined) return chosen
      this.logger.error('the selection function gave no candidate; this pick uses the weights', { given: type })
    } catch (error) {
      this.logger.error('the selection function threw; this pick uses the weights', { error })
    }
    return this.heap.peek()
  }
}

function strategyOf(selection: SelectionOption, random: Random, now: () => number): Strategy {
  const named = typeof selection === 'object' ? selection.strategy : selection
  if (named === 'random') return byChance(random)
  if (named !== 'strict') return weighted
  const ageing = typeof selection === 'object' && 'ageing' in selection ? selection.ageing : undefined
  return strict(ageing === undefined ? null : durationMs(ageing, 'selection.ageing'), now)
}
