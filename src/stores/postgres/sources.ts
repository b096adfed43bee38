/** The jobs among which a search looks: indexes that have them in its order, and what else its filter asks for. */
import { isListed, scanMax } from '../../core/cursor.ts'
import { jobStates, type JobState } from '../../core/lifecycle.ts'
import type { JobFilter, ListOrder } from '../../store.ts'
import type { FindQuery } from '../remote/port.ts'
import { endsMax } from './migrations/0003-plain-jobs.ts'
import { metaTerm, termOf } from './terms.ts'
import { columnText, concurrencyColumn, Params } from './texts.ts'

/** A search, and its values. */
export interface Scope extends FindQuery {
  /** Quoted. */
  readonly schema: string
  readonly params: Params
  /** The states in which jobs may match. */
  readonly wanted: readonly JobState[]
}

export function scopeOf(schema: string, query: FindQuery): Scope {
  const { states, filter, by } = query
  const asked = filter.state === undefined ? jobStates : [filter.state].flat()
  const wanted = jobStates.filter((state) => states.has(state) && asked.includes(state) && isListed(by, state))
  return { ...query, schema, params: new Params(), wanted }
}

type Member = keyof JobFilter

/** Jobs in the order of an index: those of a table, or of each row of a list. */
export interface Source {
  /** The list: `own` names what its rows have. */
  readonly each?: string
  readonly from: string
  /** The columns of the index by which they are in order. */
  readonly columns: readonly string[]
  /** Of rows that have several jobs: the column of the index, which has the first of `columns` of their first jobs. */
  readonly first?: string
  /** The number of the job. */
  readonly seq: string
  /** The condition of the index. */
  readonly own: string
  /** Members of the filter that all of them match. */
  readonly implied: readonly Member[]
  /** Are its rows those of `jobs`, by the name `j`, and do they tell the rest? Otherwise that is looked up. */
  readonly isJob: boolean
}

/** So many jobs of a source are looked at: whose rows tell all, that are looked up, and in a trial. */
const lookedMax = { own: 10 * scanMax, others: scanMax, trial: 1_000 }
/** Up to so many jobs in the order of enqueues are sorted for another order. */
const sortedMax = 2 * scanMax

/** The first jobs of a source. @param range LIMIT, or OFFSET and LIMIT */
function partOf(
  { schema, newestFirst }: Scope,
  { each, from, columns, first, seq, own }: Source,
  range: string,
  conditions: readonly string[] = [],
): string {
  const [a, b = 'NULL::bigint'] = columns
  const order = [...(first === undefined ? [] : [first]), ...columns]
    .map((column) => `${column}${newestFirst ? ' DESC' : ''}`)
    .join(', ')
  const jobs = `(SELECT ${a} AS a, ${b} AS b, ${seq} AS seq FROM ${schema}.${from}
    WHERE ${[own, ...conditions].join(' AND ')} ORDER BY ${order} ${range})`
  return each === undefined ? jobs : `(SELECT q.* FROM ${each} CROSS JOIN LATERAL ${jobs} q)`
}

const united = (parts: readonly string[]): string => parts.join(' UNION ALL ')

/** Those on one side of a position. */
function beside({ columns, first }: Source, sign: '<' | '<=' | '>' | '>=', position: readonly string[]): string[] {
  const compared = `(${columns.join(', ')}) ${sign} (${position.join(', ')})`
  if (first === undefined) return [compared]
  const [value = ''] = position
  return [compared, sign.startsWith('<') ? `${first} <= ${value}` : `${first} > ${value} - ${endsMax}`]
}

/** Those after the position where the search begins. */
function afterOf({ by, newestFirst, after, params }: Scope, source: Source): string[] {
  if (after === null) return []
  const position = by === 'due' ? [after.dueAt, after.number] : [after.number]
  const values = position.map((each) => `${params.add(each)}::bigint`)
  return beside(source, newestFirst ? '<' : '>', values)
}

/** Texts that find the positions `a` and `b` of jobs, and their numbers. */
export interface SearchTexts {
  /** The first jobs that match. */
  readonly found: string
  /** The last one up to which they are looked for; null: that is not limited. */
  readonly upto: string | null
}

/** @param wanted so many jobs are found at most. @param isTrial is it given up where jobs that match are rare? */
export function searchTexts(scope: Scope, sources: readonly Source[], wanted: number, isTrial: boolean): SearchTexts {
  const judged = sources.map((source) => ({ source, conditions: conditionsOf(scope, source) }))
  const limits = judged.flatMap(({ source, conditions }) => {
    const most = isTrial ? lookedMax.trial : source.isJob ? lookedMax.own : lookedMax.others
    const range = `OFFSET ${most - 1} LIMIT 1`
    return conditions.length === 0 ? [] : partOf(scope, source, range, afterOf(scope, source))
  })
  const [direction, sign, last] = scope.newestFirst
    ? ([' DESC', '>=', -1] as const)
    : (['', '<=', Number.MAX_SAFE_INTEGER] as const)
  const found = judged.map(({ source, conditions }) => {
    const { columns } = source
    const end = ['a', 'b'].slice(0, columns.length).map((name) => `coalesce((SELECT h.${name} FROM h), ${last})`)
    const limit = limits.length === 0 ? [] : beside(source, sign, end)
    return partOf(scope, source, `LIMIT ${wanted}`, [...afterOf(scope, source), ...limit, ...conditions])
  })
  const order = `ORDER BY a${direction}, b${direction}`
  return {
    found: united(found),
    upto: limits.length === 0 ? null : `SELECT * FROM (${united(limits)}) h ${order} LIMIT 1`,
  }
}

// ── which sources ──────────────────────────────────────────────────────────────────────────────────────────────────

/** Sources that together have all jobs that may match. */
export interface Choice {
  readonly sources: readonly Source[]
  /** Are they in the order of the search? Otherwise they are read and sorted, if they are few. */
  readonly isInOrder: boolean
}

/** What a search may go through: those that may be the fewest come first. */
export function choicesOf(scope: Scope): readonly [Choice, ...Choice[]] {
  const { by, among, params } = scope
  if (among !== undefined) {
    const ids = ofJobs(`j.id = ANY(${params.add(among.map(columnText))}::text[])`, { isJob: false })
    return [{ sources: [ids], isInOrder: true }]
  }
  const inOrder = { sources: { enqueued: ofQueues, finished: byEnd, due: byDueTime }[by](scope), isInOrder: true }
  const narrow = narrowSources(scope).map((sources) => ({ sources, isInOrder: by === 'enqueued' }))
  const [first = inOrder, ...others] = [...narrow, ...byTime(scope).map((sources) => ({ sources, isInOrder: false }))]
  // All jobs are more than any of these.
  const isMore = by === 'enqueued' && narrow.length > 0 && !isOfQueues(scope)
  return first === inOrder || isMore ? [first, ...others] : [first, ...others, inOrder]
}

/** Texts that count the jobs of each choice, up to where they differ for the search. */
export const countTexts = (scope: Scope, choices: readonly Choice[]): string[] =>
  choices.map(({ sources, isInOrder }) => {
    const range = `LIMIT ${(isInOrder ? lookedMax.own : sortedMax) + 1}`
    return `SELECT count(*) FROM (SELECT FROM (${united(sources.map((each) => partOf(scope, each, range)))}) c ${range}) c`
  })

/** The sources of the choice that has the fewest jobs, of those that the search can go through. */
export function fewestOf(scope: Scope, choices: readonly Choice[], counts: readonly number[]): readonly Source[] {
  const possible = choices.flatMap((choice, i) => {
    const jobs = counts[i] ?? 0
    return choice.isInOrder || jobs <= sortedMax ? { ...choice, jobs } : []
  })
  const [fewest] = possible.toSorted((a, b) => a.jobs - b.jobs)
  if (fewest === undefined) return []
  return fewest.isInOrder ? fewest.sources : [sorted(scope, fewest.sources)]
}

/** Does a search ask for jobs of some types, or in some states? */
const isOfQueues = ({ filter, wanted }: Scope): boolean => filter.type !== undefined || wanted.length < jobStates.length

/** Rows of `jobs`, in the order of enqueues. */
const ofJobs = (own: string, source: Partial<Source> = {}): Source => ({
  from: 'jobs j',
  columns: ['j.seq'],
  seq: 'j.seq',
  own,
  implied: [],
  isJob: true,
  ...source,
})

/** By members of the filter that few jobs may match, in the order of enqueues. */
function narrowSources({ filter, params }: Scope): Source[][] {
  const { key, concurrencyKey, failure, parent, unsupported } = filter
  // All of these are documents.
  const by = (member: Member, own: string, values: readonly string[]): Source[] => [
    ofJobs(`${own} = w.value`, {
      each: `unnest(${params.add([...new Set(values)])}::text[]) AS w(value)`,
      implied: [member],
    }),
  ]
  return [
    ...(key === undefined ? [] : [by('key', 'j.unique_key', [columnText(key)])]),
    ...(parent === undefined ? [] : [by('parent', 'j.parent', [columnText(parent)])]),
    ...(unsupported === undefined ? [] : [[ofJobs('j.unsupported', { implied: ['unsupported'] })]]),
    ...(concurrencyKey === undefined
      ? []
      : [by('concurrencyKey', "j.concurrency <> '' AND j.concurrency", [concurrencyColumn(concurrencyKey)])]),
    ...(failure === undefined ? [] : [by('failure', 'j.failure', [failure].flat().map(columnText))]),
    ...termsOf(filter).map(([member, term]) => [
      {
        from: 'terms t',
        columns: ['t.job'],
        seq: 't.job',
        own: `t.term = ${params.add(term)}`,
        // One member of meta says nothing of the others.
        implied: member === 'meta' ? [] : [member],
        isJob: false,
      },
    ]),
  ]
}

/** In no order, and no more than are sorted. */
function byTime({ filter: { enqueuedAfter, enqueuedBefore }, params }: Scope): Source[][] {
  if (enqueuedAfter === undefined && enqueuedBefore === undefined) return []
  const times = [enqueuedAfter ?? 0, enqueuedBefore ?? Number.MAX_SAFE_INTEGER]
  const [from, to] = times.map((time) => `${params.add(Math.ceil(time))}::bigint`)
  const source: Source = {
    from: `in_time(${from}, ${to}, ${sortedMax + 1}) m`,
    columns: ['m.job'],
    seq: 'm.job',
    own: 'TRUE',
    implied: ['enqueuedAfter', 'enqueuedBefore'],
    isJob: false,
  }
  return [[source]]
}

function termsOf({ tag, meta, machineState, machineTag }: JobFilter): (readonly [member: Member, term: string])[] {
  const members = Object.entries(meta ?? {}).flatMap(([name, value]) => metaTerm(name, value) ?? [])
  return [
    ...(tag === undefined ? [] : [['tag', termOf('tag', tag)] as const]),
    ...(machineState === undefined ? [] : [['machineState', termOf('machineState', machineState)] as const]),
    ...(machineTag === undefined ? [] : [['machineTag', termOf('machineTag', machineTag)] as const]),
    ...members.map((term) => ['meta', term] as const),
  ]
}

/** The columns of the view `standing` by which jobs are in another order. */
const orders: Readonly<Record<ListOrder, readonly string[]>> = {
  enqueued: ['o.seq'],
  finished: ['o.last_seq'],
  due: ['o.wake_at', 'o.seq'],
}

/** All jobs of sources, in the order of the search. */
function sorted(scope: Scope, sources: readonly Source[]): Source {
  const columns = orders[scope.by]
  const all = united(sources.map((source) => partOf(scope, source, '')))
  const isAny = scope.wanted.length === jobStates.length
  const states = isAny ? 'TRUE' : isIn('o.state', scope.params, scope.wanted)
  return {
    each: `(${all}) n`,
    from: 'standing o',
    columns,
    seq: 'o.seq',
    own: `o.seq = n.seq AND ${columns[0]} IS NOT NULL AND ${states}`,
    implied: [...sources.flatMap(({ implied }) => implied), 'state'],
    isJob: false,
  }
}

/** The types that have rows in a table, of which an index for the condition begins with the type. */
function typesIn({ schema, params, filter: { type } }: Scope, table: string, condition: string): string {
  if (type !== undefined) return `unnest(${params.add([...new Set([type].flat())].map(columnText))}::text[]) AS t(type)`
  const first = (more: string): string =>
    `(SELECT p.type FROM ${schema}.${table} p WHERE ${condition}${more} ORDER BY p.type LIMIT 1)`
  return `(WITH RECURSIVE t AS (${first('')} UNION ALL
      SELECT ${first(' AND p.type > t.type')} FROM t WHERE t.type IS NOT NULL)
    SELECT t.type FROM t WHERE t.type IS NOT NULL) t`
}

/** Of each type and state. */
const documentsOf = (scope: Scope, condition: string, columns: readonly string[]): Source =>
  ofJobs(`${condition.replaceAll('p.', 'j.')} AND j.type = t.type AND j.state = e.state`, {
    each: `${typesIn(scope, 'jobs', condition)} CROSS JOIN unnest(${scope.params.add(scope.wanted)}::text[]) AS e(state)`,
    columns,
    implied: ['type', 'state'],
  })

/** In the order of the enqueue: all jobs, or those of types and states. */
function ofQueues(scope: Scope): Source[] {
  const { schema, wanted, filter } = scope
  const ends = filter.finishedAfter !== undefined || filter.finishedBefore !== undefined
  if (!isOfQueues(scope)) return [ofJobs('TRUE', { isJob: !ends })]
  const [queued, running, done] = (['queued', 'running', 'done'] as const).map((state) => wanted.includes(state))
  const sources = [documentsOf(scope, 'NOT p.plain', ['j.seq'])]
  if (queued || done) {
    // Among those that do not wait any more some are running.
    const part = queued && done ? '' : ` AND j.seq ${queued ? '>' : '<='} t.upto`
    const isExact = !done || (queued && running)
    sources.push(
      ofJobs(`j.plain AND j.type = t.type${part}`, {
        each: `(SELECT t.type, ${schema}.front(t.type) AS upto FROM ${typesIn(scope, 'jobs', 'p.plain')} OFFSET 0) t`,
        implied: isExact ? ['type', 'state'] : ['type'],
        isJob: isExact === true && !ends,
      }),
    )
  }
  if (running && !done) {
    sources.push({
      each: `(SELECT unnest(c.jobs) AS job FROM ${schema}.claims c WHERE c.claim >= ${schema}.claims_from()) r`,
      ...ofJobs('j.plain AND j.seq = r.job', { implied: ['state'], isJob: !ends }),
    })
  }
  return sources
}

function byEnd(scope: Scope): Source[] {
  const plain: Source = {
    each: typesIn(scope, 'completions', 'TRUE'),
    from: 'completions p CROSS JOIN LATERAL unnest(p.jobs) WITH ORDINALITY AS o(job, turn)',
    columns: ['(p.ended + o.turn - 1)'],
    first: 'p.ended',
    seq: 'o.job',
    own: 'p.type = t.type AND o.job <> 0',
    implied: ['type', 'state'],
    isJob: false,
  }
  const documents = documentsOf(scope, "p.state IN ('done', 'dead', 'cancelled')", ['j.last_seq'])
  return [documents, ...(scope.wanted.includes('done') ? [plain] : [])]
}

/** All of them are documents. */
const byDueTime = (): Source[] => [
  ofJobs(`j.state IN ('scheduled', 'retrying', 'waiting') AND j.wake_at IS NOT NULL`, {
    columns: ['j.wake_at', 'j.seq'],
  }),
]

// ── what else is asked for ─────────────────────────────────────────────────────────────────────────────────────────

/** Do columns tell whether a job matches? Otherwise its document has to be read. */
export const isToldByColumns = ({ meta = {} }: JobFilter): boolean =>
  Object.entries(meta).every(([name, value]) => metaTerm(name, value) !== null)

const isIn = (column: string, params: Params, values: readonly string[]): string =>
  `${column} = ANY(${params.add(values)}::text[])`

/** What jobs of a source must meet beside what they are. */
function conditionsOf(scope: Scope, { implied, isJob, seq }: Source): string[] {
  const { schema, params, filter, wanted } = scope
  const { type, key, concurrencyKey, failure, unsupported, parent } = filter
  const conditions: string[] = []
  /** Is it asked for beside what is implied? Then its condition is added. */
  const needs = <V>(member: Member, value: V | undefined, conditionOf: (value: V) => string): boolean => {
    if (value === undefined || implied.includes(member)) return false
    conditions.push(conditionOf(value))
    return true
  }
  const row = isJob ? 'j' : 's'
  const isOneOf = (column: string) => (values: string | readonly string[]) =>
    isIn(`${row}.${column}`, params, [values].flat().map(columnText))
  const isAt = (column: string, sign: string) => (time: number) =>
    `${row}.${column} ${sign} ${params.add(time)}::float8`
  const states = wanted.length === jobStates.length ? undefined : wanted
  const ofStanding = [
    needs('state', states, isOneOf('state')),
    needs('finishedAfter', filter.finishedAfter, isAt('finished_at', '>=')),
    needs('finishedBefore', filter.finishedBefore, isAt('finished_at', '<')),
  ]
  needs('type', type, isOneOf('type'))
  needs('key', key, isOneOf('unique_key'))
  needs('concurrencyKey', concurrencyKey, (name) => `${row}.concurrency = ${params.add(concurrencyColumn(name))}`)
  needs('failure', failure, isOneOf('failure'))
  needs('unsupported', unsupported, () => `${row}.unsupported`)
  needs('parent', parent, isOneOf('parent'))
  needs('enqueuedAfter', filter.enqueuedAfter, isAt('enqueued_at', '>='))
  needs('enqueuedBefore', filter.enqueuedBefore, isAt('enqueued_at', '<'))
  for (const [member, term] of termsOf(filter)) needs(member, term, (text) => `${params.add(text)} = ANY(${row}.terms)`)
  if (isJob || conditions.length === 0) return conditions
  const table = ofStanding.includes(true) ? 'standing' : 'jobs'
  // No EXISTS: that may be joined in another order.
  return [`(SELECT TRUE FROM ${schema}.${table} s WHERE ${[`s.seq = ${seq}`, ...conditions].join(' AND ')} LIMIT 1)`]
}
