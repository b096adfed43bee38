import { Client } from 'pg'
import { postgresPort } from '../../src/stores/postgres/port.ts'
import { postgresStoreOn } from '../../src/stores/postgres/store.ts'
import { targetOf, type TargetOptions } from '../../src/stores/postgres/target.ts'
import type { Subject } from '../../src/store-testing/conformance/index.ts'
import { movingClock } from '../stores/moving-clock.ts'
import { subjectInTurn } from './in-turn.ts'
import type { PostgresServer } from './postgres-process.ts'

interface Database {
  query(text: string): Promise<unknown>
}

/** Schemas of a database that cases have used: an emptied one is there at once, a new one is not. */
export class Schemas {
  private readonly connect: () => Promise<Database>
  private readonly free: string[] = []
  private made = 0
  /** One for all cases: a connection is a process of the server. */
  private database: Promise<Database> | null = null

  constructor(connect: () => Promise<Database>) {
    this.connect = connect
  }

  /** A store in a schema of its own. */
  subject(where: TargetOptions): Promise<Subject> {
    return this.within((schema) => postgresSubject(where, schema))
  }

  /** Two stores on one schema, asked in turn. */
  subjectInTurn(where: TargetOptions): Promise<Subject> {
    return this.within(async (schema) => {
      const clock = movingClock()
      const one = await postgresSubject(where, schema, clock)
      const other = await postgresSubject(where, schema, clock)
      return subjectInTurn(one.store, other.store, clock)
    })
  }

  private async within(make: (schema: string) => Promise<Subject>): Promise<Subject> {
    const schema = this.free.pop() ?? `case_${++this.made}`
    const subject = await make(schema)
    return {
      ...subject,
      close: async () => {
        await subject.close()
        await this.empty(schema)
        this.free.push(schema)
      },
    }
  }

  private async empty(schema: string): Promise<void> {
    const tables = ['jobs', 'fronts', 'claims', 'completions', 'cells', 'log', 'moves', 'figures', 'aside']
    const removed = tables.map((table) => `DELETE FROM ${schema}.${table};`).join('')
    const database = await (this.database ??= this.connect())
    await database.query(`${removed} UPDATE ${schema}.folds SET upto = 0`)
  }
}

export const schemasOf = (server: () => PostgresServer): Schemas =>
  new Schemas(async () => {
    const client = new Client({ connectionString: server().url })
    // It ends with the server.
    client.on('error', () => {})
    await client.connect()
    return client
  })

/** A PostgreSQL store in a schema, for one case of the conformance suite. */
export async function postgresSubject(where: TargetOptions, schema: string, clock = movingClock()): Promise<Subject> {
  const store = postgresStoreOn(postgresPort({ ...targetOf(where), schema, transitionsMax: 10_000, clock }))
  await store.open({ clock })
  return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
}
