/**
 * Transactions of the libraries that people use, as far as one statement can be sent through them. The types are
 * structural, because no library is imported, and each has a member that a plain connection of the library lacks: a
 * call outside of a transaction does not compile. `pg` and TypeORM have one type for both: these are asked when they
 * are used.
 */

/** A client of `pg` (8.21 or later) on which BEGIN was sent; also one of a pool. */
export interface PgTransaction {
  /** `T`: a transaction is open. */
  getTransactionStatus(): string | null
  query(text: string): PromiseLike<unknown>
}

/** What Kysely's `db.transaction().execute` passes, and `db.startTransaction()` returns. */
export interface KyselyTransaction {
  readonly isTransaction: true
  executeQuery(query: KyselyQuery): PromiseLike<unknown>
}

/** A statement as Kysely's `CompiledQuery.raw` makes it. */
export interface KyselyQuery {
  readonly sql: string
  readonly parameters: readonly unknown[]
  readonly query: {
    readonly kind: 'RawNode'
    readonly sqlFragments: readonly string[]
    readonly parameters: readonly never[]
  }
  readonly queryId: { readonly queryId: string }
}

/** What `knex.transaction` passes or returns. */
export interface KnexTransaction {
  isCompleted(): boolean
  raw(sql: string, bindings: readonly string[]): PromiseLike<unknown>
}

/** What `sql.begin` of postgres.js passes. */
export interface PostgresJsTransaction {
  savepoint(run: () => Promise<void>): Promise<unknown>
  unsafe(query: string, parameters: string[]): PromiseLike<unknown>
}

/** A query runner of TypeORM, after `startTransaction`. */
export interface TypeOrmQueryRunner {
  readonly isTransactionActive: boolean
  query(query: string): PromiseLike<unknown>
}

/** What `dataSource.transaction` of TypeORM passes. */
export interface TypeOrmTransaction {
  readonly queryRunner?: TypeOrmQueryRunner
  /** The data source, as every entity manager has it. */
  readonly connection: { readonly isInitialized: boolean }
}

/** What `prisma.$transaction` passes to its function. */
export interface PrismaTransaction {
  /** A client that is in no transaction has this method. */
  readonly $disconnect?: never
  $queryRawUnsafe(query: string, ...values: string[]): PromiseLike<unknown>
}

/** What `db.transaction` of Drizzle passes to its function. */
export interface DrizzleTransaction {
  rollback(): never
  execute(query: string): PromiseLike<unknown>
}

/** What `transaction` of a PGlite passes to its function. */
export interface PgliteTransaction {
  readonly closed: boolean
  rollback(): PromiseLike<void>
  query(text: string, values: string[]): PromiseLike<unknown>
}

// ── SQLite ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type SqliteValue = string | number | null

/** A `DatabaseSync` of node:sqlite. As a transaction: BEGIN IMMEDIATE was run on it. */
export interface NodeSqliteDatabase {
  readonly isOpen: boolean
  readonly isTransaction: boolean
  location(): string | null
  exec(sql: string): void
  prepare(sql: string): {
    setReturnArrays(enabled: boolean): void
    setReadBigInts(enabled: boolean): void
    get(...values: SqliteValue[]): unknown
    all(...values: SqliteValue[]): unknown[]
    run(...values: SqliteValue[]): { readonly changes: number | bigint }
  }
}

/** A `Database` of better-sqlite3. As a transaction: within the function of `database.transaction`, or after BEGIN. */
export interface BetterSqlite3Database {
  readonly open: boolean
  readonly inTransaction: boolean
  pragma(text: string): unknown
  exec(sql: string): unknown
  prepare(sql: string): {
    readonly reader: boolean
    raw(enabled?: boolean): unknown
    safeIntegers(enabled?: boolean): unknown
    get(...values: BetterSqlite3Value[]): unknown
    all(...values: BetterSqlite3Value[]): unknown[]
    run(...values: BetterSqlite3Value[]): { readonly changes: number | bigint }
  }
}

type BetterSqlite3Value = SqliteValue | Readonly<Record<string, SqliteValue>>

/** A connection to a SQLite database, of the library that you use. */
export type SqliteDatabase = NodeSqliteDatabase | BetterSqlite3Database

/** What `db.transaction` of Drizzle passes to its function, on better-sqlite3. */
export interface DrizzleSqliteTransaction {
  rollback(): never
  get(query: string): unknown
  run(query: string): unknown
}

/** A transaction whose library works synchronously: calls in it have written when they return. */
export type SynchronousTransaction = SqliteDatabase | DrizzleSqliteTransaction

/** A transaction of yours that is open, on the database of the store: see `StoreCapabilities.transactions`. */
export type OpenTransaction =
  | SynchronousTransaction
  | PgTransaction
  | PgliteTransaction
  | KyselyTransaction
  | KnexTransaction
  | PostgresJsTransaction
  | TypeOrmQueryRunner
  | TypeOrmTransaction
  | PrismaTransaction
  | DrizzleTransaction
