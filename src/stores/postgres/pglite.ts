/** PGlite: PostgreSQL in this process. It has one connection, which those of all stores on it share. */
import { invalidOption, JobchartError } from '../../core/errors.ts'
import type { Ask, Link, ResultRow, Target } from './connection.ts'

interface RowMode {
  readonly rowMode: 'array'
}

interface Results {
  readonly rows: readonly ResultRow[]
}

/** What statements can be sent through: the database outside of its transactions, or one of these. */
interface PgliteExecutor {
  query(text: string, values: readonly unknown[], options: RowMode): Promise<Results>
  /** Statements without parameters. @returns what each has answered */
  exec(text: string, options?: RowMode): Promise<readonly Results[]>
}

/** A `PGlite`, as far as it is used. What is sent outside of a transaction waits for the end of one that is open. */
interface Pglite extends PgliteExecutor {
  readonly dataDir?: string | undefined
  transaction<T>(work: (tx: PgliteExecutor) => Promise<T>): Promise<T>
  /** @returns what ends it */
  listen(channel: string, told: (payload: string) => void): Promise<() => Promise<void>>
}

const methods = ['query', 'exec', 'transaction', 'listen'] as const

/** @throws JobchartError INVALID_OPTION */
export function pgliteTarget(value: object): Target {
  const pglite = value as Pglite
  // Of PGlite, and not of a transaction on it, or a client that looks like it.
  if (!methods.every((name) => typeof pglite[name] === 'function')) throw invalidOption('pglite', 'a PGlite', value)
  return {
    where: 'the PGlite of this process',
    isDurable: pglite.dataDir !== undefined && !pglite.dataDir.startsWith('memory:'),
    within: (tx) => askOn(executorOf(tx)),
    connect: () => Promise.resolve(new PgliteLink(pglite)),
  }
}

/** @throws JobchartError UNSUPPORTED if it is a transaction of a library on PGlite */
function executorOf(tx: object): PgliteExecutor {
  if ('exec' in tx) return tx as PgliteExecutor
  throw new JobchartError('UNSUPPORTED', 'how many jobs wait is not known in a transaction of this library on PGlite', {
    hint: 'Pass the transaction of PGlite itself, or give the queue no `capacity`.',
  })
}

class PgliteLink implements Link {
  readonly ifSilent =
    'Everything waits for a transaction that is open on this PGlite. In it, pass it to calls as `tx`, and await no other.'
  readonly isPooled = false
  readonly epoch = ''
  readonly query: Ask
  private readonly pglite: Pglite
  private ends: (() => Promise<void>)[] = []

  constructor(pglite: Pglite) {
    this.pglite = pglite
    this.query = askOn(pglite)
  }

  transaction<T>(settings: string, work: (ask: Ask) => Promise<T>): Promise<T> {
    return this.pglite.transaction(async (tx) => {
      await tx.exec(settings)
      return work(askOn(tx))
    })
  }

  async listen(channel: string, told: (payload: string) => void): Promise<void> {
    this.ends.push(await this.pglite.listen(channel, told))
  }

  /** It ends when it is closed by its owner: calls tell of it. */
  onEnd(): void {}

  close(): void {
    for (const end of this.ends) end().catch(() => {})
    this.ends = []
  }
}

const askOn =
  (executor: PgliteExecutor): Ask =>
  async (text, values = []) => {
    if (values.length > 0) return (await executor.query(text, values, { rowMode: 'array' })).rows
    return (await executor.exec(text, { rowMode: 'array' })).at(-1)?.rows ?? []
  }
