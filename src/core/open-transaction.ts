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
  query(text: string, values: string[]): PromiseLike<unknown>
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
  query(query: string, parameters: string[]): PromiseLike<unknown>
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

/** A transaction of yours that is open, on the database of the store: see `StoreCapabilities.transactions`. */
export type OpenTransaction =
  | PgTransaction
  | KyselyTransaction
  | KnexTransaction
  | PostgresJsTransaction
  | TypeOrmQueryRunner
  | TypeOrmTransaction
  | PrismaTransaction
  | DrizzleTransaction
