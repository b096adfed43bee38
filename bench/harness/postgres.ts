/** The PostgreSQL server of a section, and its counters. */
import { Client } from 'pg'
import { postgresServer } from '../../test/support/postgres-process.ts'
import type { Counters } from './queue-work.ts'

/** Calls `use` with the address of a new database that keeps what it commits, which is gone afterwards. */
export async function withPostgres<T>(use: (url: string) => Promise<T>): Promise<T> {
  const server = await postgresServer('fsync=on', 'synchronous_commit=on')
  try {
    return await use(server.url)
  } finally {
    await server.remove()
  }
}

export interface PostgresCounters extends Counters {
  readonly commits: number
  /** Written to the log of the server, bytes. */
  readonly walBytes: number
}

/** A connection that reads the counters of a server; its own statements are few, and counted. */
export class PostgresView {
  private readonly client: Client

  private constructor(client: Client) {
    this.client = client
  }

  static async at(url: string): Promise<PostgresView> {
    const client = new Client({ connectionString: url })
    await client.connect()
    return new PostgresView(client)
  }

  async counters(): Promise<PostgresCounters> {
    const { rows } = await this.client.query<{ commits: number; wal: number }>(
      `SELECT pg_stat_get_db_xact_commit(oid)::float8 AS commits,
        (pg_current_wal_insert_lsn() - '0/0')::float8 AS wal FROM pg_database WHERE datname = current_database()`,
    )
    const [row] = rows
    return { commits: row?.commits ?? Number.NaN, walBytes: row?.wal ?? Number.NaN }
  }

  async drop(schema: string): Promise<void> {
    await this.client.query(`DROP SCHEMA ${schema} CASCADE`)
  }

  close(): Promise<void> {
    return this.client.end()
  }
}
