/** Terms as texts of the table `terms`: what jobs have in common with few or many others, and are found by. */
import { metaTextMax } from '../../core/terms.ts'
import type { FoundTerm, FoundTerms, TermKind, TermQuery } from '../../store.ts'
import type { JobDocument } from '../remote/document.ts'
import type { Ask } from './connection.ts'
import { columnText, concurrencyColumn, Params, textOfColumn } from './texts.ts'

/** With which letter the terms of a kind begin. */
const letters = { tag: 't', meta: 'm', machineState: 's', machineTag: 'g' } as const

/** Follows all texts that begin with one. */
const last = '\u{10FFFF}'
/** Between the value and the name of a member of meta: nothing comes before it, so that values are in order. */
const separator = '\u0001'

const partText = (text: string): string =>
  text.includes(separator) ? JSON.stringify(text).slice(1, -1) : columnText(text)

export const termOf = (kind: Exclude<keyof typeof letters, 'meta'>, value: string): string =>
  letters[kind] + partText(value)

/**
 * The term of a member of meta: a short text or a whole number; null: it has none, nor has one with a long name: an
 * entry of an index has 2,700 bytes at most.
 */
export function metaTerm(name: string, value: unknown): string | null {
  const isNumber = Number.isSafeInteger(value)
  if (!isNumber && typeof value !== 'string') return null
  const text = String(value)
  if (text.length > metaTextMax || name.length > metaTextMax) return null
  return `${letters.meta}${partText(text)}${separator}${isNumber ? '#' : '='}${partText(name)}`
}

type WithTerms = Partial<Pick<JobDocument, 'tags' | 'meta' | 'machine'>>

const none: readonly string[] = []

/** The terms of a job, each once. */
export function jobTerms({ tags = [], meta = null, machine = null }: WithTerms): readonly string[] {
  if (tags.length === 0 && meta === null && machine === null) return none
  const terms = [
    ...tags.map((tag) => termOf('tag', tag)),
    ...Object.entries(meta ?? {}).flatMap(([name, value]) => metaTerm(name, value) ?? []),
    ...(machine?.states ?? []).map((state) => termOf('machineState', state)),
    ...(machine?.tags ?? []).map((tag) => termOf('machineTag', tag)),
  ]
  return [...new Set(terms)]
}

/** The states and tags of a machine, as the terms of its job have them. */
export function machineOfTerms(terms: readonly string[]): { states: string[]; tags: string[] } {
  const of = (letter: string): string[] =>
    terms.flatMap((term) => (term.startsWith(letter) ? textOfColumn(term.slice(1)) : []))
  return { states: of(letters.machineState), tags: of(letters.machineTag) }
}

/** An index of which the first column has terms. */
interface TermIndex {
  readonly kind: TermKind
  readonly table: 'jobs' | 'terms'
  readonly column: string
  /** The condition of the index, as its text has it. */
  readonly own: string
  /** What the column has of terms that begin with a text. */
  readonly stored: (text: string) => string
  readonly read: (column: string) => Pick<FoundTerm, 'value' | 'name' | 'isNumber'>
}

const indexes: readonly TermIndex[] = [
  {
    kind: 'id',
    table: 'jobs',
    column: 'id',
    own: 'TRUE',
    stored: columnText,
    read: (column) => ({ value: textOfColumn(column) }),
  },
  {
    kind: 'key',
    table: 'jobs',
    column: 'unique_key',
    own: 'unique_key IS NOT NULL',
    stored: columnText,
    read: (column) => ({ value: textOfColumn(column) }),
  },
  {
    kind: 'concurrencyKey',
    table: 'jobs',
    column: 'concurrency',
    own: "concurrency <> ''",
    stored: concurrencyColumn,
    read: (column) => ({ value: textOfColumn(column.slice(1)) }),
  },
  {
    kind: 'tag',
    table: 'terms',
    column: 'term',
    own: 'TRUE',
    stored: (text) => termOf('tag', text),
    read: (term) => ({ value: textOfColumn(term.slice(1)) }),
  },
  {
    kind: 'meta',
    table: 'terms',
    column: 'term',
    own: 'TRUE',
    stored: (text) => letters.meta + partText(text),
    read(term) {
      const [value = '', name = ''] = term.slice(1).split(separator)
      const isNumber = name.startsWith('#') && { isNumber: true as const }
      return { value: textOfColumn(value), name: textOfColumn(name.slice(1)), ...isNumber }
    },
  },
]

/** Terms that begin with a text: each is found as the first one after that before, so that its jobs are not read. */
export async function findTerms(ask: Ask, schema: string, query: TermQuery): Promise<FoundTerms> {
  const params = new Params()
  const limit = params.add(query.limit)
  const countMax = params.add(query.countMax + 1)
  const texts = indexes.map(({ table, column, own, stored }, number) => {
    const [lower, upper] = [stored(query.text), `${stored(query.text)}${last}`].map((text) => params.add(text))
    const from = `FROM ${schema}.${table} WHERE ${own} AND ${column}`
    const first = (after: string): string =>
      `SELECT ${column} ${from} ${after} AND ${column} < ${upper} ORDER BY ${column} LIMIT 1`
    return `(WITH RECURSIVE known (term) AS (
        (${first(`>= ${lower}`)})
        UNION ALL SELECT (${first('> known.term')}) FROM known WHERE known.term IS NOT NULL)
      SELECT ${number}::float8, (SELECT count(*) FROM (SELECT ${from} = known.term LIMIT ${countMax}::int) c)::float8,
        term, NULL::float8, NULL, NULL FROM known WHERE term IS NOT NULL LIMIT ${limit}::int)`
  })
  const rows = await ask(`SELECT a, b, id FROM ${schema}.found($1, $2)`, [texts.join(' UNION ALL '), params.values])
  const terms = rows.flatMap(([number, jobs, term]): FoundTerm | [] => {
    const index = indexes[number as number]
    if (index === undefined) return []
    const more = (jobs as number) > query.countMax
    return { kind: index.kind, ...index.read(term as string), jobs: Math.min(jobs as number, query.countMax), more }
  })
  return { kinds: indexes.map(({ kind }) => kind), terms }
}
