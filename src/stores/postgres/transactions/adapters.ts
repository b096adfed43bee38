/**
 * How one statement with one text goes through the transactions of other libraries, and one text comes back. Only
 * texts: libraries differ in how they read arrays, JSON, numbers and question marks.
 */
import { describe, JobchartError } from '../../../core/errors.ts'
import type {
  DrizzleTransaction,
  KnexTransaction,
  KyselyTransaction,
  PgliteTransaction,
  PgTransaction,
  PostgresJsTransaction,
  PrismaTransaction,
  TypeOrmQueryRunner,
  TypeOrmTransaction,
} from '../../../core/open-transaction.ts'

/** A statement before and behind its parameter, which is cast to text by it. */
interface Statement {
  readonly before: string
  readonly behind: string
}

export interface Adapter {
  /** What messages call the library. */
  readonly library: string
  /** Why it is not open, as far as the library tells; null if it is, or if that is not known. */
  readonly closed: string | null
  /** Does `closed` tell whether it is open? Otherwise the server is asked. */
  readonly tellsState: boolean
  /** @returns what the library answers */
  readonly send: (statement: Statement, parameter: string) => PromiseLike<unknown>
}

/**
 * Calls a function of the database that takes a text and returns one.
 * @throws JobchartError TX_NOT_OPEN if the server says so; what the library throws
 */
export async function callThrough({ library, send }: Adapter, name: string, parameter: string): Promise<string> {
  const answer = await send({ before: `SELECT ${name}(`, behind: '::text) AS answer' }, parameter)
  const text = textOf(answer)
  if (text === null) throw notOpen(`${library} has sent its end before this call`)
  return text
}

/** @throws JobchartError TX_NOT_OPEN if it is nothing that a statement can be sent through, or not open */
export function adapterOf(tx: unknown): Adapter {
  const adapter = recognized(tx)
  if (adapter === null) throw notOpen(`it is ${describe(tx)}, not a transaction of a known library`)
  if (adapter.closed !== null) throw notOpen(adapter.closed)
  return adapter
}

export const notOpen = (why: string, cause?: unknown): JobchartError =>
  new JobchartError('TX_NOT_OPEN', `tx is no open transaction: ${why}`, {
    hint: 'Pass what your library hands to the function of its transaction, or a client on which BEGIN was sent, and await the call before the commit.',
    ...(cause === undefined ? {} : { cause }),
  })

export const statementFailed = 'a statement of it has failed'

function recognized(tx: unknown): Adapter | null {
  if ((typeof tx !== 'object' && typeof tx !== 'function') || tx === null) return null
  // Those of more particular members first: Kysely, Knex and postgres.js have members of any name.
  if (isKysely(tx)) return kysely(tx)
  if (isKnex(tx)) return knex(tx)
  if (isPostgresJs(tx)) return postgresJs(tx)
  if (isQueryRunner(tx)) return queryRunner(tx)
  if (isEntityManager(tx)) return entityManager(tx)
  if (isPrisma(tx)) return prisma(tx)
  if (isPg(tx)) return pg(tx)
  if (isPglite(tx)) return pglite(tx)
  return isDrizzle(tx) ? drizzle(tx) : null
}

const numbered = ({ before, behind }: Statement): string => `${before}$1${behind}`

// ── pg ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const isPg = (tx: object): tx is PgTransaction => has(tx, 'getTransactionStatus', 'query')

function pg(tx: PgTransaction): Adapter {
  const status = tx.getTransactionStatus()
  const why = status === 'E' ? statementFailed : 'no BEGIN was sent on this client, or it has ended'
  return {
    library: 'pg',
    closed: status === 'T' ? null : why,
    tellsState: true,
    send: (statement, parameter) => tx.query(inBlock(statement, parameter)),
  }
}

// ── PGlite ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const isPglite = (tx: object): tx is PgliteTransaction => has(tx, 'query', 'rollback') && 'closed' in tx

const pglite = (tx: PgliteTransaction): Adapter => ({
  library: 'PGlite',
  closed: tx.closed ? 'it has ended' : null,
  tellsState: true,
  send: (statement, parameter) => tx.query(numbered(statement), [parameter]),
})

// ── Kysely ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const isKysely = (tx: object): tx is KyselyTransaction =>
  has(tx, 'executeQuery') && 'isTransaction' in tx && tx.isTransaction === true

function kysely(tx: KyselyTransaction): Adapter {
  const ended = ('isCommitted' in tx && tx.isCommitted === true) || ('isRolledBack' in tx && tx.isRolledBack === true)
  return {
    library: 'Kysely',
    closed: ended ? 'it has ended' : null,
    tellsState: 'isCommitted' in tx,
    send(statement, parameter) {
      const sql = numbered(statement)
      return tx.executeQuery({
        sql,
        parameters: [parameter],
        query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
        queryId: { queryId: 'jobchart' },
      })
    },
  }
}

// ── Knex ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const isKnex = (tx: object): tx is KnexTransaction => has(tx, 'isCompleted', 'raw')

const knex = (tx: KnexTransaction): Adapter => ({
  library: 'Knex',
  closed: tx.isCompleted() ? 'it has ended' : null,
  tellsState: true,
  send: ({ before, behind }, parameter) => tx.raw(`${escaped(before)}?${escaped(behind)}`, [parameter]),
})

/** The name of a schema may have question marks, which would stand for parameters. */
const escaped = (text: string): string => text.replaceAll('?', String.raw`\?`)

// ── postgres.js ────────────────────────────────────────────────────────────────────────────────────────────────────

const isPostgresJs = (tx: object): tx is PostgresJsTransaction => has(tx, 'savepoint', 'unsafe')

const postgresJs = (tx: PostgresJsTransaction): Adapter => ({
  library: 'postgres.js',
  closed: null,
  tellsState: false,
  send: (statement, parameter) => tx.unsafe(numbered(statement), [parameter]),
})

// ── TypeORM ────────────────────────────────────────────────────────────────────────────────────────────────────────

const isQueryRunner = (tx: object): tx is TypeOrmQueryRunner => has(tx, 'query') && 'isTransactionActive' in tx

const isEntityManager = (tx: object): tx is TypeOrmTransaction => has(tx, 'query', 'getRepository', 'transaction')

const queryRunner = (tx: TypeOrmQueryRunner): Adapter => ({
  library: 'TypeORM',
  closed: tx.isTransactionActive ? null : 'no transaction of this query runner is active',
  tellsState: true,
  send: (statement, parameter) => tx.query(inBlock(statement, parameter)),
})

function entityManager({ queryRunner: runner }: TypeOrmTransaction): Adapter {
  if (runner === undefined) throw notOpen('this entity manager is in no transaction')
  return queryRunner(runner)
}

// ── Prisma ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const isPrisma = (tx: object): tx is PrismaTransaction => has(tx, '$queryRawUnsafe') && !has(tx, '$disconnect')

const prisma = (tx: PrismaTransaction): Adapter => ({
  library: 'Prisma',
  closed: null,
  // It refuses calls of its own after the end.
  tellsState: true,
  send: (statement, parameter) => tx.$queryRawUnsafe(numbered(statement), parameter),
})

// ── Drizzle ────────────────────────────────────────────────────────────────────────────────────────────────────────

const isDrizzle = (tx: object): tx is DrizzleTransaction => has(tx, 'rollback', 'execute')

/** What it sends as it is has no parameters, and what has parameters are objects of the library. */
const drizzle = (tx: DrizzleTransaction): Adapter => ({
  library: 'Drizzle',
  closed: null,
  tellsState: false,
  send: (statement, parameter) => tx.execute(withLiteral(statement, parameter)),
})

const withLiteral = ({ before, behind }: Statement, parameter: string): string =>
  `${before}${literal(parameter)}${behind}`

/**
 * Does nothing, and answers without a row, outside of a transaction: of a call that is not awaited, COMMIT or ROLLBACK
 * may be sent before it, while the library still says that the transaction is open. A statement without parameters is
 * one message, and begins when its own transaction does.
 */
const inBlock = (statement: Statement, parameter: string): string =>
  `${withLiteral(statement, parameter)}
  WHERE pg_catalog.now() OPERATOR(pg_catalog.<>) pg_catalog.statement_timestamp()`

/** With `E`, a backslash is one whatever `standard_conforming_strings` says. */
const literal = (text: string): string => `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`

// ── answers ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The only value of an answer: of its first row, whatever the library, or a plugin of it, calls the column. */
function textOf(answer: unknown): string | null {
  const rows = Array.isArray(answer) ? answer : (answer as { readonly rows?: unknown } | null)?.rows
  if (Array.isArray(rows) && rows.length === 0) return null
  const [row] = Array.isArray(rows) ? (rows as unknown[]) : []
  const [value] = typeof row === 'object' && row !== null ? (Object.values(row) as unknown[]) : []
  if (typeof value === 'string') return value
  throw new TypeError(`expected a row with one text, got ${describe(answer)}`)
}

const has = (value: object, ...names: readonly string[]): boolean =>
  names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
