/** The tables of a store in a database of the user: whose they are, who may open them, and what stays as it was. */
import { DatabaseSync } from 'node:sqlite'
import BetterSqlite3 from 'better-sqlite3'
import { createClient, defineJob } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import type { Store } from 'jobchart/store'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { newJob, put } from '../../src/store-testing/conformance/acts.ts'
import { storeError } from '../../src/stores/sqlite/errors.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { inFolder, sqliteLibraries, type SqliteLibrary, type UserDatabaseOfTest } from '../support/user-databases.ts'

const echo = defineJob<unknown, unknown>({ type: 'echo', run: (input) => input })

function folderOfTest(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return folder.path
}

function opened({ open }: SqliteLibrary, path = inFolder(folderOfTest())): UserDatabaseOfTest {
  const own = open(path)
  let isOpen = true
  onTestFinished(() => (isOpen ? own.close() : undefined))
  return { ...own, close: () => ((isOpen = false), own.close()) }
}

async function openStore(store: Store): Promise<Store> {
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

const [nodeSqlite] = sqliteLibraries as [SqliteLibrary]

const nameOf = ([name]: readonly unknown[]): unknown => name

describe.each(sqliteLibraries)('on $name', (library) => {
  test('tables, pragmas and identity of the user stay as they are', async () => {
    const own = opened(library)
    own.exec(`CREATE TABLE jobs (id INTEGER PRIMARY KEY, what TEXT); CREATE INDEX due ON jobs (what);
      CREATE TABLE lives (x); CREATE TABLE queues (x); INSERT INTO jobs VALUES (1, 'mine')`)
    own.exec('PRAGMA application_id = 7; PRAGMA user_version = 8; PRAGMA foreign_keys = ON; PRAGMA cache_size = 77')
    const pragmas = ['application_id', 'user_version', 'foreign_keys', 'cache_size', 'synchronous', 'busy_timeout']
    const seen = (): unknown[] => pragmas.map((name) => own.rows(`PRAGMA ${name}`)[0]?.[0])
    const before = seen()
    const tables = "SELECT name FROM sqlite_master WHERE name NOT LIKE '%jobchart\\_%' ESCAPE '\\' ORDER BY name"
    const names = own.rows(tables).map(nameOf)
    const store = await openStore(sqliteStore({ database: own.database }))
    await put(store, newJob('a'))
    own.exec('BEGIN')
    own.exec("INSERT INTO jobs (what) VALUES ('mine, too')")
    await store.transactions?.write(own.database, [
      { kind: 'cancel', request: { ids: ['a'], reason: null, graceMs: 0 } },
    ])
    const [last] = own.rows('SELECT last_insert_rowid()')
    own.exec('COMMIT')
    expect(last).toEqual([2])
    expect(seen()).toEqual(before)
    // Numbers of messages are never given twice, for which SQLite has a table of its own.
    expect(own.rows(tables).map(nameOf)).toEqual([...names, 'sqlite_sequence'])
    expect(own.rows('SELECT what FROM jobs')).toEqual([['mine'], ['mine, too']])
  })

  test('a database that was opened by a relative path is found from another folder', async () => {
    const [folder, before] = [folderOfTest(), process.cwd()]
    onTestFinished(() => process.chdir(before))
    process.chdir(folder)
    const { database } = opened(library, 'shop.db')
    process.chdir('/')
    const store = await openStore(sqliteStore({ database }))
    await put(store, newJob('a'))
    expect((await store.counts()).queued).toBe(1)
  })

  test('two stores with different prefixes know nothing of each other', async () => {
    const own = opened(library)
    const [one, two] = [
      await openStore(sqliteStore({ database: own.database })),
      await openStore(sqliteStore({ database: own.database, prefix: 'second_' })),
    ]
    await put(one, newJob('a'))
    expect([(await one.counts()).queued, (await two.counts()).queued]).toEqual([1, 0])
    await one.repair?.()
    expect((await one.counts()).queued).toBe(1)
  })

  test('no table of the user is hidden by one of the connection, whatever its name', async () => {
    const own = opened(library)
    own.exec('CREATE TABLE shop_stores (id INTEGER); INSERT INTO shop_stores VALUES (7)')
    const store = await openStore(sqliteStore({ database: own.database, prefix: 'shop_' }))
    await put(store, newJob('a'))
    expect(own.rows('SELECT * FROM shop_stores')).toEqual([[7]])
  })

  test('a store that is closed in a transaction of the user leaves the connection to another one, also after a rollback', async () => {
    const own = opened(library)
    const store = await openStore(sqliteStore({ database: own.database }))
    own.exec('BEGIN IMMEDIATE')
    await store.close()
    own.exec('ROLLBACK')
    const next = await openStore(sqliteStore({ database: own.database }))
    await put(next, newJob('a'))
    expect((await next.counts()).queued).toBe(1)
  })

  test('what cannot be used is refused', async () => {
    const path = inFolder(folderOfTest())
    const own = opened(library, path)
    const refusal = (database = own, prefix?: string): unknown => {
      try {
        return sqliteStore({ database: database.database, ...(prefix !== undefined && { prefix }) }).name
      } catch (error) {
        const { code, message } = error as { code: unknown; message: string }
        return [code, message.replace(path, 'FILE')]
      }
    }
    own.exec('BEGIN')
    expect(refusal()).toEqual(['STORE_UNAVAILABLE', 'a transaction is open on the connection to FILE'])
    own.exec('ROLLBACK')
    own.exec('CREATE TABLE jobchart_lives (x)')
    expect(refusal()).toEqual(['UNSUPPORTED', 'FILE has a table or an index jobchart_lives that is not of this store'])
    own.exec('CREATE TABLE jobchart_meta (application TEXT, version INTEGER)')
    expect(refusal()).toMatchObject(['UNSUPPORTED', expect.stringContaining('that is not of this store')])
    own.exec("INSERT INTO jobchart_meta VALUES ('other', 1)")
    expect(refusal()).toMatchObject(['UNSUPPORTED', expect.stringContaining('that is not of this store')])
    own.exec("UPDATE jobchart_meta SET application = 'jobchart', version = 1000")
    expect(refusal()).toMatchObject(['UNSUPPORTED', expect.stringContaining('newer jobchart')])
    expect(refusal(own, 'sqlite_x')).toMatchObject(['INVALID_OPTION', expect.any(String)])
    expect(refusal(own, "a'b")).toMatchObject(['INVALID_OPTION', expect.any(String)])
    expect(refusal(own, 'mine_')).toBe('sqlite')
    own.exec('PRAGMA journal_mode = DELETE')
    expect(refusal(own, 'mine_')).toEqual(['UNSUPPORTED', 'FILE is not in WAL mode (it is delete)'])
    own.close()
    expect(refusal()).toEqual(['STORE_UNAVAILABLE', 'the `database` of the store is closed'])
    expect(refusal(opened(library, ':memory:'))).toEqual(['UNSUPPORTED', 'the `database` of the store is in memory'])
    expect(refusal({ ...own, database: {} as never })).toMatchObject(['INVALID_OPTION', expect.any(String)])
    const both = { path, database: own.database }
    expect(() => sqliteStore(both)).toThrow(/path/)
  })

  test('a file of a store of its own is opened by its path', async () => {
    const path = inFolder(folderOfTest())
    const store = sqliteStore({ path })
    await store.open({ clock: systemClock })
    await store.close()
    const own = opened(library, path)
    expect(() => sqliteStore({ database: own.database })).toThrow(/a store of its own/)
    const other = inFolder(folderOfTest())
    const users = opened(library, other)
    sqliteStore({ database: users.database })
    users.close()
    await expect(sqliteStore({ path: other }).open({ clock: systemClock })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
    })
  })

  test('one store is open on a connection, and another one after its close', async () => {
    const own = opened(library)
    const [one, two] = [sqliteStore({ database: own.database }), sqliteStore({ database: own.database })]
    await one.open({ clock: systemClock })
    await expect(two.open({ clock: systemClock })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    await one.close()
    await openStore(two)
    await put(two, newJob('a'))
    await two.close()
    await openStore(one)
    expect((await one.counts()).queued).toBe(1)
  })

  test('a store reopens what it has made, and a database that was closed is said so', async () => {
    const path = inFolder(folderOfTest())
    const own = opened(library, path)
    await put(await openStore(sqliteStore({ database: own.database })), newJob('a'))
    const again = opened(library, path)
    const store = await openStore(sqliteStore({ database: again.database }))
    expect((await store.counts()).queued).toBe(1)
    again.close()
    await expect(store.counts()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  test('two connections share a file, and see each other’s jobs and transactions', async () => {
    const path = inFolder(folderOfTest())
    const [one, two] = [opened(library, path), opened(library, path)]
    const [a, b] = [one, two].map(({ database }) => createClient({ jobs: [echo], store: sqliteStore({ database }) }))
    onTestFinished(async () => void (await Promise.all([a?.close(), b?.close()])))
    await a?.enqueue(echo, 1)
    expect((await b?.counts())?.queued).toBe(1)
    two.exec('BEGIN IMMEDIATE')
    const job = b?.within(two.database).enqueue(echo, 2)
    two.exec('COMMIT')
    // The other one carries it out when it looks, and the first one finds that out.
    expect((await a?.counts())?.queued).toBe(2)
    await job?.stored()
    two.exec('BEGIN IMMEDIATE')
    const undone = b?.within(two.database).enqueue(echo, 3)
    two.exec('ROLLBACK')
    expect((await a?.counts())?.queued).toBe(2)
    await expect(undone?.stored()).rejects.toMatchObject({ code: 'TX_ROLLED_BACK' })
  })

  test('a transaction that waits for a lock of another connection is refused, and can be repeated', async () => {
    const path = inFolder(folderOfTest())
    const [one, two] = [opened(library, path), opened(library, path)]
    const store = await openStore(sqliteStore({ database: one.database }))
    two.exec('BEGIN IMMEDIATE')
    one.exec('BEGIN')
    const intent = { kind: 'cancel', request: { ids: ['a'], reason: null, graceMs: 0 } } as const
    await expect(store.transactions?.write(one.database, [intent])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    one.exec('ROLLBACK')
    two.exec('ROLLBACK')
  })

  test(
    'a transaction that stays open makes calls fail, and nothing of them is written',
    { timeout: 30_000 },
    async () => {
      const own = opened(library)
      const store = await openStore(sqliteStore({ database: own.database }))
      own.exec('BEGIN')
      await expect(put(store, newJob('a'))).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining('a transaction is open'),
      })
      own.exec('COMMIT')
      expect((await store.counts()).queued).toBe(0)
    },
  )
})

test('a call between two rows that better-sqlite3 reads says that the connection is blocked, and can be repeated', async () => {
  const database = new BetterSqlite3(inFolder(folderOfTest()))
  onTestFinished(() => void database.close())
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE own (id); INSERT INTO own VALUES (1)')
  const store = await openStore(sqliteStore({ database }))
  const intent = { kind: 'cancel', request: { ids: ['a'], reason: null, graceMs: 0 } } as const
  const write = () => store.transactions?.synchronous?.write(database, [intent])
  database.exec('BEGIN IMMEDIATE')
  for (const _row of database.prepare('SELECT * FROM own').iterate()) expect(write).toThrow(/is reading/)
  expect(write()).toEqual(expect.any(String))
  database.exec('COMMIT')
})

test('node:sqlite cannot write while it reads what another process has written over: the error says which statement', () => {
  const path = inFolder(folderOfTest())
  const [one, two] = [opened(nodeSqlite, path), opened(nodeSqlite, path)]
  one.exec('CREATE TABLE own (id); INSERT INTO own VALUES (1)')
  const database = one.database as DatabaseSync
  for (const _row of database.prepare('SELECT * FROM own').iterate()) {
    two.exec('INSERT INTO own VALUES (2)')
    let failure: unknown
    try {
      one.exec('BEGIN IMMEDIATE')
    } catch (error) {
      failure = storeError(error, path)
    }
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('is reading') })
    break
  }
})

test('what carries out is told of refusals once, also if another process has carried them out', async () => {
  const path = inFolder(folderOfTest())
  const [one, two] = [opened(nodeSqlite, path), opened(nodeSqlite, path)]
  const [writer, other] = [
    await openStore(sqliteStore({ database: one.database })),
    await openStore(sqliteStore({ database: two.database })),
  ]
  const requests = [newJob('a'), { ...newJob('a'), type: 'another type' }]
  one.exec('BEGIN IMMEDIATE')
  const receipts = requests.map((job) =>
    writer.transactions!.synchronous!.write(one.database, [
      { kind: 'insert', request: { jobs: [job], capacity: null } },
    ]),
  )
  one.exec('COMMIT')
  expect((await other.counts()).queued).toBe(1)
  expect(await writer.transactions!.fates(receipts)).toEqual(['committed', 'committed'])
  const { refused } = await writer.transactions!.carryOut(10)
  expect(refused.map(({ error }) => error.code)).toEqual(['ID_TAKEN'])
  expect((await writer.transactions!.carryOut(10)).refused).toEqual([])
})

test('the end of an attempt by a store that is not open cannot be committed', () => {
  const database = new DatabaseSync(inFolder(folderOfTest()))
  onTestFinished(() => database.close())
  database.exec('PRAGMA journal_mode = WAL')
  const { synchronous } = sqliteStore({ database }).transactions!
  const request = { id: 'a', attempt: 1, token: 't', event: 'COMPLETE', to: 'done' } as const
  database.exec('BEGIN IMMEDIATE')
  expect(() => synchronous!.write(database, [{ kind: 'settle', request }])).toThrow(/not open/)
  expect(() => database.exec('COMMIT')).toThrow(/no transaction is active/)
})

test('a row that nobody can read is removed, and holds nothing up', async () => {
  const path = inFolder(folderOfTest())
  const database = new DatabaseSync(path)
  onTestFinished(() => database.close())
  database.exec('PRAGMA journal_mode = WAL')
  const store = await openStore(sqliteStore({ database }))
  database.exec("INSERT INTO jobchart_intents VALUES (1, 'x', '{'), (2, 'y', '[{}]')")
  await put(store, newJob('a'))
  expect((await store.counts()).queued).toBe(1)
  expect(database.prepare('SELECT * FROM jobchart_intents').all()).toEqual([])
})
