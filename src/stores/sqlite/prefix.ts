/** The store's tables and indexes in a database that is not its own, and their names. */
import { migrations } from './migrations/index.ts'

/**
 * The store's tables besides those of a file of its own. `meta` says whose tables they are. `intents` has what calls in
 * transactions of users ask for, until it is carried out; it has no row numbers, so that `last_insert_rowid()` of the
 * user stays what it is. `carried_out` has the calls that another process has carried out than that which has made
 * them, and what was refused.
 */
export const ownTables = `
  CREATE TABLE meta (application TEXT NOT NULL, version INTEGER NOT NULL) STRICT;
  INSERT INTO meta VALUES ('jobchart', 0);
  CREATE TABLE intents (number INTEGER PRIMARY KEY, receipt TEXT NOT NULL, intents TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE carried_out (receipt TEXT PRIMARY KEY, at INTEGER NOT NULL, refused TEXT) STRICT, WITHOUT ROWID;`

const made = (sql: string): string[] =>
  Array.from(sql.matchAll(/CREATE (?:UNIQUE )?(?:TABLE|INDEX) (\w+)/g), ([, name]) => name as string)

const names = [...new Set([...migrations, ownTables].flatMap(made))]
const anyName = names.join('|')

/** A name stands behind one of these words, or before the name of a column. Many columns are called like a table. */
const table = new RegExp(
  String.raw`\b((?:FROM|JOIN|INTO|UPDATE|REPLACE|TABLE|AS|INDEX|INDEXED BY|ON)\s+)(${anyName})\b(?!\.)`,
  'g',
)
const qualifier = new RegExp(String.raw`(?<![\w.'])(${anyName})(?=\.\w)`, 'g')

/** A statement of the store with the names that it has in a database of the user. */
export const prefixed = (sql: string, prefix: string): string =>
  sql
    // The user's connection may hold to references; the order of the store's writes does not.
    .replaceAll(/ REFERENCES \w+/g, '')
    .replaceAll('PRAGMA user_version', 'SELECT version FROM meta')
    .replaceAll(table, `$1${prefix}$2`)
    .replaceAll(qualifier, `${prefix}$1`)

export const prefixedNames = (prefix: string): string[] => names.map((name) => prefix + name)
