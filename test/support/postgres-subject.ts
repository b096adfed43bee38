import { Client } from 'pg'
import { postgresPort } from '../../src/stores/postgres/port.ts'
import { postgresStoreOn } from '../../src/stores/postgres/store.ts'
import { targetOf } from '../../src/stores/postgres/target.ts'
import type { Subject } from '../../src/store-testing/conformance/index.ts'
import { movingClock } from '../stores/moving-clock.ts'
import type { PostgresServer } from './postgres-process.ts'

/** Schemas of a server that cases have used: an emptied one is there at once, a new one is not. */
export class Schemas {
  private readonly server: () => PostgresServer
  private readonly free: string[] = []
  private made = 0
  /** One for all cases: a connection is a process of the server. */
  private client: Promise<Client> | null = null

  constructor(server: () => PostgresServer) {
    this.server = server
  }

  take(): string {
    return this.free.pop() ?? `case_${++this.made}`
  }

  async giveBack(schema: string): Promise<void> {
    const tables = ['jobs', 'fronts', 'claims', 'completions', 'cells', 'log', 'moves', 'figures', 'aside']
    const removed = tables.map((table) => `DELETE FROM ${schema}.${table};`).join('')
    const client = await (this.client ??= this.connect())
    await client.query(`${removed} UPDATE ${schema}.folds SET upto = 0`)
    this.free.push(schema)
  }

  private async connect(): Promise<Client> {
    const client = new Client({ connectionString: this.server().url })
    // It ends with the server.
    client.on('error', () => {})
    await client.connect()
    return client
  }
}

/** A PostgreSQL store in a schema, for one case of the conformance suite. */
export async function postgresSubject(url: string, schema: string, clock = movingClock()): Promise<Subject> {
  const store = postgresStoreOn(postgresPort({ ...targetOf({ url }), schema, transitionsMax: 10_000, clock }))
  await store.open({ clock })
  return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
}
