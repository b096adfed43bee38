/** Parses filters of jobs in a URL or a body for `client.list`. */
import type {
  ActivityOptions,
  CancelOptions,
  FailureQuery,
  HeatOptions,
  JobFilter,
  ListOptions,
  RetryFrom,
} from '../index.ts'
import { changeableStates } from '../core/bulk.ts'
import { JobchartError } from '../core/errors.ts'
import type { HeatPeriod } from '../core/figures.ts'
import { filterKeys } from '../core/filter.ts'
import { metaMember } from './meta-member.ts'
import type { BulkChange } from '../store.ts'
import type { JsonObject } from './body.ts'

/** The changes of jobs that are chosen by ids or by a filter. */
export const changesOfJobs = Object.keys(changeableStates) as readonly BulkChange['kind'][]

const lists = new Set(['type', 'state', 'failure'])
const times = new Set(['enqueuedAfter', 'enqueuedBefore', 'finishedAfter', 'finishedBefore'])

/** The filter in a query: `type`, `state`, `failure` and `meta` may be repeated. The client checks the values. */
export function filterIn(query: URLSearchParams): JobFilter {
  const entries = filterKeys.flatMap((key): [string, unknown][] => {
    const values = query.getAll(key).filter((value) => value !== '')
    if (values.length === 0) return []
    if (lists.has(key)) return [[key, values]]
    if (key === 'meta') return [[key, Object.fromEntries(values.map(memberOf))]]
    if (times.has(key)) return [[key, timeOf(key, values[0] ?? '')]]
    return [[key, key === 'unsupported' && values[0] === 'true' ? true : values[0]]]
  })
  return Object.fromEntries(entries)
}

function memberOf(text: string): readonly [string, string | number | boolean] {
  const member = metaMember(text)
  if (member !== null) return member
  throw new JobchartError('INVALID_OPTION', `meta: expected name=value, got ${text}`, {
    hint: 'For example meta=tenant=7.',
  })
}

function timeOf(key: string, text: string): number {
  const ms = /^\d+$/.test(text) ? Number(text) : Date.parse(text)
  if (Number.isFinite(ms)) return ms
  throw new JobchartError('INVALID_OPTION', `${key}: expected ms since the epoch or an ISO date`, {
    hint: 'For example 2026-01-31T12:00:00Z.',
  })
}

/** The change that a count is for; undefined for none. @throws JobchartError INVALID_OPTION */
export function changeIn(query: URLSearchParams): BulkChange['kind'] | undefined {
  const change = query.get('change') ?? ''
  if (change === '') return undefined
  const known = changesOfJobs.find((each) => each === change)
  if (known !== undefined) return known
  throw new JobchartError('INVALID_OPTION', `change: expected ${changesOfJobs.join(', ')}, got ${change}`, {
    hint: 'For example change=cancel: only jobs that a cancel applies to are counted.',
  })
}

/** The page that a query requests; by default newest first, by due time soonest first. The client checks the values. */
export function listOptionsIn(query: URLSearchParams): ListOptions {
  const filter = filterIn(query)
  const [after, limit, order, orderBy] = ['after', 'limit', 'order', 'orderBy'].map((key) => query.get(key))
  return {
    ...filter,
    ...(after && { after }),
    limit: limit ? Number(limit) : 50,
    order: (order || (orderBy === 'due' ? 'oldest' : 'newest')) as ListOptions['order'] & string,
    ...(orderBy && { orderBy: orderBy as ListOptions['orderBy'] & string }),
  }
}

/** What a query asks of activity: the client checks the values. */
export function activityOptionsIn(query: URLSearchParams): ActivityOptions {
  const [period, last] = [query.get('period'), query.get('last')]
  return {
    ...(period && { period: period as ActivityOptions['period'] & string }),
    ...(last && { last: last as ActivityOptions['last'] & string }),
  }
}

/** What a query asks of the heat of a chart: the client checks the values. @param name of the member with the period */
export function heatOptionsIn(query: URLSearchParams, name: 'period' | 'heat'): HeatOptions {
  const [period, version] = [query.get(name), query.get('version')]
  return { ...(period && { period: period as HeatPeriod }), ...(version && { version }) }
}

/** What a query asks of failures: the client checks the values. */
export function failureQueryIn(query: URLSearchParams): FailureQuery {
  const [type, limit] = [query.get('type'), query.get('limit')]
  return { ...(type && { type }), ...(limit && { limit: Number(limit) }) }
}

type Selector =
  { readonly ids: readonly string[]; readonly filter: null } | { readonly ids: null; readonly filter: JobFilter }

const optionsOf: Readonly<Record<BulkChange['kind'], readonly string[]>> = {
  retry: ['from'],
  cancel: ['reason'],
  discard: [],
}
const selecting = ['ids', 'filter', 'expected']

/**
 * Refuses a member that no change heeds: a retry with `input` would run with the old one.
 * @throws JobchartError INVALID_INPUT
 */
export function checkOptions(kind: BulkChange['kind'], body: JsonObject): void {
  const known = [...selecting, ...optionsOf[kind]]
  const unknown = Object.keys(body).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new JobchartError('INVALID_INPUT', `a ${kind} takes no ${unknown}`, { hint: `It takes ${known.join(', ')}.` })
}

/** Options of a change: the client checks the values. */
export const retryOptionsIn = ({ from }: JsonObject): Pick<RetryFrom, 'from'> =>
  from === undefined ? {} : { from: from as 'start' }

export const cancelOptionsIn = ({ reason }: JsonObject): Pick<CancelOptions, 'reason'> =>
  reason === undefined || reason === '' ? {} : { reason: reason as string }

/**
 * The jobs that a change is for: `{ ids }` or `{ filter }`, exactly one of them.
 * @throws JobchartError INVALID_INPUT
 */
export function selectorIn({ ids, filter }: JsonObject): Selector {
  const isList = Array.isArray(ids) && ids.length > 0 && ids.every((id) => typeof id === 'string')
  if (isList && filter === undefined) return { ids, filter: null }
  if (ids === undefined && typeof filter === 'object' && filter !== null) return { ids: null, filter }
  throw new JobchartError('INVALID_INPUT', 'expected either ids, a list of text, or a filter', {
    hint: 'For example { "ids": ["a", "b"] } or { "filter": { "state": "dead", "type": "email.send" } }.',
  })
}
