/** Loads what is wanted by one statement: a part of it for each kind. */
import type { Loaded, Wanted } from '../remote/port.ts'
import type { QueueGroup, QueueHeads } from '../remote/working-set.ts'
import { clockColumn, type Ask, type Param, type ResultRow } from './connection.ts'
import { documentFrom } from './jobs.ts'
import { columnText, textOfColumn } from './texts.ts'

/** Columns of all parts: the number of the part, four texts, six numbers. */
const columns = (texts: readonly string[], numbers: readonly string[]): string => {
  const all = Array.from({ length: 10 }, (_, i) =>
    i < 4 ? (texts[i] ?? 'NULL') : `${numbers[i - 4] ?? 'NULL'}::float8`,
  )
  return `SELECT $PART, ${all.join(', ')}`
}

type Rows = readonly ResultRow[]

interface Part {
  readonly text: string
  readonly values: readonly Param[]
  readonly take: (rows: Rows) => void
}

type Of<Kind extends Wanted['kind']> = readonly (Wanted & { readonly kind: Kind })[]

const ofKind = <Kind extends Wanted['kind']>(wanted: readonly Wanted[], kind: Kind): Of<Kind> =>
  wanted.filter((each): each is Wanted & { readonly kind: Kind } => each.kind === kind)

/** A statement, and what takes its rows. */
export function loadingOf(
  schema: string,
  wanted: readonly Wanted[],
  into: Loaded,
): { readonly statement: Parameters<Ask>; readonly take: (rows: Rows) => void } {
  const parts = [
    ...ofKind(wanted, 'values').map((each) => valuesPart(schema, each, into)),
    ...childPart(schema, ofKind(wanted, 'children'), into),
    ...ofKind(wanted, 'timers').map((each) => timerPart(schema, each, into)),
  ]
  const frequent = frequentPart(schema, wanted, into)
  const values: Param[] = []
  const add = ({ text, values: own }: Part, number: number): string => {
    const before = values.length
    values.push(...own)
    const renumbered = text.replaceAll(/\$(\d+)/g, (_, n: string) => `$${Number(n) + before}`)
    return `(${renumbered.replaceAll('$PART', String(number))})`
  }
  const texts = [...(frequent === null ? [] : [add(frequent, -1)]), ...parts.map(add)]
  return {
    statement: [texts.join(' UNION ALL '), values, parts.length === 0 ? 'jobchart load' : undefined],
    take(rows) {
      const byPart = Map.groupBy(rows, ([part]) => part as number)
      frequent?.take(rows)
      for (const [i, part] of parts.entries()) part.take(byPart.get(i) ?? [])
    },
  }
}

/** Rows, small values and heads: by a function of the server, whose plans are made once. */
function frequentPart(schema: string, wanted: readonly Wanted[], into: Loaded): Part | null {
  const [rows, cells, heads] = [ofKind(wanted, 'row'), ofKind(wanted, 'cell'), ofKind(wanted, 'heads')]
  if (rows.length + cells.length + heads.length === 0) return null
  return {
    text: `SELECT * FROM ${schema}.load($1, $2, $3, $4, $5, $6)`,
    values: [
      rows.map(({ id }) => columnText(id)),
      cells.map((each) => each.cells),
      cells.map(({ field }) => columnText(field)),
      heads.map(({ type }) => columnText(type)),
      heads.map(({ limit }) => limit),
      heads.map(({ whole = false }) => whole),
    ],
    take(found) {
      const byPart = Map.groupBy(found, ([part]) => part as number)
      for (const [i, { type }] of heads.entries()) takeHeads(type, byPart.get(-3 - i) ?? [], into)
      takeRows(rows, byPart.get(-1) ?? [], into)
      takeCells(cells, byPart.get(-2) ?? [], into)
    },
  }
}

function takeRows(wanted: Of<'row'>, rows: Rows, into: Loaded): void {
  const found = new Map(rows.map((row) => [row[1] as string, row]))
  for (const { id } of wanted) {
    const [, , , doc, facts, base] = found.get(columnText(id)) ?? []
    into.row(id, doc === undefined ? null : documentFrom(base, doc, facts))
  }
}

function takeCells(wanted: Of<'cell'>, rows: Rows, into: Loaded): void {
  const found = new Map(rows.map(([, kind, field, value]) => [`${kind as string} ${field as string}`, value as string]))
  for (const { cells, field } of wanted) {
    const value = found.get(`${cells} ${columnText(field)}`)
    into.cell(cells, field, value === undefined ? null : textOfColumn(value))
  }
}

function takeHeads(type: string, rows: Rows, into: Loaded): void {
  into.heads(type, headsOf(rows))
  for (const [, , id, doc, facts, base] of rows) {
    if (doc !== null) into.row(textOfColumn(id as string), documentFrom(base, doc, facts))
  }
}

function valuesPart(schema: string, { cells, limit }: Of<'values'>[number], into: Loaded): Part {
  return {
    text: `${columns(['c.field', 'c.value'], [])}
      FROM (SELECT field, value FROM ${schema}.cells WHERE kind = $1 ORDER BY field LIMIT $2::int) c`,
    values: [cells, limit ?? null],
    take(rows) {
      const inOrder = rows.toSorted(([, a], [, b]) => ((a as string) < (b as string) ? -1 : 1))
      into.values(
        cells,
        inOrder.map(([, , value]) => textOfColumn(value as string)),
      )
    },
  }
}

function childPart(schema: string, wanted: Of<'children'>, into: Loaded): Part[] {
  if (wanted.length === 0) return []
  return [
    {
      text: `${columns(['j.parent', 'j.id'], ['j.seq'])}
        FROM ${schema}.jobs j WHERE j.parent = ANY($1::text[])`,
      values: [wanted.map(({ id }) => columnText(id))],
      take(rows) {
        const inOrder = rows.toSorted((a, b) => (a[5] as number) - (b[5] as number))
        const found = Map.groupBy(inOrder, ([, parent]) => textOfColumn(parent as string))
        for (const { id } of wanted)
          into.children(
            id,
            (found.get(id) ?? []).map(([, , child]) => textOfColumn(child as string)),
          )
      },
    },
  ]
}

/** As the indexes have them: their conditions are literals. */
const timed = {
  due: "j.state IN ('scheduled', 'retrying', 'waiting') AND j.wake_at IS NOT NULL",
  // A lease that has run out is not rescued while a transaction of its handler, which ends it, is open.
  leases: "j.state IN ('running', 'cancelling')",
}

/** The core judges the leases by its time, later than the server has looked at them: by so much at most, ms. */
const judgedMsMax = 5_000

const unheld = (schema: string, wakeAt: string): string =>
  `(${wakeAt} > ${clockColumn} + ${judgedMsMax} OR EXISTS (SELECT FROM ${schema}.jobs k WHERE k.id = j.id FOR UPDATE SKIP LOCKED))`

/** The jobs of documents by their own times, and those of claims. */
function timedRows(schema: string, of: keyof typeof timed): string {
  const order = 'ORDER BY wake_at, seq LIMIT $1::int'
  const documents = `SELECT j.id, j.wake_at, j.seq FROM ${schema}.jobs j WHERE ${timed[of]}`
  if (of === 'due') return `(${documents} ${order}) j`
  return `((${documents} AND ${unheld(schema, 'j.wake_at')} ${order}) UNION ALL (
      SELECT j.id, c.wake_at, j.seq FROM (SELECT * FROM ${schema}.claims
        WHERE claim >= ${schema}.claims_from() ORDER BY wake_at LIMIT $1::int) c
      CROSS JOIN LATERAL unnest(c.jobs) AS o(job)
      CROSS JOIN LATERAL (SELECT j.id, j.seq FROM ${schema}.jobs j WHERE j.seq = o.job LIMIT 1) j
      WHERE ${unheld(schema, 'c.wake_at')} ${order}) ${order}) j`
}

function timerPart(schema: string, { of, limit }: Of<'timers'>[number], into: Loaded): Part {
  return {
    text: `${columns(['j.id'], ['j.wake_at', 'j.seq'])} FROM ${timedRows(schema, of)}`,
    values: [limit],
    take(rows) {
      const inOrder = rows.toSorted(
        (a, b) => (a[5] as number) - (b[5] as number) || (a[6] as number) - (b[6] as number),
      )
      into.timers(
        of,
        limit,
        inOrder.map(([, id, , , , at]) => [textOfColumn(id as string), at as number] as const),
      )
    },
  }
}

function headsOf(rows: Rows): QueueHeads {
  return [...Map.groupBy(rows, ([, concurrency]) => concurrency as string)].map(([concurrency, all]): QueueGroup => {
    const [, , , , , , , , , queued, leased] = all[0] ?? []
    const first = all.map(([, , id, , , , priority, place, keyWeight]) => ({
      id: textOfColumn(id as string),
      priority: priority as number,
      place: place as number,
      keyWeight: keyWeight as number,
    }))
    return {
      key: concurrency === '' ? null : textOfColumn(concurrency.slice(1)),
      first: first.toSorted((a, b) => b.priority - a.priority || a.place - b.place),
      queued: queued as number,
      leased: leased as number,
    }
  })
}
