/** The dialect of SQLite. */
import type { Dialect } from '../sql/dialect.ts'
import { metaTextMax } from '../../core/terms.ts'

/** Is a row of `json_each`, called `member`, a member of meta that `job_meta` has? The same as `isIndexedMeta`. */
export const isIndexedMember = `(member.type = 'integer' OR (member.type = 'text' AND length(member.atom) <= ${metaTextMax}))`

export const sqlite: Dialect = {
  statement: (text) => text,
  // As JSON, so that one statement serves any number of them.
  list: (parameter) => `(SELECT value FROM json_each(${parameter}))`,
  elements: (parameter) => `json_each(${parameter})`,
  // The planner does not know how many rows a partial index has.
  table: (name, index) => (index === null ? `${name} NOT INDEXED` : `${name} INDEXED BY ${index}`),
  // The planner keeps the order of a CROSS JOIN.
  join: (first, second, on) => `${first} CROSS JOIN ${second} ON ${on}`,
  // Not `LIMIT ?`: the planner peeks at a plain parameter, and prepares the statement again for every value.
  limit: (count, passed) => (passed === undefined ? `LIMIT +${count}` : `LIMIT +${count} OFFSET +${passed}`),
  hasMember(column, name, value) {
    // JSON has booleans; in SQLite they are numbers.
    const kinds =
      typeof value === 'boolean' ? [String(value)] : typeof value === 'string' ? ['text'] : ['integer', 'real']
    const same = `key = ? AND type IN (${kinds.map((kind) => `'${kind}'`).join(', ')})`
    return typeof value === 'boolean'
      ? { term: `EXISTS (SELECT 1 FROM json_each(${column}) WHERE ${same})`, values: [name] }
      : { term: `EXISTS (SELECT 1 FROM json_each(${column}) WHERE ${same} AND atom = ?)`, values: [name, value] }
  },
}
