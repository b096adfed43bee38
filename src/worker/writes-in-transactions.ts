/**
 * `ctx.complete`, `ctx.fail`, `ctx.snooze` and `ctx.step` in a transaction of the handler: what they write is part of
 * it, and fenced by the token of the attempt.
 */
import { JobchartError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { Json } from '../core/payload.ts'
import type { Settlement } from '../core/settlement.ts'
import type { StepTransaction } from '../core/steps.ts'
import type { Transactions, TxWrite } from '../client/transactions.ts'
import type { OpenTransaction, SynchronousTransaction, TxIntent } from '../store.ts'
import { runIsOver, type Run } from './attempt.ts'
import { hasCommitted, RunTransactions } from './run-transactions.ts'

interface RunTransactionOptions {
  readonly transactions: Transactions
  readonly refusal: (run: Run) => JobchartError | null
  readonly leaseMs: number
}

export interface WritesInTransactions {
  /** Ends the attempt with a transaction. @throws JobchartError as `Transactions.write`, LEASE_LOST, NOT_ACCEPTED */
  readonly settle: (run: Run, tx: OpenTransaction, settlement: Settlement) => Promise<void>
  /** As `settle`, and it is written when this returns. @throws as `settle` */
  readonly settleNow: (run: Run, tx: SynchronousTransaction, settlement: Settlement) => void
  /** @throws JobchartError NOT_ACCEPTED, the reason of the signal, LEASE_LOST */
  readonly checkRunning: (run: Run) => void
  /**
   * Keeps the result of a step with a transaction.
   * @throws as `settle`
   */
  readonly keepStep: (run: Run, tx: OpenTransaction, name: string, result: Json) => Promise<StepTransaction>
}

export function writesInTransactions({ transactions, refusal, leaseMs }: RunTransactionOptions): WritesInTransactions {
  const checkRunning = (run: Run): void => {
    const refused = run.ending === null ? refusal(run) : runIsOver(run)
    if (refused !== null) throw refused
  }
  const write = async (
    run: Run,
    tx: OpenTransaction,
    intent: TxIntent,
    settlement: Settlement | null,
  ): Promise<TxWrite> => {
    checkRunning(run)
    // Registered before it is written: the handler may end meanwhile.
    const writing = transactions.write(tx, [intent])
    const settled = async (): Promise<boolean> => {
      const written = await writing.catch(() => null)
      // What was refused is not part of the transaction.
      if (written === null) throw new JobchartError('TX_ROLLED_BACK', 'the write was refused in the transaction')
      return written.settled()
    }
    run.transactions ??= new RunTransactions()
    run.transactions.add({ write: { settled }, settlement })
    return writing
  }
  return {
    checkRunning,
    settleNow(run, tx, settlement) {
      checkRunning(run)
      const written = transactions.writeNow(tx, [{ kind: 'settle', request: settlement }])
      run.transactions ??= new RunTransactions()
      run.transactions.add({ write: written, settlement })
    },
    async settle(run, tx, settlement) {
      await write(run, tx, { kind: 'settle', request: settlement }, settlement)
    },
    async keepStep(run, tx, name, result) {
      const { id, attempt, token } = run.claimed
      const request = { id, attempt, token, steps: { [name]: result } }
      const written = await write(run, tx, { kind: 'extend', request, leaseMs }, null)
      return { committed: () => hasCommitted(written), isRolledBack: () => written.isRolledBack() }
    },
  }
}

/** The end of a handler that has returned, although none of its transactions has committed the end of its attempt. */
export const notCommitted = ({ claimed: { id, attempt } }: Run): JobchartError =>
  new JobchartError(
    'NOT_COMMITTED',
    `attempt ${attempt} of job ${id} has returned, but the transaction of its end was rolled back, or its savepoint`,
    {
      hint: 'Await the transaction in which ctx.complete, ctx.fail or ctx.snooze was called, and let its error pass.',
    },
  )

export function reportThrown(logger: Logger, { claimed: { id, attempt }, result }: Run): void {
  logger.warn('a handler threw after its transaction had committed the end of the attempt; the commit counts', {
    error: result,
    id,
    attempt,
  })
}
