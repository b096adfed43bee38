/**
 * Settles: decides what becomes of the jobs of ended runs, and writes the ends of a turn in one call. Ends whose write
 * has failed are written again together, which the token makes safe, until their leases have expired and the jobs are
 * rescued anyway.
 */
import type { OperatorFunction, Subscriber } from 'rxjs'
import type { Timer } from '../core/clock.ts'
import { recordError } from '../core/failure.ts'
import { dead, type Settlement } from '../core/settlement.ts'
import { JobchartError } from '../core/errors.ts'
import type { RepeatedCalls } from '../core/repeated-calls.ts'
import type { SettleAnswer, Store } from '../store.ts'
import { refusedBy, whenAnswered } from '../client/answer.ts'
import { decide, type DecideOptions } from './decide.ts'
import type { Health } from './health.ts'
import type { LeaseClock } from './lease-clock.ts'
import type { Run } from './attempt.ts'
import type { RunTransactions } from './run-transactions.ts'
import { notCommitted, reportThrown } from './writes-in-transactions.ts'
import { stage } from './stage.ts'
import type { StoreCalls } from './store-calls.ts'
import type { Timers } from '../client/timers.ts'
import type { Workload } from './workload.ts'

const retryMs = { first: 25, max: 2_000 }
const writeFailed = 'the store is unavailable; the writes of the ends of jobs are repeated'

export interface SettleRunsOptions extends Omit<DecideOptions, 'now'> {
  readonly store: Pick<Store, 'settle' | 'get' | 'now' | 'name'>
  readonly health: Health
  readonly repeated: RepeatedCalls
  readonly timers: Pick<Timers, 'after'>
  readonly time: Pick<LeaseClock, 'read'>
  readonly workload: Pick<Workload, 'done' | 'lose'>
  readonly storeCalls: Pick<StoreCalls, 'sent'>
}

/** Ends of runs that were written together, and the answer to each. */
export interface SettledRuns {
  readonly runs: readonly Run[]
  readonly settlements: readonly Settlement[]
  readonly answers: readonly SettleAnswer[]
}

/** From the runs that ended in one turn to their ends as the store has written them. */
export const settleRuns = (options: SettleRunsOptions): OperatorFunction<readonly Run[], SettledRuns> =>
  stage(options.logger, (out) => {
    const settler = new Settler(options, out)
    return (ended) => settler.settle(ended)
  })

class Settler {
  private readonly options: SettleRunsOptions
  private readonly deciding: DecideOptions
  private readonly out: Subscriber<SettledRuns>
  /** Ends whose write has failed while the store is away, and when they are written again, after how many tries. */
  private readonly unwritten = new Map<Run, Settlement>()
  private timer: Timer | null = null
  private tries = 0

  constructor(options: SettleRunsOptions, out: Subscriber<SettledRuns>) {
    this.options = options
    this.out = out
    out.add(() => this.stopped())
    const { random, logger, store } = options
    this.deciding = { random, logger, now: () => store.now() }
  }

  settle(ended: readonly Run[]): void {
    const { workload } = this.options
    const runs: Run[] = []
    const settlements: Settlement[] = []
    let waiting = 0
    for (const run of ended) {
      if (run.transactions !== null) {
        void this.afterTransactions(run, run.transactions)
        waiting++
        continue
      }
      const settlement = decide(run, this.deciding)
      if (settlement === null) {
        run.endSpan('lost')
        continue
      }
      runs.push(run)
      settlements.push(settlement)
    }
    const unsettled = ended.length - runs.length - waiting
    if (unsettled > 0) queueMicrotask(() => workload.done(unsettled))
    if (runs.length > 0) this.write(runs, settlements)
  }

  /** A transaction that has committed the end of an attempt decides, however the handler has ended. */
  private async afterTransactions(run: Run, transactions: RunTransactions): Promise<void> {
    const { logger, workload } = this.options
    try {
      const committed = await this.committed(run, transactions)
      if (committed !== null && run.ending === 'threw') reportThrown(logger, run)
      if (committed === null && run.ending === 'returned' && transactions.hasEnd) {
        run.ending = 'threw'
        run.result = notCommitted(run)
      }
      // The same settlement again gets the answer that it has had after the commit.
      const settlement = committed ?? decide(run, this.deciding)
      if (settlement !== null) return this.write([run], [settlement])
      run.endSpan('lost')
    } catch (error) {
      const { id } = run.claimed
      logger.warn('it is not known what has become of the transaction of a handler; its lease decides', { error, id })
      run.endSpan('lost')
      return workload.lose(1)
    }
    workload.done(1)
  }

  /**
   * The end of the attempt that a transaction has committed. If the server cannot tell, the job does: what was
   * committed is carried out by now, and then the job does not run in this attempt any more.
   */
  private async committed(
    { claimed: { id, attempt, generation } }: Run,
    transactions: RunTransactions,
  ): Promise<Settlement | null> {
    const end = await transactions.outcome()
    if (end === null || end.isCertain) return end?.settlement ?? null
    const [job] = await this.options.store.get([id])
    const isLeased = job?.state === 'running' || job?.state === 'cancelling'
    return isLeased && job.attempt === attempt && job.generation === generation ? null : end.settlement
  }

  private write(runs: readonly Run[], settlements: readonly Settlement[]): void {
    const { store, storeCalls, health, repeated } = this.options
    whenAnswered(
      () => storeCalls.sent('ends', store.settle(settlements)),
      (answers) => {
        health.answered()
        repeated.succeeded(writeFailed)
        this.tries = 0
        this.answered({ runs, settlements, answers })
        this.writeUnwritten()
      },
      (error) => this.failed(runs, settlements, error),
    )
  }

  private failed(runs: readonly Run[], settlements: readonly Settlement[], error: unknown): void {
    const { health, time } = this.options
    if (error instanceof JobchartError) health.failed(error)
    const isRefused = !(error instanceof JobchartError && error.code === 'STORE_UNAVAILABLE')
    const now = time.read()
    const lost: Run[] = []
    for (const [i, run] of runs.entries()) {
      if (isRefused || now >= run.lease.fenceAt) lost.push(run)
      else this.unwritten.set(run, settlements[i] as Settlement)
    }
    if (lost.length > 0) this.giveUp(lost, error)
    if (this.out.closed) this.stopped()
    if (this.unwritten.size > 0) this.repeat(error)
    else this.options.repeated.givenUp(writeFailed)
  }

  /** Nothing is written after the stop. */
  private stopped(): void {
    for (const run of this.unwritten.keys()) run.endSpan('lost')
  }

  private giveUp(runs: readonly Run[], error: unknown): void {
    for (const run of runs) run.endSpan('lost')
    this.options.logger.error(
      'the ends of jobs could not be written; the jobs run again when their leases have expired',
      {
        error,
        ids: runs.slice(0, 20).map((run) => run.claimed.id),
        jobs: runs.length,
      },
    )
    this.options.workload.lose(runs.length)
  }

  /** Ends that fail meanwhile wait for the same repetition. */
  private repeat(error: unknown): void {
    if (this.timer !== null) return
    const { repeated, timers } = this.options
    repeated.failed(writeFailed, { error, jobs: this.unwritten.size })
    const delayMs = Math.min(retryMs.first * 2 ** this.tries++, retryMs.max)
    this.timer = timers.after(delayMs, () => this.writeUnwritten())
  }

  /** Together; also when the store has just answered, so that none waits longer. */
  private writeUnwritten(): void {
    this.timer?.cancel()
    this.timer = null
    if (this.unwritten.size === 0) return
    const [runs, settlements] = [[...this.unwritten.keys()], [...this.unwritten.values()]]
    this.unwritten.clear()
    this.write(runs, settlements)
  }

  private answered(settled: SettledRuns): void {
    const { runs, settlements, answers } = settled
    for (const [i, run] of runs.entries()) this.endSpan(run, settlements[i] as Settlement, answers[i] as SettleAnswer)
    this.out.next(settled)
    let rewritten = 0
    for (let i = 0; i < runs.length; i++) {
      const { outcome, error } = answers[i] as SettleAnswer
      const run = runs[i] as Run
      if (outcome === 'lost') this.reportLost(run)
      else if (outcome === 'failed' && this.rewrite(run, settlements[i] as Settlement, error)) rewritten++
    }
    this.options.workload.done(runs.length - rewritten)
  }

  /** As it was written: the job may have been cancelled meanwhile, or have gone to another worker. */
  private endSpan(run: Run, settlement: Settlement, { outcome, to }: SettleAnswer): void {
    if (run.span === null || outcome === 'failed') return
    run.endSpan(outcome === 'lost' ? 'lost' : { ...settlement, to })
  }

  private reportLost({ claimed: { id, attempt } }: Run): void {
    this.options.logger.warn('the result of a run was refused: its lease is lost', { id, attempt })
  }

  /**
   * The store could not write a settlement. A retry would repeat the work and fail in the same way: the job is settled
   * as dead with that error, if that can be written.
   * @returns is that tried?
   */
  private rewrite(run: Run, settlement: Settlement, error: SettleAnswer['error']): boolean {
    const { logger, store } = this.options
    const { id } = run.claimed
    if (settlement.error?.code === 'STORE_REFUSED') {
      logger.error('the end of a job could not be written; the job runs again when its lease has expired', {
        error,
        id,
      })
      run.endSpan('lost')
      return false
    }
    logger.error('the end of a job could not be written; the job becomes dead', { error, id })
    this.write([run], [dead(run.claimed, recordError(refusedBy(store.name, `the end of job ${id}`, error)))])
    return true
  }
}
