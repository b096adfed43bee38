/** Loads what is wanted: a statement for what is wanted often, and one for each of the rest; they are sent together. */
import type { Loaded, Wanted } from '../remote/port.ts'
import { byTurn, type QueuedJob, type QueueGroup, type QueueHeads } from '../remote/working-set.ts'
import { clockColumn, type Ask, type ResultRow } from './connection.ts'
import { documentOfRow } from './jobs.ts'
import { columnText, textOfColumn } from './texts.ts'

type Rows = readonly ResultRow[]

/** So many jobs of a key are leased at most where there is no limit: the largest number of its column. */
const unlimited = 2 ** 31 - 1

type Of<Kind extends Wanted['kind']> = readonly (Wanted & { readonly kind: Kind })[]

const ofKind = <Kind extends Wanted['kind']>(wanted: readonly Wanted[], kind: Kind): Of<Kind> =>
  wanted.filter((each): each is Wanted & { readonly kind: Kind } => each.kind === kind)

export async function load(ask: Ask, schema: string, wanted: readonly Wanted[], into: Loaded): Promise<void> {
  await Promise.all([
    loadFrequent(ask, schema, wanted, into),
    loadChildren(ask, schema, ofKind(wanted, 'children'), into),
    ...ofKind(wanted, 'values').map((each) => loadValues(ask, schema, each, into)),
    ...ofKind(wanted, 'timers').map((each) => loadTimers(ask, schema, each, into)),
  ])
}

/** Rows, small values and heads: by a function of the server, whose plans are made once. */
async function loadFrequent(ask: Ask, schema: string, wanted: readonly Wanted[], into: Loaded): Promise<void> {
  const [rows, cells, heads] = [ofKind(wanted, 'row'), ofKind(wanted, 'cell'), ofKind(wanted, 'heads')]
  if (rows.length + cells.length + heads.length === 0) return
  const found = await ask(
    `SELECT * FROM ${schema}.load($1, $2, $3, $4, $5, $6, $7)`,
    [
      rows.map(({ id }) => columnText(id)),
      cells.map((each) => each.cells),
      cells.map(({ field }) => columnText(field)),
      heads.map(({ type }) => columnText(type)),
      heads.map(({ limit }) => limit),
      heads.map(({ told }) => told),
      heads.map((each) => (each.told === 'first' ? (each.perKey ?? unlimited) : null)),
    ],
    'jobchart load',
  )
  const byPart = Map.groupBy(found, ([part]) => part as number)
  for (const [i, { type }] of heads.entries()) takeHeads(type, byPart.get(-3 - i) ?? [], into)
  takeRows(rows, byPart.get(-1) ?? [], into)
  takeCells(cells, byPart.get(-2) ?? [], into)
}

function takeRows(wanted: Of<'row'>, rows: Rows, into: Loaded): void {
  const found = new Map(rows.map((row) => [row[1] as string, row]))
  for (const { id } of wanted) {
    const row = found.get(columnText(id))
    const [, column, , doc, facts, base] = row ?? []
    into.row(id, row === undefined ? null : documentOfRow([column, base, doc, facts]))
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
    if (doc !== null) into.row(textOfColumn(id as string), documentOfRow([id, base, doc, facts]))
  }
}

async function loadValues(
  ask: Ask,
  schema: string,
  { cells, limit }: Of<'values'>[number],
  into: Loaded,
): Promise<void> {
  const text = `SELECT value FROM ${schema}.cells WHERE kind = $1 ORDER BY field LIMIT $2::int`
  const rows = await ask(text, [cells, limit ?? null])
  into.values(
    cells,
    rows.map(([value]) => textOfColumn(value as string)),
  )
}

async function loadChildren(ask: Ask, schema: string, wanted: Of<'children'>, into: Loaded): Promise<void> {
  if (wanted.length === 0) return
  const text = `SELECT parent, id, seq::float8 FROM ${schema}.jobs WHERE parent = ANY($1::text[])`
  const rows = await ask(text, [wanted.map(({ id }) => columnText(id))])
  const inOrder = rows.toSorted(([, , a], [, , b]) => (a as number) - (b as number))
  const found = Map.groupBy(inOrder, ([parent]) => parent as string)
  for (const { id } of wanted) {
    const children = found.get(columnText(id)) ?? []
    into.children(
      id,
      children.map(([, child]) => textOfColumn(child as string)),
    )
  }
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

async function loadTimers(ask: Ask, schema: string, { of, limit }: Of<'timers'>[number], into: Loaded): Promise<void> {
  const rows = await ask(`SELECT j.id, j.wake_at::float8 FROM ${timedRows(schema, of)} ORDER BY j.wake_at, j.seq`, [
    limit,
  ])
  into.timers(
    of,
    limit,
    rows.map(([id, at]) => [textOfColumn(id as string), at as number] as const),
  )
}

function headsOf(rows: Rows): QueueHeads {
  const byKey = Map.groupBy(rows, ([, concurrency]) => concurrency as string)
  const groups = [...byKey].map(([concurrency, all]): QueueGroup => {
    const [, , , , , , , , , queued, leased] = all[0] ?? []
    return {
      key: concurrency === '' ? null : textOfColumn(concurrency.slice(1)),
      first: all.map(queuedJob).toSorted(byTurn),
      queued: queued as number,
      leased: leased as number,
    }
  })
  if (!rows.some((row) => row[11] === true)) return { groups, upto: null }
  const keyed = groups.flatMap(({ key, first }) => (key === null ? [] : first))
  return { groups, upto: keyed.toSorted(byTurn).at(-1) ?? null }
}

const queuedJob = ([, , id, , , , priority, place, keyWeight]: ResultRow): QueuedJob => ({
  id: textOfColumn(id as string),
  priority: priority as number,
  place: place as number,
  keyWeight: keyWeight as number,
})
