/**
 * The heat of charts: numbers by type, hour and name. What a transaction counts is added up and written at its end,
 * because the machines of a type do the same again and again.
 */
import { heatFrom, hourOf, oldestHeat, oldestHeatHour } from '../../core/heat.ts'
import type { HeatQuery, StoredHeat } from '../../store.ts'
import type { Queues } from './queues.ts'
import type { Statements } from './statements.ts'

interface Counted {
  readonly queue: number
  readonly name: string
  readonly count: number
  readonly lastId: string
}

export class HeatTable {
  private readonly sql: Statements
  private readonly queues: Queues
  /** What is not written yet. */
  private counted: Counted[] = []
  /** How many of it were counted before the savepoint, while there is one. */
  private marked: number | null = null
  /** The hour that was written to last; null = unknown. */
  private hour: number | null = null

  constructor(sql: Statements, queues: Queues) {
    this.sql = sql
    this.queues = queues
  }

  add(queue: number, name: string, count: number, lastId: string): void {
    this.counted.push({ queue, name, count, lastId })
  }

  /** Sets a savepoint. */
  mark(): void {
    this.marked = this.counted.length
  }

  /** Ends the savepoint. @param stays false forgets what was counted since */
  endMark(stays: boolean): void {
    if (!stays && this.marked !== null) this.counted.length = this.marked
    this.marked = null
  }

  write(now: number): void {
    const { counted } = this
    if (counted.length === 0) return
    const hour = hourOf(now)
    const sums = new Map<string, Counted>()
    for (const each of counted) {
      const key = `${each.queue} ${each.name}`
      const sum = sums.get(key)
      sums.set(key, sum === undefined ? each : { ...each, count: sum.count + each.count })
    }
    for (const { queue, name, count, lastId } of sums.values())
      this.sql.run('addHeat', queue, hour, name, count, lastId)
    if (this.hour !== hour) {
      this.sql.run('addHeatUp', oldestHeatHour(now))
      this.sql.run('forgetHours', oldestHeatHour(now))
      this.sql.run('forgetDays', oldestHeat(now))
    }
    this.hour = hour
    this.counted = []
  }

  /** A transaction was rolled back. */
  forget(): void {
    this.counted = []
    this.marked = null
    this.hour = null
  }

  read({ type, period }: HeatQuery, now: number): StoredHeat {
    this.write(now)
    const from = heatFrom(period, now)
    const queue = this.queues.known(type)
    const found = queue === undefined ? [] : this.sql.all('heatOf', queue.number, from)
    return { from, counts: found.map(([name, count, lastId]) => ({ name, count, lastId })) }
  }
}
