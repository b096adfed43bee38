/** The transactions of each library, behind one interface: what a test does in them it does by the library itself. */
import { createRequire } from 'node:module'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient, type Prisma } from '@prisma/client'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleOnPostgresJs } from 'drizzle-orm/postgres-js'
import type { OpenTransaction } from '../../src/index.ts'
import createKnex, { type Knex } from 'knex'
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely'
import { Pool, type PoolClient } from 'pg'
import postgres, { type TransactionSql } from 'postgres'
import { DataSource, type EntityManager } from 'typeorm'

/** A transaction that is open. */
export interface Tx {
  /** What the library gives: passed to a call as `tx`. */
  readonly tx: OpenTransaction
  /** A statement without parameters. */
  readonly run: (text: string) => Promise<unknown>
  /** What `work` does is rolled back alone if it throws. */
  readonly savepoint: (work: (inner: Tx) => Promise<void>) => Promise<void>
}

export interface Library {
  readonly name: string
  readonly open: (url: string) => Promise<Opened>
}

export interface Opened {
  /** Commits, or rolls back if `work` throws. */
  readonly transaction: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>
  /** A connection that is in no transaction. */
  readonly plain: object
  readonly close: () => Promise<void>
}

// ── pg ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const pgTx = (client: PoolClient): Tx => ({
  tx: client,
  run: (text) => client.query(text),
  async savepoint(work) {
    await client.query('SAVEPOINT here')
    try {
      await work(pgTx(client))
      await client.query('RELEASE SAVEPOINT here')
    } catch (error) {
      await client.query('ROLLBACK TO SAVEPOINT here')
      throw error
    }
  },
})

const pg: Library = {
  name: 'pg',
  async open(connectionString) {
    const pool = new Pool({ connectionString, max: 4 })
    const plain = await pool.connect()
    return {
      plain,
      async transaction(work) {
        const client = await pool.connect()
        try {
          await client.query('BEGIN')
          const answer = await work(pgTx(client))
          await client.query('COMMIT')
          return answer
        } catch (error) {
          await client.query('ROLLBACK')
          throw error
        } finally {
          client.release()
        }
      },
      async close() {
        plain.release()
        await pool.end()
      },
    }
  },
}

// ── Kysely ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type Db = Record<string, never>

const kyselyTx = (tx: Transaction<Db>): Tx => ({
  tx,
  run: (text) => tx.executeQuery(CompiledQuery.raw(text)),
  // A transaction that Kysely has opened by a function has savepoints by statements only.
  async savepoint(work) {
    await tx.executeQuery(CompiledQuery.raw('SAVEPOINT here'))
    try {
      await work(kyselyTx(tx))
      await tx.executeQuery(CompiledQuery.raw('RELEASE SAVEPOINT here'))
    } catch (error) {
      await tx.executeQuery(CompiledQuery.raw('ROLLBACK TO SAVEPOINT here'))
      throw error
    }
  },
})

const kyselyAt = (connectionString: string): Kysely<Db> =>
  new Kysely<Db>({ dialect: new PostgresDialect({ pool: new Pool({ connectionString, max: 4 }) }) })

const kysely: Library = {
  name: 'Kysely',
  async open(url) {
    const db = kyselyAt(url)
    return {
      plain: db,
      transaction: (work) => db.transaction().execute((tx) => work(kyselyTx(tx))),
      close: () => db.destroy(),
    }
  },
}

const controlledKysely: Library = {
  name: 'Kysely, controlled',
  async open(url) {
    const db = kyselyAt(url)
    return {
      plain: db,
      async transaction(work) {
        const tx = await db.startTransaction().execute()
        try {
          const answer = await work({
            ...kyselyTx(tx),
            async savepoint(inner) {
              const saved = await tx.savepoint('here').execute()
              try {
                await inner(kyselyTx(saved))
                await saved.releaseSavepoint('here').execute()
              } catch (error) {
                await saved.rollbackToSavepoint('here').execute()
                throw error
              }
            },
          })
          await tx.commit().execute()
          return answer
        } catch (error) {
          await tx.rollback().execute()
          throw error
        }
      },
      close: () => db.destroy(),
    }
  },
}

// ── Knex ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const knexTx = (tx: Knex.Transaction): Tx => ({
  tx,
  run: (text) => tx.raw(text.replaceAll('?', String.raw`\?`)),
  savepoint: (work) => tx.transaction((inner) => work(knexTx(inner))),
})

const knex: Library = {
  name: 'Knex',
  async open(connection) {
    const db = createKnex({ client: 'pg', connection, pool: { min: 0, max: 4 } })
    return {
      plain: db,
      transaction: (work) => db.transaction((tx) => work(knexTx(tx))),
      close: () => db.destroy(),
    }
  },
}

// ── postgres.js ────────────────────────────────────────────────────────────────────────────────────────────────────

const postgresJsTx = (tx: TransactionSql): Tx => ({
  tx,
  run: async (text) => tx.unsafe(text),
  async savepoint(work) {
    await tx.savepoint((inner) => work(postgresJsTx(inner)))
  },
})

const postgresJs: Library = {
  name: 'postgres.js',
  async open(url) {
    const sql = postgres(url, { max: 4, onnotice: () => {} })
    return {
      plain: sql,
      transaction: <T>(work: (tx: Tx) => Promise<T>) =>
        sql.begin((tx) => work(postgresJsTx(tx))) as unknown as Promise<T>,
      close: () => sql.end(),
    }
  },
}

// ── Drizzle ────────────────────────────────────────────────────────────────────────────────────────────────────────

type DrizzleTx = Parameters<Parameters<ReturnType<typeof drizzle>['transaction']>[0]>[0]
type DrizzleOnPostgresJsTx = Parameters<Parameters<ReturnType<typeof drizzleOnPostgresJs>['transaction']>[0]>[0]

const drizzleTx = (tx: DrizzleTx): Tx => ({
  tx,
  run: (text) => tx.execute(drizzleSql.raw(text)),
  savepoint: (work) => tx.transaction((inner) => work(drizzleTx(inner))),
})

const drizzlePg: Library = {
  name: 'Drizzle on pg',
  async open(connectionString) {
    const pool = new Pool({ connectionString, max: 4 })
    const db = drizzle(pool)
    return {
      plain: db,
      transaction: (work) => db.transaction((tx) => work(drizzleTx(tx))),
      close: () => pool.end(),
    }
  },
}

const drizzleOnPostgresJsTx = (tx: DrizzleOnPostgresJsTx): Tx => ({
  tx,
  run: (text) => tx.execute(drizzleSql.raw(text)),
  savepoint: (work) => tx.transaction((inner) => work(drizzleOnPostgresJsTx(inner))),
})

const drizzlePostgresJs: Library = {
  name: 'Drizzle on postgres.js',
  async open(url) {
    const sql = postgres(url, { max: 4, onnotice: () => {} })
    const db = drizzleOnPostgresJs(sql)
    return {
      plain: db,
      transaction: (work) => db.transaction((tx) => work(drizzleOnPostgresJsTx(tx))),
      close: () => sql.end(),
    }
  },
}

// ── TypeORM ────────────────────────────────────────────────────────────────────────────────────────────────────────

const typeOrmTx = (manager: EntityManager): Tx => ({
  tx: manager,
  run: (text) => manager.query(text),
  savepoint: (work) => manager.transaction((inner) => work(typeOrmTx(inner))),
})

const typeOrm: Library = {
  name: 'TypeORM',
  async open(url) {
    const source = new DataSource({ type: 'postgres', url, driver: createRequire(import.meta.url)('pg') as unknown })
    await source.initialize()
    return {
      plain: source.manager,
      transaction: (work) => source.transaction((manager) => work(typeOrmTx(manager))),
      close: () => source.destroy(),
    }
  },
}

const typeOrmRunner: Library = {
  name: 'TypeORM, a query runner',
  async open(url) {
    const source = new DataSource({ type: 'postgres', url, driver: createRequire(import.meta.url)('pg') as unknown })
    await source.initialize()
    const plain = source.createQueryRunner()
    return {
      plain,
      async transaction(work) {
        const runner = source.createQueryRunner()
        await runner.startTransaction()
        try {
          const answer = await work({ ...typeOrmTx(runner.manager), tx: runner })
          await runner.commitTransaction()
          return answer
        } catch (error) {
          await runner.rollbackTransaction()
          throw error
        } finally {
          await runner.release()
        }
      },
      async close() {
        await plain.release()
        await source.destroy()
      },
    }
  },
}

// ── Prisma ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const prismaTx = (tx: Prisma.TransactionClient): Tx => ({
  tx,
  run: (text) => tx.$executeRawUnsafe(text),
  async savepoint(work) {
    await tx.$executeRawUnsafe('SAVEPOINT here')
    try {
      await work(prismaTx(tx))
      await tx.$executeRawUnsafe('RELEASE SAVEPOINT here')
    } catch (error) {
      await tx.$executeRawUnsafe('ROLLBACK TO SAVEPOINT here')
      throw error
    }
  },
})

const prisma: Library = {
  name: 'Prisma',
  async open(connectionString) {
    const client = new PrismaClient({ adapter: new PrismaPg({ connectionString }) })
    return {
      plain: client,
      transaction: (work) => client.$transaction((tx) => work(prismaTx(tx)), { timeout: 60_000, maxWait: 60_000 }),
      close: () => client.$disconnect(),
    }
  },
}

export const libraries: readonly Library[] = [
  pg,
  kysely,
  controlledKysely,
  knex,
  postgresJs,
  drizzlePg,
  drizzlePostgresJs,
  typeOrm,
  typeOrmRunner,
  prisma,
]
