/**
 * What a run has written in transactions of its handler. After the end of the handler, however it has ended, it is
 * asked what has become of them, before anything else is decided.
 */
import { JobchartError } from '../core/errors.ts'
import type { Settlement } from '../core/settlement.ts'
import type { TxWrite } from '../client/transactions.ts'

interface Written {
  readonly write: TxWrite
  /** The end of the attempt; null for a step. */
  readonly settlement: Settlement | null
}

/** What a run has written in transactions. */
export class RunTransactions {
  private readonly written: Written[] = []

  add(written: Written): void {
    this.written.push(written)
  }

  /** Was the end of the attempt written in a transaction, whatever has become of it? */
  get hasEnd(): boolean {
    return this.written.some(({ settlement }) => settlement !== null)
  }

  /**
   * Waits until all of the transactions have ended.
   * @returns the end of the attempt that has committed; null if none has
   * @throws JobchartError STOPPED if the client is closed before
   */
  async outcome(): Promise<Settlement | null> {
    const committed = await Promise.all(this.written.map(({ write }) => hasCommitted(write)))
    return this.written.find(({ settlement }, i) => settlement !== null && committed[i])?.settlement ?? null
  }
}

export async function hasCommitted(write: TxWrite): Promise<boolean> {
  try {
    await write.settled()
    return true
  } catch (error) {
    if (error instanceof JobchartError && error.code === 'TX_ROLLED_BACK') return false
    throw error
  }
}

