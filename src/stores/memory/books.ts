/**
 * The books of the store: every row, and every index over them. A row is entered, moved and removed here and nowhere
 * else, so that what is counted, queued, timed, leased, ended and logged always tells the same story.
 */
import { Heap } from '../../heap.ts'
import { caps } from '../../job/caps.ts'
import { countersAfter, type ArrowEvent } from '../../job/lifecycle.ts'
import type { NewJob, WorkerInfo } from '../../store.ts'
import { Chain } from './chain.ts'
import { Hints } from './hints.ts'
import { TransitionLog } from './log.ts'
import { backlogPhases, heldPhases, noCounts, phases, tally, wayOf, type Phase } from './phases.ts'
import { Queue } from './queue.ts'
import { Register } from './register.ts'
import { Row, Step, Tick, type Passage } from './row.ts'

const soonest = (a: Row, b: Row): boolean => {
  const left = a.alarmAt ?? 0
  const right = b.alarmAt ?? 0
  return left === right ? a.seq < b.seq : left < right
}

const rests: readonly Passage[] = phases.map(({ name }) => ({ event: 'CHECKPOINT', from: name, to: name }))
const births: readonly Passage[] = phases.map((phase) => ({ event: 'ENQUEUE', from: null, to: phase.name }))

/** What a move needs to know besides its event. */
export interface Circumstances {
  readonly reason?: string | null | undefined
  readonly fatal?: boolean | undefined
  /** When a timed state is to end; null = it waits for an event. */
  readonly dueAt?: number | null
  /** Who claims. */
  readonly worker?: string
}

const plain: Circumstances = {}

export const noArrow = ({ id, phase }: Row, event: string): TypeError =>
  new TypeError(`job ${id}: the chart has no ${event} from ${phase.name}`)

export class Books {
  readonly rows = new Register()
  readonly queues = new Map<string, Queue>()
  readonly due = new Heap<Row>(soonest)
  readonly leases = new Heap<Row>(soonest)
  /** The held and the ended rows of each phase, in the order in which they came to it. */
  readonly chains: readonly Chain[] = phases.map(() => new Chain())
  readonly counts = noCounts()
  /** Rows by the id of the job that has invoked them. */
  readonly children = new Map<string, Set<Row>>()
  readonly workers = new Map<string, { readonly info: WorkerInfo; seenAt: number }>()
  readonly hints = new Hints()
  readonly log: TransitionLog
  private tick = new Tick(0)

  constructor(transitionsMax: number) {
    this.log = new TransitionLog(transitionsMax)
  }

  get backlog(): number {
    return tally(this.counts, backlogPhases)
  }

  /** The row of a job that is likely to run. Runs mostly end in the order in which they began: then it need not be searched. */
  inHand(id: string): Row | undefined {
    for (const { index } of heldPhases) {
      const longest = this.chains[index]?.head
      if (longest?.id === id) return longest
    }
    return this.rows.get(id)
  }

  /** The queue of a type, made when it is first needed. */
  queue(type: string): Queue {
    let queue = this.queues.get(type)
    if (queue === undefined) {
      queue = new Queue(type)
      this.queues.set(type, queue)
    }
    return queue
  }

  pause(type: string, paused: boolean): void {
    const queue = this.queue(type)
    queue.paused = paused
    this.hints.ready(queue)
  }

  /** ENQUEUE: a new row. Its key, if any, is free or taken over. */
  enter(job: NewJob, phase: Phase, dueAt: number | null, at: number): Row {
    const queue = this.queue(job.type)
    const row = new Row(job, queue, queue.termsOf(job), phase, this.log.nextSeq, this.tickAt(at))
    this.log.append(row, births[phase.index] as Passage, at, null, null)
    this.rows.add(row)
    this.count(row, phase, 1)
    row.queue.takeKey(row)
    this.arrive(row, null, phase, dueAt)
    return row
  }

  /** Moves a row along an arrow of the chart, which must exist. */
  move(
    row: Row,
    event: ArrowEvent,
    at: number,
    { reason = null, fatal, dueAt = null, worker }: Circumstances = plain,
  ): Step {
    const from = row.phase
    const way = wayOf(from, event, row, fatal)
    if (way === null) throw noArrow(row, event)
    const { arrow, to } = way
    this.depart(row, from, to)
    if (arrow.counting !== null) {
      const counters = countersAfter(arrow, row)
      row.attempt = counters.attempt
      row.generation = counters.generation
      if (row.machine !== null && row.attempt === 0) row.machine.spared = 0
    }
    const seq = this.log.nextSeq
    const by = worker ?? (from.held && row.run !== null ? row.run.claim.worker : null)
    this.log.append(row, arrow, at, by, reason)
    row.last = new Step(arrow, row, seq, this.tickAt(at), by, reason)
    if (row.last.depth >= 2 * caps.history) row.last.trim()
    row.phase = to
    // Who comes back from a worker's hands stands where it stood; everybody else goes to the end.
    if (to.claimable && !from.held) row.place = seq
    if (from.ended) row.queue.takeKey(row)
    this.arrive(row, from, to, dueAt)
    return row.last
  }

  /** CHECKPOINT: a held row stays where it is, and the log tells why. Gives the number of the entry. */
  rest(row: Row, note: string, at: number): number {
    const seq = this.log.nextSeq
    this.log.append(row, rests[row.phase.index] as Passage, at, row.run?.claim.worker ?? null, note)
    return seq
  }

  /** Gives a held row until then. */
  lease(row: Row, until: number): void {
    row.alarmAt = until
    if (row.heapIndex < 0) this.leases.push(row)
    else this.leases.update(row)
  }

  /** Removes an ended row for good. */
  remove(row: Row): void {
    this.depart(row, row.phase, null)
    this.rows.remove(row)
    if (row.machine !== null) this.disown(row)
    row.forget()
  }

  private depart(row: Row, from: Phase, to: Phase | null): void {
    this.count(row, from, -1)
    if (to !== null) this.count(row, to, 1)
    if (from.claimable) row.queue.remove(row)
    else if (from.timed) this.due.remove(row)
    else (this.chains[from.index] as Chain).remove(row)
    if (from.held && to?.held === true) return
    row.alarmAt = null
    if (from.held) this.giveUp(row)
  }

  private arrive(row: Row, from: Phase | null, to: Phase, dueAt: number | null): void {
    if (to.claimable) {
      row.queue.add(row)
      this.hints.ready(row.queue)
      return
    }
    if (to.timed) return this.wait(row, dueAt)
    ;(this.chains[to.index] as Chain).append(row)
    if (to.held && from?.held !== true) row.queue.hold(row)
    if (to.ended) {
      row.queue.freeKey(row)
      this.hints.ended(row.id)
    }
  }

  /** Sets when a timed row that has no due time is due; null = it waits for an event, or for the end of another job. */
  wait(row: Row, dueAt: number | null): void {
    row.alarmAt = dueAt
    if (dueAt === null) return
    this.due.push(row)
    if (this.due.peek() === row) this.hints.due(dueAt)
  }

  private giveUp(row: Row): void {
    this.leases.remove(row)
    row.queue.release(row)
    if (row.queue.capped) {
      row.queue.capped = false
      this.hints.ready(row.queue)
    }
  }

  private disown(row: Row): void {
    const parent = row.machine?.parent?.id
    const siblings = parent === undefined ? undefined : this.children.get(parent)
    if (parent === undefined || siblings === undefined) return
    siblings.delete(row)
    if (siblings.size === 0) this.children.delete(parent)
  }

  private tickAt(at: number): Tick {
    if (this.tick.at !== at) this.tick = new Tick(at)
    return this.tick
  }

  private count(row: Row, phase: Phase, by: 1 | -1): void {
    ;(this.counts[phase.index] as number) += by
    ;(row.queue.counts[phase.index] as number) += by
  }
}
