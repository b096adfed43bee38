/** `ctx.complete`, `ctx.fail` and `ctx.snooze`: ends of an attempt as the handler writes them in its transaction. */
import type { Random } from '../core/clock.ts'
import { durationMs } from '../core/duration.ts'
import { payloadLimits } from '../core/limits.ts'
import type { Logger } from '../core/logger.ts'
import { toPayload } from '../core/payload.ts'
import { completed, snoozedFor, type Settlement } from '../core/settlement.ts'
import type { Store } from '../store.ts'
import type { ContextServices, Run } from './attempt.ts'
import { failed, leaseOf } from './decide.ts'
import type { WritesInTransactions } from './writes-in-transactions.ts'

interface RunEndsOptions {
  readonly store: Pick<Store, 'now'>
  readonly random: Random
  readonly logger: Logger
  readonly inTransactions: WritesInTransactions
}

export function runEnds({
  store,
  random,
  logger,
  inTransactions,
}: RunEndsOptions): Pick<ContextServices, 'complete' | 'fail' | 'snooze'> {
  const deciding = { random, logger, now: () => store.now() }
  return {
    async complete(run, tx, output) {
      const what = ['output of job', run.claimed.type] as const
      const payload = output === undefined ? undefined : toPayload(output, 'INVALID_OUTPUT', payloadLimits, ...what)
      await inTransactions.settle(run, tx, withReports(run, completed(leaseOf(run), payload)))
    },
    async fail(run, tx, error) {
      await inTransactions.settle(run, tx, withReports(run, failed(run, error, deciding)))
    },
    async snooze(run, tx, delay) {
      const delayMs = durationMs(delay, 'delay of ctx.snooze')
      await inTransactions.settle(run, tx, withReports(run, snoozedFor(leaseOf(run), delayMs)))
    },
  }
}

/** With the reports that are not written yet: those that follow are written by heartbeats only. */
const withReports = ({ checkin, logs }: Run, settlement: Settlement): Settlement => ({
  ...settlement,
  ...(checkin && { checkin }),
  ...(logs && { logs: [...logs] }),
})
