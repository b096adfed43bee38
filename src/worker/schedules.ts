/**
 * Fires schedules. One timer is set for the next tick of all schedules that this process may fire. It reads due
 * schedules, makes their jobs and asks the store to fire: the first process advances the schedule, and the writes of
 * others have no effect.
 */
import type { Timer } from '../core/clock.ts'
import type { FireSchedule, FireScheduleAnswer, InsertAnswer, NewJob, StoredSchedule } from '../store.ts'
import { promised } from '../client/answer.ts'
import type { Connection } from '../client/connection.ts'
import { UnfiredTicks } from '../client/schedules.ts'

const batchSize = 100
const afterErrorMs = 1_000

export class ScheduleFirer {
  private timer: Timer | null = null
  private timerAt = Infinity
  private firing: Promise<void> | null = null
  private again = false
  private running = false
  private readonly connection: Connection

  constructor(connection: Connection) {
    this.connection = connection
  }

  start(): void {
    this.running = true
    void this.fire()
  }

  stop(): void {
    this.running = false
    this.timer?.cancel()
    this.timerAt = Infinity
  }

  /** A schedule is due at `at`, by the store's clock. */
  due(at: number): void {
    if (!this.running || at >= this.timerAt) return
    this.timer?.cancel()
    this.timerAt = at
    const { timers, store } = this.connection
    this.timer = timers.after(at - store.now(), () => {
      this.timerAt = Infinity
      void this.fire()
    })
  }

  /** Fires the schedules that are due now. */
  fire(): Promise<void> {
    // A running call may miss a tick that became due meanwhile.
    this.again = this.firing !== null
    return (this.firing ??= this.connection.waits.outside(() => this.fireAll()))
  }

  private async fireAll(): Promise<void> {
    do {
      this.again = false
      const nextAt = await this.inBatches()
      if (nextAt !== null) this.due(nextAt)
    } while (this.again)
    this.firing = null
  }

  /** Nothing is fired while the runtime accepts no jobs. */
  private get mayFire(): boolean {
    return this.running && this.connection.refusing() === null
  }

  /** Returns when to fire again. */
  private async inBatches(): Promise<number | null> {
    const { store, schedules, repeated } = this.connection
    const failure = 'schedules could not be fired; the call is repeated'
    try {
      while (this.mayFire) {
        const due = await store.schedules.due({ computed: schedules.computedNames, limit: batchSize })
        if (due.schedules.length === 0) {
          repeated.succeeded(failure)
          return due.nextAt
        }
        if (!this.mayFire) return null
        const answers = await this.ask(await Promise.all(due.schedules.map((each) => this.requestOf(each))))
        if (answers.every(({ outcome }) => outcome === 'failed')) return store.now() + afterErrorMs
      }
    } catch (error) {
      if (this.running) repeated.failed(failure, { error })
      return store.now() + afterErrorMs
    }
    return null
  }

  private async requestOf(schedule: StoredSchedule): Promise<FireSchedule> {
    const { store, schedules, settings } = this.connection
    try {
      return await schedules.firing(schedule, store.now())
    } catch (error) {
      if (!(error instanceof UnfiredTicks)) throw error
      settings.logger.error('the input function of a schedule failed: no job was made', {
        schedule: schedule.name,
        error: error.cause,
      })
      return error.request
    }
  }

  private ask(requests: readonly FireSchedule[]): Promise<readonly FireScheduleAnswer[]> {
    const { store, hub } = this.connection
    return promised(
      () => store.schedules.fire(requests),
      (answers) => {
        answers.forEach((answer, i) => {
          hub.emitAll(answer.transitions)
          this.made(requests[i] as FireSchedule, answer)
        })
        return answers
      },
    )
  }

  private made({ name, ticks }: FireSchedule, { outcome, ticks: answers, error }: FireScheduleAnswer): void {
    const { logger } = this.connection.settings
    if (outcome === 'failed') logger.error('the job of a schedule could not be written', { schedule: name, error })
    const jobs: NewJob[] = []
    const made: InsertAnswer[] = []
    answers.forEach((answer, i) => {
      const job = ticks[i]?.job
      if (answer.outcome === 'skipped' || job === undefined) return
      if (answer.outcome === 'id-taken') {
        logger.error('a schedule made no job: its id belongs to a job of another type', { schedule: name, id: job.id })
      }
      jobs.push(job)
      made.push(answer)
    })
    this.connection.inserted(jobs, made)
  }
}
