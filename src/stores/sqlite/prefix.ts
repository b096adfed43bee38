/** Names of the store's tables and indexes in a database that is not its own. */
import { migrations } from './migrations/index.ts'

/** What the store has in such a database besides the tables of the migrations. */
const ownTables = ['meta', 'intents', 'carried_out']

const made = (sql: string): string[] =>
  Array.from(sql.matchAll(/CREATE (?:UNIQUE )?(?:TABLE|INDEX) (\w+)/g), ([, name]) => name as string)

const names = [...new Set([...migrations.flatMap(made), ...ownTables])]
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
