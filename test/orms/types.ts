/** Plain connections do not compile as transactions, except those of libraries that have one type for both. */
import type { PrismaClient } from '@prisma/client'
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import type { Knex } from 'knex'
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { Sql } from 'postgres'
import type { DataSource } from 'typeorm'
import type { OpenTransaction } from '../../src/index.ts'

declare function join(tx: OpenTransaction): void

export function refused(
  pool: Pool,
  kysely: Kysely<unknown>,
  knex: Knex,
  sql: Sql,
  drizzle: NodePgDatabase,
  drizzleOnPostgresJs: PostgresJsDatabase,
  drizzleOnSqlite: BetterSQLite3Database,
  source: DataSource,
  prisma: PrismaClient,
): void {
  // @ts-expect-error -- a pool of pg has no transaction
  join(pool)
  // @ts-expect-error -- Kysely outside of a transaction
  join(kysely)
  // @ts-expect-error -- Knex outside of a transaction
  join(knex)
  // @ts-expect-error -- postgres.js outside of `begin`
  join(sql)
  // @ts-expect-error -- Drizzle outside of a transaction
  join(drizzle)
  // @ts-expect-error -- Drizzle on postgres.js outside of a transaction
  join(drizzleOnPostgresJs)
  // @ts-expect-error -- Drizzle on better-sqlite3 outside of a transaction
  join(drizzleOnSqlite)
  // @ts-expect-error -- a data source of TypeORM
  join(source)
  // @ts-expect-error -- Prisma outside of a transaction
  join(prisma)
}
