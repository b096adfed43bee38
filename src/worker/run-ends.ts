/** `ctx.complete`, `ctx.fail` and `ctx.snooze`: ends of an attempt as the handler writes them in its transaction. */
import type { Random } from '../core/clock.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import { payloadLimits } from '../core/limits.ts'
import type { Logger } from '../core/logger.ts'
import { toPayload } from '../core/payload.ts'
import { completed, snoozedFor, type Settlement } from '../core/settlement.ts'
import type { Store } from '../store.ts'
import type { ContextServices, Run } from './attempt.ts'
import { failed, leaseOf } from './decide.ts'
import { RunEnqueue } from './run-enqueue.ts'
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
}: RunEndsOptions): Pick<ContextServices, 'complete' | 'fail' | 'snooze' | 'within'> {
  const deciding = { random, logger, now: () => store.now() }
  const completedWith = (run: Run, output: unknown): Settlement => {
    const what = ['output of job', run.claimed.type] as const
    const payload = output === undefined ? undefined : toPayload(output, 'INVALID_OUTPUT', payloadLimits, ...what)
    return withReports(run, completed(leaseOf(run), payload))
  }
  const failedWith = (run: Run, error: unknown): Settlement => withReports(run, failed(run, error, deciding))
  const snoozedBy = (run: Run, delay: Duration): Settlement =>
    withReports(run, snoozedFor(leaseOf(run), durationMs(delay, 'delay of ctx.snooze')))
  return {
    async complete(run, tx, output) {
      await inTransactions.settle(run, tx, completedWith(run, output))
    },
    async fail(run, tx, error) {
      await inTransactions.settle(run, tx, failedWith(run, error))
    },
    async snooze(run, tx, delay) {
      await inTransactions.settle(run, tx, snoozedBy(run, delay))
    },
    within: (run, tx) => ({
      complete: (output) => inTransactions.settleNow(run, tx, completedWith(run, output)),
      fail: (error) => inTransactions.settleNow(run, tx, failedWith(run, error)),
      snooze: (delay) => inTransactions.settleNow(run, tx, snoozedBy(run, delay)),
      enqueue(job, ...[input, options = {}]) {
        inTransactions.checkRunning(run)
        const enqueue = (run.enqueue ??= new RunEnqueue(run.claimed))
        const made = enqueue.options(job?.type, input, options)
        return run.traced(() => run.services.enqueueNow(tx, job, input, made))
      },
    }),
  }
}

/** With the reports that are not written yet: those that follow are written by heartbeats only. */
const withReports = ({ checkin, logs }: Run, settlement: Settlement): Settlement => ({
  ...settlement,
  ...(checkin && { checkin }),
  ...(logs && { logs: [...logs] }),
})
