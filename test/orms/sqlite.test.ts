/** Transactions of Drizzle and Kysely on SQLite: what they commit, roll back, and what is refused. */
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import { CompiledQuery, Kysely, SqliteDialect, type Transaction } from 'kysely'
import { afterEach, beforeEach, expect, onTestFinished, test as plainTest } from 'vitest'
import { createClient, defineJob, type ClosableClient, type JobHandle } from '../../src/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { missingLibraries } from './install.ts'

const test = missingLibraries().length === 0 ? plainTest : plainTest.skip

const echo = defineJob<unknown, unknown>({ type: 'echo', run: (input) => input })

let folder: ReturnType<typeof temporaryFolder>
let database: BetterSqlite3.Database
let client: ClosableClient

const open = (name: string): BetterSqlite3.Database => {
  const opened = new BetterSqlite3(`${folder.path}/${name}.db`)
  opened.pragma('journal_mode = WAL')
  opened.exec('CREATE TABLE IF NOT EXISTS orders (id TEXT)')
  return opened
}

beforeEach(async () => {
  folder = temporaryFolder()
  database = open('own')
  client = createClient({ jobs: [echo], store: sqliteStore({ database }) })
  await client.counts()
})

afterEach(async () => {
  await client.close()
  database.close()
  folder.remove()
})

const orders = (): unknown[] => database.prepare('SELECT id FROM orders ORDER BY id').pluck().all()
const queued = async (): Promise<number> => (await client.counts()).queued
const isRolledBack = (job: JobHandle | undefined) =>
  expect(job?.stored()).rejects.toMatchObject({ code: 'TX_ROLLED_BACK' })

class Undone extends Error {}

test('Drizzle: rows and jobs commit together, also nested ones, or not at all', async () => {
  const db = drizzle({ client: database })
  const [job, inner] = db.transaction((tx) => {
    tx.run(sql`INSERT INTO orders VALUES ('a')`)
    let nested: JobHandle | undefined
    try {
      tx.transaction((deeper) => {
        deeper.run(sql`INSERT INTO orders VALUES ('b')`)
        nested = client.within(deeper).enqueue(echo, 'b')
        throw new Undone()
      })
    } catch (error) {
      if (!(error instanceof Undone)) throw error
    }
    tx.transaction((deeper) => {
      deeper.run(sql`INSERT INTO orders VALUES ('c')`)
      client.within(deeper).enqueue(echo, 'c')
    })
    return [client.within(tx).enqueue(echo, 'a'), nested]
  })
  await job?.stored()
  await isRolledBack(inner)
  expect([orders(), await queued()]).toEqual([['a', 'c'], 2])
  let gone: JobHandle | undefined
  expect(() =>
    db.transaction((tx) => {
      tx.run(sql`INSERT INTO orders VALUES ('d')`)
      gone = client.within(tx).enqueue(echo, 'd')
      tx.rollback()
    }),
  ).toThrow()
  await isRolledBack(gone)
  expect([orders(), await queued()]).toEqual([['a', 'c'], 2])
})

test('Drizzle: a connection without a transaction, and a transaction on another database, are refused', () => {
  const db = drizzle({ client: database })
  // @ts-expect-error -- Drizzle outside of a transaction
  expect(() => client.within(db).enqueue(echo, 1)).toThrow(expect.objectContaining({ code: 'TX_NOT_OPEN' }))
  const other = open('other')
  onTestFinished(() => void other.close())
  drizzle({ client: other }).transaction((tx) => {
    expect(() => client.within(tx).enqueue(echo, 1)).toThrow(expect.objectContaining({ code: 'TX_NOT_OPEN' }))
    database.exec('BEGIN')
    expect(() => client.within(tx).enqueue(echo, 1)).toThrow(expect.objectContaining({ code: 'TX_OTHER_DATABASE' }))
    database.exec('ROLLBACK')
  })
})

type Db = Record<string, never>
const kyselyOn = (on: BetterSqlite3.Database): Kysely<Db> =>
  new Kysely<Db>({ dialect: new SqliteDialect({ database: on }) })
const insert = (tx: Transaction<Db>, id: string) =>
  tx.executeQuery(CompiledQuery.raw(`INSERT INTO orders VALUES ('${id}')`))

test('Kysely: rows and jobs commit together or not at all', async () => {
  const db = kyselyOn(database)
  const job = await db.transaction().execute(async (tx) => {
    await insert(tx, 'a')
    await client.enqueue(echo, 'b', { tx })
    client.within(database).enqueue(echo, 'c')
    return client.enqueue(echo, 'a', { tx })
  })
  await job.stored()
  let gone: JobHandle | undefined
  const failing = db.transaction().execute(async (tx) => {
    await insert(tx, 'd')
    gone = await client.enqueue(echo, 'd', { tx })
    throw new Undone()
  })
  await expect(failing).rejects.toThrow(Undone)
  await isRolledBack(gone)
  expect([orders(), await queued()]).toEqual([['a'], 3])
  const controlled = await db.startTransaction().execute()
  const saved = await controlled.savepoint('here').execute()
  const undone = await client.enqueue(echo, 'e', { tx: saved })
  await saved.rollbackToSavepoint('here').execute()
  const kept = await client.enqueue(echo, 'f', { tx: controlled })
  await controlled.commit().execute()
  await kept.stored()
  await isRolledBack(undone)
  expect(await queued()).toBe(4)
})

test('Kysely: what is not open, or on another database, or cannot be asked at once, is refused', async () => {
  const other = open('other')
  onTestFinished(() => void other.close())
  await kyselyOn(other)
    .transaction()
    .execute(async (tx) => {
      await expect(client.enqueue(echo, 1, { tx })).rejects.toMatchObject({ code: 'TX_NOT_OPEN' })
      database.exec('BEGIN')
      await expect(client.enqueue(echo, 1, { tx })).rejects.toMatchObject({ code: 'TX_OTHER_DATABASE' })
      database.exec('ROLLBACK')
    })
  await kyselyOn(database)
    .transaction()
    .execute(async (tx) => {
      // @ts-expect-error -- Kysely is asynchronous
      expect(() => client.within(tx).enqueue(echo, 1)).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }))
    })
  expect(await queued()).toBe(0)
})
