/**
 * One statement with one text, through the transactions of each library: what it commits and rolls back, and what is
 * refused. The functions are those of the store, in a schema that has nothing else.
 */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { transactions as functions } from '../../src/stores/postgres/migrations/0002-transactions.ts'
import { transactionsOf } from '../../src/stores/postgres/transactions/index.ts'
import type { OpenTransaction, TransactionStore, TxIntent } from '../../src/store.ts'
import { canStartPostgres, postgresOfFile } from '../support/postgres-server.ts'
import { missingLibraries } from './install.ts'
import type { Library, Opened } from './libraries.ts'

const missing = missingLibraries()
if (missing.length > 0) console.error(`Tests of libraries with transactions are left out: node test/orms/install.ts`)

const server = postgresOfFile()
const urlOf = (database: string, role = 'postgres'): string =>
  server()
    .url.replace('postgres@', `${role}@`)
    .replace(/postgres$/, database)
const schema = `"odd ""?$1 ${process.pid}"`
const restricted = `jobchart_may_enqueue_${process.pid}`
const stranger = `jobchart_may_nothing_${process.pid}`

/** Everything that a driver might read otherwise. */
const odd =
  String.raw`? ?? $1 $$ \ \\ ' '' "" E'\'' {a,b} [] :name @x %s -- /* ; \u0000 ` + '\u0000\ud800\u2028é\t\r\n💥'

const intent = (id: string): TxIntent => ({
  kind: 'cancel',
  request: { ids: [id], reason: odd, graceMs: 0 },
})

interface Db {
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly Record<string, unknown>[] }>
  end(): Promise<void>
}

describe.skipIf(missing.length > 0 || !canStartPostgres)('transactions of', async () => {
  if (missing.length > 0 || !canStartPostgres) return
  const { libraries } = await import('./libraries.ts')
  const { Client } = await import('pg')
  let db: Db
  let store: Pick<TransactionStore, 'write' | 'fates'>

  beforeAll(async () => {
    await server().query('CREATE DATABASE shop')
    const client = new Client(urlOf('shop'))
    await client.connect()
    db = { query: (text, values = []) => client.query(text, [...values]), end: () => client.end() }
    await db.query(`CREATE SCHEMA ${schema};
      CREATE TABLE ${schema}.meta (name text PRIMARY KEY, value text);
      CREATE TABLE ${schema}.cells (kind text, field text, value text, PRIMARY KEY (kind, field));
      CREATE TABLE ${schema}.rows (id text)`)
    await db.query(functions.replaceAll('@schema@', schema))
    await db.query(`CREATE ROLE ${stranger} LOGIN; CREATE ROLE ${restricted} LOGIN; GRANT USAGE ON SCHEMA ${schema} TO ${restricted};
      GRANT EXECUTE ON FUNCTION ${schema}.within(text), ${schema}.transaction_id(text) TO ${restricted}`)
    const { rows } = await db.query(`SELECT value FROM ${schema}.meta WHERE name = 'store'`)
    store = transactionsOf({
      connections: () => 1,
      schema,
      storeId: () => String(rows[0]?.['value']),
      ask: async (text, values = []) => (await client.query({ text, values: [...values], rowMode: 'array' })).rows,
    })
  })

  afterAll(async () => {
    await db.query(`DROP SCHEMA ${schema} CASCADE; DROP ROLE ${restricted}, ${stranger}`)
    await db.end()
  })

  /** The ids of the intents that are there, oldest first, and those of the user's rows. */
  const kept = async (): Promise<{ readonly jobs: string[]; readonly rows: string[] }> => {
    const cells = await db.query(`SELECT value FROM ${schema}.cells ORDER BY field`)
    const rows = await db.query(`SELECT id FROM ${schema}.rows`)
    await db.query(`DELETE FROM ${schema}.cells; DELETE FROM ${schema}.rows`)
    return {
      jobs: cells.rows.flatMap(({ value }) => {
        const text = String(value)
        const { intents } = JSON.parse(text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text) as {
          readonly intents: readonly TxIntent[]
        }
        return intents.flatMap(({ kind, request }) => {
          if (kind !== 'cancel') throw new Error('not what was written')
          expect(request.reason).toBe(odd)
          return [...request.ids]
        })
      }),
      rows: rows.rows.map(({ id }) => String(id)),
    }
  }

  describe.for(libraries)('$name', ({ name, open }: Library) => {
    let library: Opened
    beforeAll(async () => {
      library = await open(urlOf('shop'))
    })
    afterAll(() => library.close())

    test('a commit keeps what was written, every character of it, in order', async () => {
      const receipts = await library.transaction(async ({ tx, run }) => {
        await run(`INSERT INTO ${schema}.rows VALUES ('a')`)
        const first = await store.write(tx, [intent('a'), intent('b')])
        const second = await store.write(tx, [intent('c')])
        expect(await store.fates([first, second])).toEqual(['open', 'open'])
        return [first, second]
      })
      expect(await store.fates(receipts)).toEqual(['committed', 'committed'])
      expect(await kept()).toEqual({ jobs: ['a', 'b', 'c'], rows: ['a'] })
    })

    test('a rollback leaves nothing', async () => {
      let receipt = ''
      const refusal = new Error('no')
      const failing = library.transaction(async ({ tx, run }) => {
        await run(`INSERT INTO ${schema}.rows VALUES ('a')`)
        receipt = await store.write(tx, [intent('a')])
        throw refusal
      })
      await expect(failing).rejects.toBe(refusal)
      expect(await store.fates([receipt])).toEqual(['rolledBack'])
      expect(await kept()).toEqual({ jobs: [], rows: [] })
    })

    test('a savepoint that is rolled back takes its writes along, and no others', async () => {
      const receipts = await library.transaction(async ({ tx, savepoint }) => {
        const before = await store.write(tx, [intent('before')])
        let undone = ''
        let released = ''
        await expect(
          savepoint(async (inner) => {
            undone = await store.write(inner.tx, [intent('undone')])
            throw new Error('no')
          }),
        ).rejects.toThrow('no')
        await savepoint(async (inner) => {
          released = await store.write(inner.tx, [intent('released')])
        })
        const after = await store.write(tx, [intent('after')])
        expect(await store.fates([before, undone, released, after])).toEqual(['open', 'rolledBack', 'open', 'open'])
        return [before, undone, released, after]
      })
      expect(await store.fates(receipts)).toEqual(['committed', 'rolledBack', 'committed', 'committed'])
      expect((await kept()).jobs).toEqual(['before', 'released', 'after'])
    })

    test('a connection without a transaction is refused', async () => {
      await expect(store.write(library.plain as OpenTransaction, [intent('a')])).rejects.toMatchObject({
        code: 'TX_NOT_OPEN',
      })
      expect(await kept()).toEqual({ jobs: [], rows: [] })
    })

    test('a transaction that has ended is refused', async () => {
      const ended: OpenTransaction[] = []
      await library.transaction(async ({ tx }) => {
        await store.write(tx, [intent('a')])
        ended.push(tx)
      })
      await expect(store.write(ended[0] as OpenTransaction, [intent('b')])).rejects.toThrow()
      expect((await kept()).jobs).toEqual(['a'])
    })

    test('a write that is not awaited is part of its transaction, or refused', async () => {
      for (const turns of [0, 1, 2, 3, 5, 8, 13, 21, 34, 55]) {
        let writing: Promise<unknown> = Promise.resolve()
        const late = async (tx: OpenTransaction): Promise<void> => {
          for (let turn = 0; turn < turns; turn++) await Promise.resolve()
          await store.write(tx, [intent(`a${turns}`)])
        }
        const failing = library.transaction(async ({ tx, run }) => {
          await run(`INSERT INTO ${schema}.rows VALUES ('a')`)
          writing = late(tx).catch(() => {})
          throw new Error('no')
        })
        await expect(failing).rejects.toThrow()
        // postgres.js never answers a statement behind the end of its transaction.
        await Promise.race([writing, library.transaction(({ run }) => run('SELECT 1'))])
      }
      expect(await kept()).toEqual({ jobs: [], rows: [] })
    })

    test('a transaction on another database is refused', async () => {
      const other = await open(urlOf('postgres'))
      try {
        await expect(other.transaction(({ tx }) => store.write(tx, [intent('a')]))).rejects.toMatchObject({
          code: 'TX_OTHER_DATABASE',
        })
      } finally {
        await other.close()
      }
    })

    test('a role that may do nothing else writes in its transactions', async () => {
      const own = await open(urlOf('shop', restricted))
      try {
        await own.transaction(({ tx }) => store.write(tx, [intent('a')]))
        await expect(own.transaction(({ run }) => run(`SELECT * FROM ${schema}.cells`))).rejects.toThrow()
      } finally {
        await own.close()
      }
      expect((await kept()).jobs).toEqual(['a'])
    })

    test('a transaction that is read only is refused, and so is a role without the right', async () => {
      const hint: unknown = expect.any(String)
      const cause: unknown = expect.anything()
      const readOnly = library.transaction(async ({ tx, run }) => {
        await run('SET TRANSACTION READ ONLY')
        await store.write(tx, [intent('a')])
      })
      await expect(readOnly).rejects.toMatchObject({ code: 'INVALID_OPTION', hint, cause })
      const own = await open(urlOf('shop', stranger))
      try {
        const without = own.transaction(({ tx }) => store.write(tx, [intent('a')]))
        await expect(without).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', hint, cause })
      } finally {
        await own.close()
      }
      expect((await kept()).jobs).toEqual([])
    })

    test('the store of another schema of the database is another store', async () => {
      const others = transactionsOf({ connections: () => 1, schema, storeId: () => 'another', ask: async () => [] })
      await expect(library.transaction(({ tx }) => others.write(tx, [intent('a')]))).rejects.toMatchObject({
        code: 'TX_OTHER_DATABASE',
      })
      expect(name).not.toBe('')
    })
  })

  test('types accept transactions, and refuse other connections', () => {
    const tsc = new URL('../../node_modules/typescript/bin/tsc', import.meta.url).pathname
    const project = new URL('tsconfig.json', import.meta.url).pathname
    execFileSync(process.execPath, [tsc, '--noEmit', '--project', project], { stdio: 'pipe' })
  })
})
