/** Claims: sends what was picked to the store. If the call fails, its jobs are picked again later. */
import { nanoid } from 'nanoid'
import type { OperatorFunction } from 'rxjs'
import type { Logger } from '../core/logger.ts'
import type { RepeatedCalls } from '../core/repeated-calls.ts'
import type { ClaimAnswer, Store } from '../store.ts'
import { whenAnswered } from '../client/answer.ts'
import type { Claim, Claims } from './claims.ts'
import type { Health } from './health.ts'
import { fenceAt, type ConfirmedLease, type LeaseClock } from './lease-clock.ts'
import type { LostClaims } from './lost-claims.ts'
import { stage } from './stage.ts'
import type { StoreCalls } from './store-calls.ts'

const claimFailed = 'a claim failed; it is repeated until the store answers'

export interface ClaimPicksOptions {
  readonly store: Pick<Store, 'claim'>
  readonly storeCalls: Pick<StoreCalls, 'sent'>
  readonly worker: string
  /** `startedAt`: when the worker started, by the store's clock, ms. */
  readonly registration: { readonly startedAt: number }
  readonly leaseMs: number
  readonly claims: Pick<Claims, 'answered' | 'take' | 'failed'>
  readonly lostClaims: Pick<LostClaims, 'answered' | 'failed'>
  readonly time: Pick<LeaseClock, 'read'>
  readonly health: Health
  readonly repeated: RepeatedCalls
  readonly logger: Logger
}

/** A claim that the store has answered. */
export interface AnsweredClaim {
  readonly claim: Claim
  readonly answer: ClaimAnswer
  /** Of all its jobs. Confirmed when the claim was sent: a lower bound for the time of the answer's data. */
  readonly lease: ConfirmedLease
}

export function claimPicks(options: ClaimPicksOptions): OperatorFunction<Claim, AnsweredClaim> {
  const { store, storeCalls, worker, registration, leaseMs, claims, lostClaims, time, health, repeated, logger } =
    options
  return stage(logger, (out) => (claim) => {
    const sentAt = time.read()
    const { startedAt } = registration
    const request = { worker, leaseMs, token: nanoid(), startedAt, demand: claim.picks.demand }
    whenAnswered(
      () => storeCalls.sent('claim', store.claim(request)),
      (answer) => {
        claims.answered()
        lostClaims.answered()
        health.answered()
        repeated.succeeded(claimFailed)
        const lease = { confirmedAt: sentAt, fenceAt: fenceAt(sentAt, leaseMs) }
        claims.take(() => out.next({ claim, answer, lease }))
      },
      (error) => {
        health.failed(error)
        lostClaims.failed(request, error)
        claims.failed(claim)
        repeated.failed(claimFailed, { error }, 'error')
      },
    )
  })
}
