/** The schema of the PostgreSQL store: its versions, and who may do what. */
import { expect, onTestFinished } from 'vitest'
import { inspectPostgresServer, postgresMigration, postgresStore } from 'jobchart/postgres'
import { systemClock } from '../../src/core/clock.ts'
import { Connection, type Link } from '../../src/stores/postgres/connection.ts'
import { migrate, migrationText } from '../../src/stores/postgres/migrate.ts'
import { migrations, schemaVersion } from '../../src/stores/postgres/migrations/index.ts'
import { targetOf } from '../../src/stores/postgres/target.ts'
import { lease, newJob, put, takeOne } from '../../src/store-testing/conformance/acts.ts'
import type { Store } from '../../src/store.ts'
import { postgresOfFile, postgresTest as test } from '../support/postgres-server.ts'

const server = postgresOfFile()

async function opened(schema: string, user = 'postgres'): Promise<Store> {
  const store = postgresStore({ url: server().url.replace('postgres@', `${user}@`), schema })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

async function works(store: Store, id: string): Promise<void> {
  await put(store, newJob(id))
  const job = await takeOne(store, { max: 1 })
  const [answer] = await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
  expect(answer?.outcome).toBe('settled')
}

test('a schema of any earlier version is brought to this one', async () => {
  for (let from = 1; from < schemaVersion; from++) {
    const schema = `from_${from}`
    const first = migrations.slice(0, from).join('\n').replaceAll('@schema@', schema)
    const version = `INSERT INTO ${schema}.meta (name, value) VALUES ('version', '${from}')`
    await server().query(`CREATE SCHEMA ${schema}; ${first}; ${version}`)
    expect((await inspectPostgresServer({ url: server().url, schema })).schemaVersion).toBe(from)
    await works(await opened(schema), 'a')
    expect((await inspectPostgresServer({ url: server().url, schema })).schemaVersion).toBe(schemaVersion)
  }
})

test('the printed statements make the same schema', async () => {
  await server().query(postgresMigration('printed', null))
  await works(await opened('printed'), 'a')
  await works(await opened('made'), 'a')
  const described = (schema: string): Promise<unknown> =>
    server().query(
      `SELECT c.relname, c.relkind FROM pg_class c WHERE c.relnamespace = '${schema}'::regnamespace ORDER BY c.relname`,
    )
  expect(await described('printed')).toEqual(await described('made'))
  expect(postgresMigration('printed', schemaVersion)).toBe('')
  expect(() => postgresMigration('printed', 99)).toThrow(/no version of a schema/)
})

test('a schema of a later version is refused', async () => {
  await (await opened('later')).counts()
  await server().query("UPDATE later.meta SET value = '99' WHERE name = 'version'")
  const store = postgresStore({ url: server().url, schema: 'later' })
  await expect(store.open({ clock: systemClock })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
})

test('a migration that another process carries out is waited for', async () => {
  const other = server().query(
    `BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('jobchart slow', 0)); SELECT pg_sleep(0.5);
    ${migrationText('slow', null)} COMMIT`,
  )
  await server().query('SELECT pg_sleep(0.2)')
  await works(await opened('slow'), 'a')
  await other
})

test('a schema that another process makes between the look and the lock is not made again', async () => {
  const { connect, where } = targetOf({ url: server().url })
  const connection = new Connection(async () => {
    const link = await connect()
    let tries = 0
    const query: Link['query'] = async (...statement) => {
      if (!statement[0].includes('pg_try_advisory')) return link.query(...statement)
      // At the second try the server process remembers that there is no such schema.
      if (++tries === 2) await server().query(`BEGIN; ${migrationText('late', null)} COMMIT`)
      const rows = await link.query(...statement)
      return tries === 1 ? [[false]] : rows
    }
    return Object.assign(Object.create(link) as Link, { query })
  }, where)
  onTestFinished(() => connection.close())
  await migrate(connection, 'late', where)
  await works(await opened('late'), 'a')
})

test('the rights that the guide names are enough, and fewer are told', async () => {
  await opened('shop')
  await server().query(`CREATE ROLE worker LOGIN; CREATE ROLE reader LOGIN; CREATE ROLE nobody LOGIN;
    GRANT USAGE ON SCHEMA shop TO worker, reader; GRANT SELECT ON ALL TABLES IN SCHEMA shop TO reader;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA shop TO worker;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA shop TO worker; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA shop TO worker`)
  await works(await opened('shop', 'worker'), 'a')
  const reader = await opened('shop', 'reader')
  expect((await reader.counts()).done).toBe(1)
  expect((await reader.list({})).map(({ id }) => id)).toEqual(['a'])
  const refused = { code: 'STORE_UNAVAILABLE', hint: expect.stringContaining('rights') as string }
  await expect(put(reader, newJob('b'))).rejects.toMatchObject(refused)
  await expect(opened('shop', 'nobody')).rejects.toMatchObject(refused)
  await expect(opened('not_there', 'worker')).rejects.toMatchObject(refused)
  const infoOf = (user: string) =>
    inspectPostgresServer({ url: server().url.replace('postgres@', `${user}@`), schema: 'shop' })
  expect(await infoOf('worker')).toMatchObject({ hasRights: true, notifies: true, autovacuum: true, isDurable: false })
  expect(await infoOf('reader')).toMatchObject({ hasRights: false, schemaVersion })
  const without: readonly (readonly [taken: string, given: string])[] = [
    [
      'REVOKE EXECUTE ON FUNCTION shop.take_turn FROM worker, PUBLIC',
      'GRANT EXECUTE ON FUNCTION shop.take_turn TO worker',
    ],
    ['REVOKE USAGE ON SEQUENCE shop.intents FROM worker', 'GRANT USAGE ON SEQUENCE shop.intents TO worker'],
    ['ALTER TABLE shop.jobs ENABLE ROW LEVEL SECURITY', 'ALTER TABLE shop.jobs DISABLE ROW LEVEL SECURITY'],
  ]
  for (const [taken, given] of without) {
    await server().query(taken)
    expect(await infoOf('worker'), taken).toMatchObject({ hasRights: false })
    await server().query(given)
  }
  expect(await infoOf('worker')).toMatchObject({ hasRights: true })
})

test('what a role limits for its statements is not meant for a migration', async () => {
  await server().query(`CREATE TABLE told (setting text);
    CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO public.told VALUES (current_setting('statement_timeout')); END $$;
    CREATE EVENT TRIGGER note ON ddl_command_end EXECUTE FUNCTION note()`)
  const limits = encodeURIComponent('-c statement_timeout=30s')
  const limited = postgresStore({ url: `${server().url}?options=${limits}`, schema: 'limited' })
  await limited.open({ clock: systemClock })
  await limited.close()
  await server().query('DROP EVENT TRIGGER note')
  expect(await server().query('SELECT DISTINCT setting FROM told')).toEqual([{ setting: '0' }])
})

test('a user who may only read by a setting is told so', async () => {
  await server().query('CREATE ROLE frozen LOGIN; ALTER ROLE frozen SET default_transaction_read_only = on')
  await expect(opened('frozen', 'frozen')).rejects.toThrow(/default_transaction_read_only/)
})

test('a schema may have any name that PostgreSQL takes', async () => {
  for (const schema of ["it's", '"quoted"', 'a.b', 'two words', 'a$&b', "a$'b", '$1', 'select', '😀']) {
    const store = await opened(schema)
    await works(store, 'a')
    expect((await store.counts()).done).toBe(1)
  }
  for (const schema of ['a$$b', 'a\\b', 'pg_a', 'x'.repeat(64), 'a\0b'])
    expect(() => postgresStore({ url: server().url, schema })).toThrow(/schema: expected/)
})

test('an address that can be of no server is refused', () => {
  for (const url of ['redis://127.0.0.1', 'postgres://127.0.0.1:65536/app', 'postgres://one:5432,two:70000/app'])
    expect(() => postgresStore({ url })).toThrow(/url: expected/)
})

test('a database that does not exist is told', async () => {
  const store = postgresStore({ url: server().url.replace(/[^/]*$/, 'nowhere') })
  const hint: unknown = expect.stringContaining('Create the database')
  await expect(store.open({ clock: systemClock })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', hint })
})

test('settings of the role change nothing', async () => {
  await server().query(`CREATE ROLE odd LOGIN SUPERUSER; ALTER ROLE odd SET standard_conforming_strings = off;
    ALTER ROLE odd SET escape_string_warning = off; ALTER ROLE odd SET search_path = 'nowhere';
    ALTER ROLE odd SET datestyle = 'German, DMY'; ALTER ROLE odd SET timezone = 'Asia/Kathmandu';
    ALTER ROLE odd SET bytea_output = 'escape'; ALTER ROLE odd SET extra_float_digits = -15;
    ALTER ROLE odd SET array_nulls = off;
    ALTER ROLE odd SET default_transaction_isolation = 'serializable'`)
  const store = await opened('odd', 'odd')
  for (const id of ['a', String.raw`b\c`, "d'e", 'f\0g']) {
    await works(store, id)
    expect((await store.get([id]))[0]?.id).toBe(id)
  }
  expect(Math.abs(store.now() - systemClock.now())).toBeLessThan(60_000)
})

test('a database that is replaced by an older one of its name is as that has it', async () => {
  await server().query('CREATE DATABASE shop')
  const of = async (...ids: readonly string[]): Promise<Store> => {
    const store = postgresStore({ url: server().url.replace(/[^/]*$/, 'shop') })
    await store.open({ clock: systemClock })
    await put(store, ...ids.map((id) => newJob(id)))
    return store
  }
  await (await of('a')).close()
  await expect
    .poll(() =>
      server()
        .query('CREATE DATABASE older TEMPLATE shop')
        .then(() => true, String),
    )
    .toBe(true)
  const store = await of('b', 'c')
  onTestFinished(() => store.close())
  expect((await store.counts()).queued).toBe(3)
  await server().query('DROP DATABASE shop WITH (FORCE)')
  await server().query('ALTER DATABASE older RENAME TO shop')
  await expect.poll(() => Promise.resolve(store.counts()).catch(() => null)).toMatchObject({ queued: 1 })
})

test('a transaction that stays open is told', async () => {
  const store = await opened('old')
  await works(store, 'a')
  const other = server().query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(1); COMMIT')
  await expect
    .poll(async () => (await inspectPostgresServer({ url: server().url, schema: 'old' })).oldestTransactionMs)
    .toBeGreaterThan(0)
  await other
})
