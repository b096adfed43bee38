/** What a server says of itself and of a schema, without a store on it: for checks of a deployment. */
import { JobchartError } from '../../core/errors.ts'
import { Connection, failed } from './connection.ts'
import { arrives } from './hints.ts'
import { migrationText, versionOf } from './migrate.ts'
import { migrations, schemaVersion as newestVersion } from './migrations/index.ts'
import { schemaName } from './schema-name.ts'
import { targetOf, type TargetOptions } from './target.ts'
import { quotedName } from './texts.ts'

export interface PostgresServerInfo {
  /** The version of the server, such as `15.4`. */
  readonly version: string
  /** The version of the schema; null if jobchart has made none. */
  readonly schemaVersion: number | null
  /** The version that this jobchart reads and writes. */
  readonly newestVersion: number
  /** All tables and indexes of the schema, bytes. */
  readonly usedBytes: number
  /** Is a commit on the disk when it is answered? Otherwise a crash of the server loses acknowledged jobs. */
  readonly isDurable: boolean
  /** Does the server remove dead rows by itself? */
  readonly autovacuum: boolean
  /** Dead rows of the schema's tables, and live ones, as the server estimates them. */
  readonly deadRows: number
  readonly liveRows: number
  /** The oldest transaction of the database, ms: no row that died since it began can be removed. 0: there is none. */
  readonly oldestTransactionMs: number
  /** May this user write every row of every table of the schema, use its sequences, and call its functions? */
  readonly hasRights: boolean
  /** Tables, views, sequences, indexes and functions of its version that the schema lacks, such as `index jobs_due`. */
  readonly missing: readonly string[]
  /** Do notifications arrive? A pooler that shares connections between transactions swallows them. */
  readonly notifies: boolean
}

interface PostgresTargetOptions extends TargetOptions {
  readonly schema?: string
}

/**
 * Looks at a server before a store is opened on it: for checks of a deployment. Nothing is written.
 * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE, UNSUPPORTED (no driver is installed)
 * @example
 * const { isDurable } = await inspectPostgresServer({ url: 'postgres://localhost/app' })
 */
export async function inspectPostgresServer(options: PostgresTargetOptions): Promise<PostgresServerInfo> {
  const schema = schemaName(options.schema ?? 'jobchart')
  const { connect, where } = targetOf(options)
  const connection = new Connection(connect, where)
  try {
    const query = connection.query.bind(connection)
    const schemaVersion = await versionOf(query, schema)
    const [server = []] = await query(serverText)
    const [tables = []] = await query(tablesText, [schema])
    const missing = await query(missingText, [schema, objectsOf(migrations.slice(0, schemaVersion ?? 0))])
    return {
      version: server[0] as string,
      isDurable: server[1] as boolean,
      autovacuum: server[2] as boolean,
      oldestTransactionMs: server[3] as number,
      schemaVersion,
      newestVersion,
      usedBytes: tables[0] as number,
      deadRows: tables[1] as number,
      liveRows: tables[2] as number,
      hasRights: tables[3] as boolean,
      missing: missing.map(([object]) => object as string),
      notifies: await arrives(connection),
    }
  } catch (error) {
    throw failed(where, error)
  } finally {
    connection.close()
  }
}

const serverText = `SELECT current_setting('server_version'),
  current_setting('fsync')::boolean AND current_setting('synchronous_commit') NOT IN ('off'),
  current_setting('autovacuum')::boolean,
  coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)) * 1000, 0)::float8
  FROM pg_stat_activity
  WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database()`

const tablesText = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8,
  coalesce(sum(pg_stat_get_dead_tuples(c.oid)), 0)::float8, coalesce(sum(pg_stat_get_live_tuples(c.oid)), 0)::float8,
  coalesce(bool_and(has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
    AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')
    AND NOT row_security_active(c.oid)), true)
    AND coalesce((SELECT bool_and(has_function_privilege(p.oid, 'EXECUTE')) FROM pg_proc p
      JOIN pg_namespace o ON o.oid = p.pronamespace WHERE o.nspname = $1), true)
    AND coalesce((SELECT bool_and(has_sequence_privilege(s.oid, 'USAGE')) FROM pg_class s
      JOIN pg_namespace o ON o.oid = s.relnamespace WHERE o.nspname = $1 AND s.relkind = 'S'), true)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`

/** What these make: kinds and names. */
function objectsOf(texts: readonly string[]): string[] {
  const made = texts
    .join('')
    .matchAll(/CREATE (?:UNIQUE )?(TABLE|VIEW|SEQUENCE|INDEX|FUNCTION) (?:@schema@\.)?(\w+)([^;]*)/g)
  return [...made].flatMap(([, kind = '', name = '', rest = '']) => [
    `${kind.toLowerCase()} ${name}`,
    ...(kind === 'TABLE' && rest.includes('PRIMARY KEY') ? [`index ${name}_pkey`] : []),
  ])
}

/** An index that was not built to its end is none. */
const missingText = `SELECT w.object FROM unnest($2::text[]) AS w(object)
  CROSS JOIN LATERAL (SELECT split_part(w.object, ' ', 1) AS kind, split_part(w.object, ' ', 2) AS name) o
  WHERE NOT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_index i ON i.indexrelid = c.oid
      WHERE n.nspname = $1 AND c.relname = o.name AND o.kind <> 'function' AND i.indisvalid IS NOT false)
    AND NOT EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname = $1 AND p.proname = o.name AND o.kind = 'function')`

/**
 * The SQL that makes a schema, or brings it to the version of this jobchart: for those who let no program change their
 * schemas.
 * @param from its version; null if there is none
 * @throws JobchartError INVALID_OPTION
 * @example console.log(postgresMigration('jobchart', null))
 */
export function postgresMigration(schema: string, from: number | null): string {
  const known = schemaName(schema)
  if (from !== null && (!Number.isInteger(from) || from < 1 || from > newestVersion)) {
    throw new JobchartError('INVALID_OPTION', `from: ${quotedName(String(from))} is no version of a schema`, {
      hint: `Versions are 1 to ${newestVersion}; null is a schema that is not there.`,
    })
  }
  return from === newestVersion ? '' : `BEGIN;\n${migrationText(known, from)}\nCOMMIT;\n`
}
