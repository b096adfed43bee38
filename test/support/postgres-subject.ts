import { Client } from 'pg'
import type { Link, Target } from '../../src/stores/postgres/connection.ts'
import { postgresPort } from '../../src/stores/postgres/port.ts'
import { postgresStoreOn } from '../../src/stores/postgres/store.ts'
import { targetOf, type TargetOptions } from '../../src/stores/postgres/target.ts'
import type { Subject } from '../../src/store-testing/conformance/index.ts'
import { movingClock } from '../stores/moving-clock.ts'
import { subjectInTurn } from './in-turn.ts'
import type { PostgresServer } from './postgres-process.ts'

/** What a connection has found in tables that are emptied since. */
const forget = 'RESET ALL'

interface Database {
  query(text: string): Promise<unknown>
}

/** Schemas of a database that cases have used: an emptied one is there at once, a new one is not. */
export class Schemas {
  private readonly connect: () => Promise<Database>
  private readonly free: string[] = []
  private readonly target: (where: TargetOptions) => Target
  private made = 0
  /** One for all cases: a connection is a process of the server. */
  private database: Promise<Database> | null = null

  constructor(connect: () => Promise<Database>, target = targetOf) {
    this.connect = connect
    this.target = target
  }

  /** A store in a schema of its own. */
  subject(where: TargetOptions): Promise<Subject> {
    return this.within((schema) => postgresSubject(this.target(where), schema))
  }

  /** Two stores on one schema, asked in turn. */
  subjectInTurn(where: TargetOptions): Promise<Subject> {
    return this.within(async (schema) => {
      const clock = movingClock()
      const target = this.target(where)
      const one = await postgresSubject(target, schema, clock)
      const other = await postgresSubject(target, schema, clock)
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
    const tables = [
      'jobs',
      'terms',
      'fronts',
      'claims',
      'completions',
      'checkpoints',
      'cells',
      'log',
      'moves',
      'figures',
      'aside',
    ]
    const removed = tables.map((table) => `DELETE FROM ${schema}.${table};`).join('')
    const database = await (this.database ??= this.connect())
    await database.query(`${removed} UPDATE ${schema}.folds SET upto = 0; ${forget}`)
  }
}

export function schemasOf(server: () => PostgresServer): Schemas {
  const links = new KeptLinks()
  return new Schemas(
    async () => {
      const client = new Client({ connectionString: server().url })
      // It ends with the server.
      client.on('error', () => {})
      await client.connect()
      return client
    },
    (where) => links.of(where),
  )
}

/** A PostgreSQL store in a schema, for one case of the conformance suite. */
export async function postgresSubject(target: Target, schema: string, clock = movingClock()): Promise<Subject> {
  const store = postgresStoreOn(postgresPort({ ...target, schema, transitionsMax: 10_000, clock }))
  await store.open({ clock })
  return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
}

/**
 * Links that a store has closed and another one takes up: a new one is a process of the server, which reads the
 * functions of the schema and plans their statements anew, and that takes longer than most cases.
 */
class KeptLinks {
  private readonly free: Link[] = []
  /** Those of the store that has a link now. */
  private readonly endListeners = new WeakMap<Link, ReadonlySet<() => void>>()

  of(where: TargetOptions): Target {
    const target = targetOf(where)
    return {
      ...target,
      connect: async () => {
        const link = this.free.pop() ?? (await this.connected(target))
        return this.kept(link)
      },
    }
  }

  private async connected(target: Target): Promise<Link> {
    const link = await target.connect()
    link.onEnd(() => {
      const place = this.free.indexOf(link)
      if (place !== -1) this.free.splice(place, 1)
      for (const listener of this.endListeners.get(link) ?? []) listener()
    })
    return link
  }

  private kept(link: Link): Link {
    let isClosed = false
    const listeners = new Set<() => void>()
    this.endListeners.set(link, listeners)
    return {
      ifSilent: link.ifSilent,
      isPooled: link.isPooled,
      epoch: link.epoch,
      query: (...statement) => link.query(...statement),
      transaction: (settings, work) => link.transaction(settings, work),
      listen: (channel, hear) => link.listen(channel, (payload) => !isClosed && hear(payload)),
      onEnd: (listener) => void listeners.add(listener),
      close: () => {
        if (isClosed) return
        isClosed = true
        listeners.clear()
        // It is sent behind what is under way.
        Promise.all([link.query(forget), link.query('UNLISTEN *')]).then(
          () => this.free.push(link),
          () => link.close(),
        )
      },
    }
  }
}
