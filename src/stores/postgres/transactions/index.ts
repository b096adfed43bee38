/** Writes through transactions of users, and what has become of them. */
import { JobchartError } from '../../../core/errors.ts'
import { endsLease, endWritten, leaseOfIntents, type TxFate, type TxIntent } from '../../../core/tx-intent.ts'
import type { TransactionStore } from '../../../store.ts'
import type { Ask } from '../connection.ts'
import { columnText } from '../texts.ts'
import { adapterOf, callThrough, notOpen, statementFailed, type Adapter } from './adapters.ts'
import { refusalIn, type Refusal } from './refusals.ts'

interface TransactionsOptions {
  /**
   * How many connections the store has made. A server that has failed may give the ids of transactions anew whose
   * commits it has lost: what it says after that of those before is not certain. null: a pooler hides it.
   */
  readonly connections: () => number | null
  /** The schema, quoted. */
  readonly schema: string
  /** The random id of the store. */
  readonly storeId: () => string
  /** Asks outside of all transactions of users. */
  readonly ask: Ask
}

const fateOf: Readonly<Record<string, TxFate>> = {
  'in progress': 'open',
  committed: 'committed',
  aborted: 'rolledBack',
}

export function transactionsOf({
  connections,
  schema,
  storeId,
  ask,
}: TransactionsOptions): Pick<TransactionStore, 'write' | 'fates'> {
  /** By the transactions of libraries that do not tell whether they are open: their ids on the server. */
  const known = new WeakMap<object, string>()
  return {
    async write(tx, intents) {
      const adapter = adapterOf(tx)
      const xid = adapter.tellsState ? '' : (known.get(tx) ?? (await xidOf(adapter, schema)))
      if (xid !== '') known.set(tx, xid)
      const answer = await call(adapter, `${schema}.within`, requestOf(storeId(), xid, intents), schema)
      return `${receiptOf(answer)} ${connections()}`
    },
    async fates(receipts) {
      const parts = receipts.map((receipt) => receipt.split(' '))
      const [[statuses] = []] = await ask(`SELECT ${schema}.fates($1)`, [parts.map(([xid = '']) => xid)])
      const now = connections()
      return (statuses as readonly string[]).map((status, i) => {
        const fate = fateOf[status] ?? 'unknown'
        return fate === 'committed' && (now === null || parts[i]?.[1] !== String(now)) ? 'unknown' : fate
      })
    },
  }
}

/** Three lines: JSON has no line feeds. */
function requestOf(storeId: string, xid: string, intents: readonly TxIntent[]): string {
  const lease = leaseOfIntents(intents)
  const fence = lease === null ? '' : JSON.stringify([columnText(lease.id), lease.token, endsLease(intents)])
  return `${storeId} ${xid}\n${fence}\n${JSON.stringify(intents)}`
}

/**
 * Calls made outside of a transaction are transactions of their own: so the server is asked which one it is, and the
 * next call is refused if it is another.
 */
const xidOf = (adapter: Adapter, schema: string): Promise<string> =>
  call(adapter, `${schema}.transaction_id`, '', schema)

/** @throws JobchartError as `refused` makes it; what the library throws */
async function call(adapter: Adapter, name: string, parameter: string, schema: string): Promise<string> {
  try {
    return await callThrough(adapter, name, parameter)
  } catch (error) {
    const refusal = refusalIn(error)
    throw refusal === null ? error : refused(refusal, adapter, schema, error)
  }
}

function refused(refusal: Refusal, { library }: Adapter, schema: string, cause: unknown): JobchartError {
  switch (refusal) {
    case 'TX_NOT_OPEN':
      return notOpen(`${library} has ended it`)
    case 'TX_ABORTED':
      return notOpen(statementFailed, cause)
    case 'END_WRITTEN':
      return endWritten(cause)
    case 'LEASE_LOST': {
      const hint =
        'Roll the transaction back: the job was cancelled, or its lease has expired and it may run elsewhere.'
      return new JobchartError('LEASE_LOST', 'the attempt does not have its job any more', { hint, cause })
    }
    case 'TX_READ_ONLY': {
      const hint = 'Begin it without READ ONLY, on a server that is no standby. This one can only be rolled back.'
      return new JobchartError('INVALID_OPTION', 'tx: expected a transaction that may write', { hint, cause })
    }
    case 'TX_WITHOUT_RIGHTS': {
      const hint = `Grant it USAGE on the schema, and EXECUTE on ${schema}.within and ${schema}.transaction_id: docs/your-transaction.md. This transaction can only be rolled back.`
      const what = `the role of the transaction may not use the store in the schema ${schema}`
      return new JobchartError('STORE_UNAVAILABLE', what, { hint, cause })
    }
    case 'TX_OTHER_DATABASE': {
      const hint = `The store is in the schema ${schema} of its own database: make transaction and store with the same url.`
      const what = 'tx is a transaction on another database than that of the store'
      return new JobchartError('TX_OTHER_DATABASE', what, { hint, cause })
    }
  }
}

/**
 * The id of the subtransaction that has written: so it is known whether its savepoint was rolled back.
 * @param answer the id of the transaction with 64 bits, and that of the subtransaction with 32
 */
export function receiptOf(answer: string): string {
  const [top = '', sub = ''] = answer.split(' ')
  const epoch = BigInt(top) & ~0xffff_ffffn
  const xid = epoch | BigInt(sub)
  // Subtransactions are numbered after their transaction.
  return String(xid < BigInt(top) ? xid + 0x1_0000_0000n : xid)
}
