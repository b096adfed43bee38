/**
 * What a run has written in transactions of its handler. After the end of the handler, however it has ended, it is
 * asked what has become of them, before anything else is decided.
 */
import { JobchartError } from '../core/errors.ts'
import type { Settlement } from '../core/settlement.ts'
import type { TxWrite } from '../client/transactions.ts'

/** The end of an attempt that was written in a transaction which has ended. */
interface EndInTransaction {
  readonly settlement: Settlement
  /** Is it known that the transaction has committed? Otherwise the job tells. */
  readonly isCertain: boolean
}

interface Written {
  readonly write: Pick<TxWrite, 'settled'>
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
   * @returns the end of the attempt that has committed, or may have; null if none has
   * @throws JobchartError STOPPED if the client is closed before
   */
  async outcome(): Promise<EndInTransaction | null> {
    const committed = await Promise.all(this.written.map(({ write }) => commitOf(write)))
    const ends = this.written.flatMap(({ settlement }, i): EndInTransaction[] =>
      settlement === null || committed[i] === 'no' ? [] : [{ settlement, isCertain: committed[i] === 'certain' }],
    )
    return ends.find(({ isCertain }) => isCertain) ?? ends[0] ?? null
  }
}

async function commitOf(write: Pick<TxWrite, 'settled'>): Promise<'certain' | 'uncertain' | 'no'> {
  try {
    return (await write.settled()) ? 'certain' : 'uncertain'
  } catch (error) {
    if (error instanceof JobchartError && error.code === 'TX_ROLLED_BACK') return 'no'
    throw error
  }
}

export const hasCommitted = async (write: TxWrite): Promise<boolean> => (await commitOf(write)) !== 'no'
