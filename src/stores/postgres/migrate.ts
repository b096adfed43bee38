/** Brings a schema to the version of this jobchart, or makes it. */
import { JobchartError } from '../../core/errors.ts'
import { pause, type Ask, type Connection } from './connection.ts'
import { migrations, schemaVersion } from './migrations/index.ts'
import { quotedName } from './texts.ts'

/** Others that migrate are waited for by asking again: a waiter would hold up an index that is built concurrently. */
const askAgainMs = 100

const literalText = (text: string): string => text.replaceAll("'", "''")

const lockName = (schema: string): string => `hashtextextended('jobchart ${literalText(schema)}', 0)`

/** The text that makes each version of the one before; `from` is that of the schema, null if there is none. */
export function migrationText(schema: string, from: number | null): string {
  const name = quotedName(schema)
  const made = from === null ? [`CREATE SCHEMA IF NOT EXISTS ${name};`] : []
  // It stands in literals, too. Functions: in a replacement that is a text, some characters after a dollar are read as
  // a pattern.
  const texts = migrations
    .slice(from ?? 0)
    .map((text) => text.replaceAll("'@schema@", () => `'${literalText(name)}`).replaceAll('@schema@', () => name))
  const set = `INSERT INTO ${name}.meta (name, value) VALUES ('version', '${schemaVersion}')
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;`
  return [...made, ...texts, set].join('\n')
}

/** The version of a schema; null if it has none of ours. */
export async function versionOf(ask: Ask, schema: string): Promise<number | null> {
  // From the catalog: what to_regclass knows may be older than a lock that the transaction has taken.
  const there = await ask("SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'meta'", [schema])
  if (there.length === 0) return null
  const [row] = await ask(`SELECT value FROM ${quotedName(schema)}.meta WHERE name = 'version'`)
  return row === undefined ? null : Number(row[0])
}

/** @throws JobchartError UNSUPPORTED if a later jobchart has made it, STORE_UNAVAILABLE */
export async function migrate(connection: Connection, schema: string, where: string): Promise<void> {
  for (;;) {
    const version = await versionOf((...statement) => connection.query(...statement), schema)
    if (version === schemaVersion) return
    if (version !== null && version > schemaVersion) {
      throw new JobchartError('UNSUPPORTED', `PostgreSQL at ${where}: schema ${schema} has version ${version}`, {
        hint: `This jobchart works on version ${schemaVersion}: use the later one that has made it.`,
      })
    }
    if (await migrateOnce(connection, schema, version)) return
    await pause(askAgainMs)
  }
}

/** @returns false if another process migrates now, or has done so */
function migrateOnce(connection: Connection, schema: string, from: number | null): Promise<boolean> {
  return connection.inTransaction("SET LOCAL lock_timeout = '5s'; SET LOCAL statement_timeout = 0", async (ask) => {
    const [row] = await ask(`SELECT pg_try_advisory_xact_lock(${lockName(schema)})`)
    if (row?.[0] !== true || (await versionOf(ask, schema)) !== from) return false
    await ask(migrationText(schema, from))
    return true
  })
}
