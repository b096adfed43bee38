/** The queues of the file: read when they are needed, written at the end of a transaction. */
import { addTo, noActivity, oldestPeriod, periodNames, periodStart, type Counted } from '../../core/activity.ts'
import type { HeldTerms } from '../../core/key-terms.ts'
import type { MachineStanding } from '../../core/machine-tally.ts'
import { statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { QueueValues } from './columns.ts'
import { Contradiction } from './errors.ts'
import { Queue, type Front } from './queue.ts'
import type { Statements } from './statements.ts'

/** The number of all queues together in the table of activity: none has it. */
export const allQueues = 0

const backlogStates = statesTagged('backlog')

/** What queues were before something that may be taken back; null = they were not there. */
type Before = Map<
  Queue,
  Pick<
    Queue,
    'counts' | 'keyed' | 'clock' | 'keyRate' | 'keyTerms' | 'minuteAt' | 'minute' | 'machines' | 'front'
  > | null
>

export class Queues {
  private readonly sql: Statements
  private readonly byType = new Map<string, Queue>()
  private readonly byNumber = new Map<number, Queue>()
  /** Those that were read since another process wrote. */
  private readonly fresh = new Set<Queue>()
  private allFresh = false
  /** Those with changes that are not written yet. */
  private readonly unwritten = new Set<Queue>()
  /** The state at the savepoint, while there is one. */
  private before: Before | null = null
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

  /** A queue has changed: it is written at the end of the transaction. */
  changed(queue: Queue): void {
    this.unwritten.add(queue)
  }

  /** Jobs that wait to run, of all types. */
  backlog(): number {
    return (this.waiting ??= this.all().reduce((sum, queue) => sum + queue.backlog, 0))
  }

  /** So many more of its jobs are in a state; negative: fewer. */
  count(queue: Queue, state: JobState, by: number): void {
    this.remind(queue)
    this.add(queue, state, by)
    this.unwritten.add(queue)
  }

  /** One of its jobs goes from one state to another. */
  move(queue: Queue, from: JobState, to: JobState): void {
    this.remind(queue)
    this.add(queue, from, -1)
    this.add(queue, to, 1)
    this.unwritten.add(queue)
  }

  private add(queue: Queue, state: JobState, by: number): void {
    queue.count(state, by)
    if (this.waiting !== null && backlogStates.has(state)) this.waiting += by
  }

  /** One more or one fewer of its jobs that have not ended has a machine in these states and with these tags. */
  countMachine(queue: Queue, standing: MachineStanding, by: 1 | -1): void {
    this.remind(queue)
    queue.countMachine(standing, by)
    this.unwritten.add(queue)
  }

  countOutcome(queue: Queue, outcome: string): void {
    this.remind(queue)
    queue.countOutcome(outcome)
    this.unwritten.add(queue)
  }

  /** Adds a transition to its activity. */
  countActivity(queue: Queue, counted: Counted, ms: number, now: number): void {
    this.remind(queue)
    if (queue.isPastMinute(now)) this.turnMinute(queue, now)
    addTo(queue.minute, counted, ms)
    this.unwritten.add(queue)
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

  setFront(queue: Queue, front: Front | null): void {
    this.remind(queue)
    queue.front = front
    this.unwritten.add(queue)
  }

  setClock(queue: Queue, clock: number): void {
    this.remind(queue)
    queue.clock = clock
    this.unwritten.add(queue)
  }

  setKeyRate(queue: Queue, keyRate: string | null): void {
    this.remind(queue)
    queue.keyRate = keyRate
    this.unwritten.add(queue)
  }

  setKeyTerms(queue: Queue, keyTerms: HeldTerms | null): void {
    if (keyTerms === queue.keyTerms) return
    this.remind(queue)
    queue.keyTerms = keyTerms
    this.unwritten.add(queue)
  }

  /** Remembers what a queue was, if that may be needed. */
  private remind(queue: Queue): void {
    if (this.before === null || this.before.has(queue)) return
    const { keyed, clock, keyRate, keyTerms, minuteAt, machines, front } = queue
    this.before.set(queue, {
      counts: { ...queue.counts },
      keyed,
      clock,
      keyRate,
      keyTerms,
      minuteAt,
      minute: [...queue.minute],
      machines,
      front,
    })
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
