/** Pages of the log. Its rows are what a call has written; the numbers of their transitions follow each other. */
import type { HistoryEntry } from '../../core/record.ts'
import type { LogPage } from '../remote/port.ts'
import type { Ask } from './connection.ts'
import { lastOf } from './figures.ts'
import { textOfColumn } from './texts.ts'

/**
 * Transitions after a number, so many at most, each with the number of the first one of the row that has the first of
 * them, and the last number of all. It reads no row behind the last of them: one may have hundreds. Nor does it look
 * for the first row of all, because those that were removed may be kept for a transaction that is open.
 */
export const logText = (schema: string): string => `
  SELECT f.first::float8, ${lastOf(schema)}::float8, l.seq::float8, l.id, l.type, l.entry
  FROM (
    SELECT (SELECT last - cardinality(ids) + 1 FROM ${schema}.log WHERE last > $1::bigint ORDER BY last LIMIT 1) AS first
    OFFSET 0) f
  LEFT JOIN LATERAL (
    SELECT e.last - cardinality(e.ids) + u.n AS seq, u.id, e.types[width_bucket(u.n::int, e.firsts)] AS type, e.entry
    FROM (
      SELECT * FROM ${schema}.log WHERE last > $1::bigint AND last <= coalesce(
        (SELECT g.last FROM ${schema}.log g WHERE g.last >= greatest($1::bigint, f.first - 1) + $2::int
          ORDER BY g.last LIMIT 1), 9223372036854775807)
      ORDER BY last) e
    CROSS JOIN LATERAL unnest(e.ids) WITH ORDINALITY AS u(id, n)
    WHERE e.last - cardinality(e.ids) + u.n > $1::bigint ORDER BY 1 LIMIT $2::int) l ON true`

export async function readLog(ask: Ask, schema: string, after: number, limit: number): Promise<LogPage> {
  const rows = await ask(logText(schema), [after, limit])
  const [first, last] = rows[0] ?? []
  const entries = rows.flatMap(([, , seq, id, type, entry]) =>
    seq === null
      ? []
      : {
          ...(JSON.parse(entry as string) as HistoryEntry),
          seq: seq as number,
          id: textOfColumn(id as string),
          type: textOfColumn(type as string),
        },
  )
  return {
    entries: entries.toSorted((a, b) => a.seq - b.seq),
    first: (first as number | null) ?? ((last as number | null) ?? 0) + 1,
    last: (last as number | null) ?? 0,
  }
}
