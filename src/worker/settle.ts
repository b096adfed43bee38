/**
 * Settles ended runs: writes the settlements of a turn in one call, then emits the events. A failed write is repeated,
 * which the token makes safe, until the leases have expired and the jobs are rescued anyway.
 */
import type { AnyJobEvent } from '../core/record.ts'
import { recordError } from '../core/failure.ts'
import { copyPayload } from '../core/payload.ts'
import { dead, type Settlement } from '../core/settlement.ts'
import { JobchartError } from '../core/errors.ts'
import type { SettleAnswer, Store } from '../store.ts'
import { refusedBy, whenAnswered } from '../client/answer.ts'
import { decide, type DecideOptions } from './decide.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { Health } from './health.ts'
import type { LeaseClock } from './lease-clock.ts'
import type { Run } from './attempt.ts'
import { withMeta } from './event-meta.ts'
import type { Timers } from '../client/timers.ts'

const retryMs = { first: 25, max: 2_000 }

interface SettlerOptions extends Omit<DecideOptions, 'now'> {
  readonly store: Store
  readonly health: Health
  readonly worker: string
  readonly hub: EventHub
  readonly timers: Timers
  readonly time: LeaseClock
  /** Called after each answer, and when there was nothing to write. */
  readonly settled: () => void
}

export class Settler {
  private inFlightCount = 0
  private readonly options: SettlerOptions
  private readonly deciding: DecideOptions

  constructor(options: SettlerOptions) {
    this.options = options
    const { random, logger, store } = options
    this.deciding = { random, logger, now: () => store.now() }
  }

  /** Number of runs whose end is not written yet. */
  get inFlight(): number {
    return this.inFlightCount
  }

  settle(ended: readonly Run[]): void {
    const runs: Run[] = []
    const settlements: Settlement[] = []
    for (const run of ended) {
      const settlement = decide(run, this.deciding)
      if (settlement === null) continue
      runs.push(run)
      settlements.push(settlement)
    }
    if (runs.length === 0) {
      // A drain or stop may wait for these runs.
      queueMicrotask(() => this.options.settled())
      return
    }
    this.inFlightCount += runs.length
    this.write(runs, settlements)
  }

  private write(runs: readonly Run[], settlements: readonly Settlement[], tries = 0): void {
    whenAnswered(
      () => this.options.store.settle(settlements),
      (answers) => {
        this.options.health.answered()
        this.inFlightCount -= runs.length
        this.publish(runs, settlements, answers)
      },
      (error) => this.failed(runs, settlements, tries, error),
    )
  }

  private failed(runs: readonly Run[], settlements: readonly Settlement[], tries: number, error: unknown): void {
    const { logger, timers, settled } = this.options
    if (error instanceof JobchartError) this.options.health.failed(error)
    const refused = !(error instanceof JobchartError && error.code === 'STORE_UNAVAILABLE')
    if (refused || this.allFenced(runs)) {
      this.inFlightCount -= runs.length
      logger.error('the ends of jobs could not be written; the jobs run again when their leases have expired', {
        error,
        ids: runs.slice(0, 20).map((run) => run.claimed.id),
        jobs: runs.length,
      })
      settled()
      return
    }
    if (tries === 0)
      logger.warn('the store is unavailable; the write of the ends of jobs is repeated', { error, jobs: runs.length })
    const delayMs = Math.min(retryMs.first * 2 ** tries, retryMs.max)
    timers.after(delayMs, () => this.write(runs, settlements, tries + 1))
  }

  private allFenced(runs: readonly Run[]): boolean {
    const now = this.options.time.read()
    return runs.every((run) => now >= run.lease.fenceAt)
  }

  private publish(runs: readonly Run[], settlements: readonly Settlement[], answers: readonly SettleAnswer[]): void {
    const { hub, logger } = this.options
    const observed = hub.hasListeners
    for (let i = 0; i < runs.length; i++) {
      const run = runs[i] as Run
      const answer = answers[i] as SettleAnswer
      if (answer.outcome === 'failed') {
        this.refused(run, settlements[i] as Settlement, answer)
        continue
      }
      if (answer.outcome === 'lost') {
        logger.warn('the result of a run was refused: its lease is lost', {
          id: run.claimed.id,
          attempt: run.claimed.attempt,
        })
        continue
      }
      if (answer.woken !== undefined) hub.emit(answer.woken)
      if (observed && hub.hasListener(run.claimed.id)) hub.emit(this.eventOf(run, settlements[i] as Settlement, answer))
      if (answer.successor !== undefined) hub.emit(answer.successor)
      if (answer.hook !== undefined) hub.emit(answer.hook)
    }
    this.options.settled()
  }

  /**
   * The store could not write a settlement. A retry would repeat the work and fail in the same way: the job is settled
   * as dead with that error, if that can be written.
   */
  private refused(run: Run, settlement: Settlement, { error }: SettleAnswer): void {
    const { logger, store } = this.options
    const { id } = run.claimed
    if (settlement.error?.code === 'STORE_REFUSED') {
      logger.error('the end of a job could not be written; the job runs again when its lease has expired', {
        error,
        id,
      })
      return
    }
    logger.error('the end of a job could not be written; the job becomes dead', { error, id })
    this.inFlightCount++
    this.write([run], [dead(run.claimed, recordError(refusedBy(store.name, `the end of job ${id}`, error)))])
  }

  private eventOf(run: Run, settlement: Settlement, answer: SettleAnswer): AnyJobEvent {
    const { id, type, attempt } = run.claimed
    const reason = settlement.reason ?? (answer.to === 'cancelled' ? run.abortReason?.message : undefined)
    return {
      seq: answer.seq,
      at: answer.at,
      id,
      type,
      event: settlement.event,
      from: answer.from,
      to: answer.to,
      attempt,
      worker: this.options.worker,
      ...(settlement.error !== undefined && { error: settlement.error }),
      ...(reason !== undefined && { reason }),
      ...withMeta(run.claimed),
      ...(settlement.output !== undefined && { value: copyPayload(settlement.output) }),
    }
  }
}
