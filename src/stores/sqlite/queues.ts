/** The queues of the file: read when they are needed, written at the end of a transaction. */
import { addTo, noActivity, oldestPeriod, periodNames, periodStart, type Counted } from '../../core/activity.ts'
import { statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { QueueValues } from './columns.ts'
import { Contradiction } from './errors.ts'
import { Queue } from './queue.ts'
import type { Statements } from './statements.ts'

/** The number of all queues together in the table of activity: none has it. */
export const allQueues = 0

const backlogStates = statesTagged('backlog')

/** What may be taken back of a queue. */
const memento = ({ counts, minute, keyed, clock, keyRate, keyTerms, minuteAt, machines, front }: Queue) => {
  return { counts: { ...counts }, minute: [...minute], keyed, clock, keyRate, keyTerms, minuteAt, machines, front }
}

export class Queues {
  private readonly sql: Statements
  private readonly byType = new Map<string, Queue>()
  private readonly byNumber = new Map<number, Queue>()
  /** Those that were read since another process wrote. */
  private readonly fresh = new Set<Queue>()
  private allFresh = false
  /** Those with changes that are not written yet. */
  private readonly unwritten = new Set<Queue>()
  /** What queues were at the savepoint, while there is one; null = they were not there. */
  private before: Map<Queue, ReturnType<typeof memento> | null> | null = null
  /** Jobs that wait to run, of all types; null = unknown. */
  private waiting: number | null = null
  /** Numbers of the paused queues when they were last read; null = unknown. */
  private paused: Set<number> | null = null

  constructor(sql: Statements) {
    this.sql = sql
  }

  /** The queue of a type, made when it is first needed. */
  of(type: string): Queue {
    const known = this.known(type)
    if (known !== undefined) return known
    const number = this.sql.get('addQueue', type)?.[0] as number
    const queue = this.remember(new Queue(number, type))
    this.before?.set(queue, null)
    return queue
  }

  /** The queue of a type, if it ever had a job. */
  known(type: string): Queue | undefined {
    const queue = this.byType.get(type)
    if (queue !== undefined && this.fresh.has(queue)) return queue
    const values = this.sql.get('queueOf', type)
    return values === undefined ? undefined : this.readQueue(values)
  }

  at(number: number): Queue {
    const queue = this.byNumber.get(number)
    if (queue !== undefined && this.fresh.has(queue)) return queue
    const values = this.sql.get('queueAt', number)
    if (values === undefined) throw new Contradiction(`the file has no queue ${number}`)
    return this.readQueue(values)
  }

  all(): Queue[] {
    if (!this.allFresh) {
      for (const values of this.sql.all('queues')) {
        const queue = this.byNumber.get(values[0])
        if (queue === undefined || !this.fresh.has(queue)) this.readQueue(values)
      }
      this.allFresh = true
    }
    return [...this.byNumber.values()]
  }

  /** A queue is about to change: it is written at the end of the transaction. */
  changing(queue: Queue): Queue {
    if (this.before !== null && !this.before.has(queue)) this.before.set(queue, memento(queue))
    this.unwritten.add(queue)
    return queue
  }

  /** Jobs that wait to run, of a type or of all types (null). */
  backlogOf(type: string | null): number {
    if (type !== null) return this.known(type)?.backlog ?? 0
    return (this.waiting ??= this.all().reduce((sum, queue) => sum + queue.backlog, 0))
  }

  /** So many more of its jobs are in a state; negative: fewer. */
  count(queue: Queue, state: JobState, by: number): void {
    this.changing(queue).count(state, by)
    if (this.waiting !== null && backlogStates.has(state)) this.waiting += by
  }

  /** One of its jobs goes from one state to another. */
  move(queue: Queue, from: JobState, to: JobState): void {
    this.count(queue, from, -1)
    this.count(queue, to, 1)
  }

  /** Adds a transition to its activity. */
  countActivity(queue: Queue, counted: Counted, ms: number, now: number): void {
    this.changing(queue)
    if (queue.isPastMinute(now)) this.turnMinute(queue, now)
    addTo(queue.minute, counted, ms)
  }

  /** Ends the current minute of a queue, begins another, and removes the periods that are no longer kept. */
  private turnMinute(queue: Queue, now: number): void {
    const { number, minuteAt, minute } = queue
    for (const period of periodNames) {
      for (const own of minuteAt > 0 ? [number, allQueues] : [])
        this.sql.run('addActivity', own, period, periodStart(period, minuteAt), ...minute)
      for (const own of [number, allQueues]) this.sql.run('forgetActivity', own, period, oldestPeriod(period, now))
    }
    queue.minuteAt = periodStart('minute', now)
    queue.minute = noActivity()
  }

  /** Sets a savepoint. */
  mark(): void {
    this.before = new Map()
  }

  /** Ends the savepoint. @param stays false rolls back to it, and forgets the queues that were created since. */
  endMark(stays: boolean): void {
    const { before } = this
    this.before = null
    if (stays || before === null) return
    this.waiting = null
    for (const [queue, was] of before) {
      if (was === null) this.drop(queue)
      else Object.assign(queue, was)
    }
  }

  private drop(queue: Queue): void {
    this.byType.delete(queue.type)
    this.byNumber.delete(queue.number)
    this.fresh.delete(queue)
    this.unwritten.delete(queue)
  }

  /** This process has paused or resumed a queue. */
  pauseChanged({ number, paused }: Queue): void {
    if (paused) this.paused?.add(number)
    else this.paused?.delete(number)
  }

  /** Another process has written: the queues that were paused or resumed since the last call. */
  switchedElsewhere(): Queue[] {
    const before = this.paused
    const now = new Set(this.sql.all('pausedQueues').map(([number]) => number))
    this.paused = now
    return before === null ? [] : [...before.symmetricDifference(now)].map((number) => this.at(number))
  }

  write(): void {
    for (const queue of this.unwritten) {
      this.sql.run(
        'writeQueue',
        queue.paused ? 1 : 0,
        queue.keyed ? 1 : 0,
        JSON.stringify(queue.counts),
        queue.clock,
        queue.keyRate,
        queue.keyTerms === null ? null : JSON.stringify(queue.keyTerms),
        queue.minuteAt,
        JSON.stringify(queue.minute),
        queue.machines,
        queue.front?.[0] ?? null,
        queue.front?.[1] ?? null,
        queue.number,
      )
    }
    this.unwritten.clear()
  }

  /** Another process has written: the queues must be read again. */
  markStale(): void {
    this.fresh.clear()
    this.allFresh = false
    this.waiting = null
  }

  /** A transaction was rolled back. */
  forget(): void {
    this.markStale()
    this.before = null
    this.paused = null
    this.byType.clear()
    this.byNumber.clear()
    this.unwritten.clear()
  }

  private readQueue(values: QueueValues): Queue {
    return this.remember((this.byNumber.get(values[0]) ?? new Queue(values[0], values[1])).read(values))
  }

  private remember(queue: Queue): Queue {
    this.byType.set(queue.type, queue)
    this.byNumber.set(queue.number, queue)
    this.fresh.add(queue)
    return queue
  }
}
