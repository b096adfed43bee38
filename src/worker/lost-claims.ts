/**
 * Claims that have failed although the store may have carried them out: their answers were lost with a connection, or
 * came too late. Nobody runs what such a claim has leased. When the store answers again it is released, by the token of
 * that claim: otherwise it would wait for the end of its lease.
 */
import { JobchartError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import { released } from '../core/settlement.ts'
import type { ClaimRequest, Store } from '../store.ts'
import type { Timers } from '../client/timers.ts'
import type { LeaseClock } from './lease-clock.ts'
import type { Runs } from './runs.ts'

const retryMs = 1_000

interface LostClaimsOptions {
  readonly store: Pick<Store, 'workers' | 'settle'>
  readonly worker: string
  readonly runs: Pick<Runs, 'find'>
  readonly leaseMs: number
  readonly time: Pick<LeaseClock, 'read'>
  readonly timers: Pick<Timers, 'after'>
  /** Jobs of this type may have been released. */
  readonly wake: (type: string) => void
  readonly logger: Logger
}

interface LostClaim {
  readonly token: string
  readonly types: readonly string[]
  /** When its leases have ended. */
  readonly until: number
}

export class LostClaims {
  private lost: LostClaim[] = []
  private isReleasing = false
  private readonly options: LostClaimsOptions

  constructor(options: LostClaimsOptions) {
    this.options = options
  }

  failed({ token, demand }: Pick<ClaimRequest, 'token' | 'demand'>, error: unknown): void {
    const { time, leaseMs } = this.options
    if (!(error instanceof JobchartError) || error.code !== 'STORE_UNAVAILABLE') return
    const until = time.read() + leaseMs
    this.lost = [...this.held(), { token, types: demand.map(({ type }) => type), until }]
  }

  /** Those whose leases have not ended. */
  private held(): LostClaim[] {
    const now = this.options.time.read()
    return this.lost.filter(({ until }) => now < until)
  }

  /** The store has answered a claim. */
  answered(): void {
    if (this.lost.length > 0 && !this.isReleasing) void this.release()
  }

  private async release(): Promise<void> {
    const { store, worker, runs, timers, wake, logger } = this.options
    const lost = this.held()
    this.lost = []
    this.isReleasing = true
    try {
      const leased = (await store.workers()).find(({ id }) => id === worker)?.running ?? []
      const known = runs.find(leased.map(({ id }) => id))
      const unknown = leased.filter((_, i) => known[i] === null)
      for (const { token } of unknown.length === 0 ? [] : lost) {
        // Jobs of a claim that is answered meanwhile have another token: nothing is changed of them.
        const releases = unknown.map((job) =>
          released({ ...job, token, ...counters }, 'the answer to its claim was lost'),
        )
        const answers = await store.settle(releases)
        answers.forEach(({ outcome }, i) => outcome === 'settled' && wake(unknown[i]?.type ?? ''))
      }
    } catch (error) {
      logger.debug('lost claims could not be released', { error })
      this.lost.push(...lost)
      // It is tried again after the next claim. Jobs may have been released although that was not answered.
      timers.after(retryMs, () => lost.flatMap(({ types }) => types).forEach(wake))
    }
    this.isReleasing = false
  }
}

/** A release depends on none of them. */
const counters = { generation: 1, maxAttempts: 1 }
