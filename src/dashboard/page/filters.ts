/** The filters of the list of jobs: in the address, in the search box, and in calls of the API. */
import { metaMember } from '../meta-member.ts'
import { link, place } from './router.ts'
import { scopeMeta } from './scope.tsx'
import { now } from './words.ts'

export const states = [
  'scheduled',
  'queued',
  'running',
  'retrying',
  'waiting',
  'cancelling',
  'done',
  'dead',
  'cancelled',
] as const
/** What the search box knows, and the key of the API. */
const words: Readonly<Record<string, string>> = {
  type: 'type',
  tag: 'tag',
  key: 'key',
  in: 'machineState',
  machinetag: 'machineTag',
  parent: 'parent',
  ckey: 'concurrencyKey',
  failure: 'failure',
  meta: 'meta',
}
export const withinChoices = { '15m': 900_000, '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const

const textKeys = Object.values(words).filter((key) => key !== 'type')

/** What was typed: `tag:tenant-7 in:paid.shipping`; what is no filter is searched for. */
export function readSearch(text: string): {
  readonly query: Record<string, string | readonly string[]>
  readonly id: string | null
} {
  const query: Record<string, string | readonly string[]> = {}
  let id: string | null = null
  for (const word of text.trim().split(/\s+/)) {
    const colon = word.indexOf(':')
    const key = words[word.slice(0, colon).toLowerCase()]
    const value = word.slice(colon + 1)
    const before = key === undefined ? undefined : query[key]
    if (colon > 0 && key !== undefined) query[key] = before === undefined ? value : [before, value].flat()
    else if (word !== '') id = word
  }
  return { query, id }
}

/** The filters of the address as they are typed. */
export function searchText(query: URLSearchParams): string {
  const names = Object.entries(words).filter(([, key]) => key !== 'type')
  return names.flatMap(([word, key]) => query.getAll(key).map((value) => `${word}:${value}`)).join(' ')
}

/** The address with some of its filters changed. */
export function changed(changes: Readonly<Record<string, string | readonly string[] | null>>): string {
  const { query } = place.value
  const all: Record<string, readonly string[]> = {}
  for (const key of query.keys()) all[key] = query.getAll(key)
  return link('jobs', '', { ...all, ...changes })
}

export const withoutSearch = (): Record<string, null> => Object.fromEntries(textKeys.map((key) => [key, null]))

/** The query of the API for the filters of an address. */
export function apiQuery(query: URLSearchParams): URLSearchParams {
  const result = new URLSearchParams()
  for (const key of ['type', 'state', ...textKeys, 'unsupported', 'enqueuedAfter', 'finishedAfter']) {
    for (const value of query.getAll(key)) result.append(key, value)
  }
  const scoped = scopeMeta()
  if (scoped !== null && !result.getAll('meta').includes(scoped)) result.append('meta', scoped)
  const within = withinChoices[query.get('within') as keyof typeof withinChoices]
  if (within !== undefined) result.set('enqueuedAfter', String(Math.floor((now.peek() - within) / 1_000) * 1_000))
  return result
}

/** The query of the API for a page of the list of an address. */
export function pageQuery(query: URLSearchParams): URLSearchParams {
  const result = apiQuery(query)
  result.set('limit', '50')
  const orderBy = query.get('orderBy')
  if (orderBy !== null) result.set('orderBy', orderBy)
  return result
}

function filterValue(key: string, values: readonly string[]): unknown {
  if (key === 'type' || key === 'state' || key === 'failure') return values
  if (key === 'unsupported') return true
  if (key === 'meta') return Object.fromEntries(values.map((text) => metaMember(text) ?? [text, '']))
  return key.endsWith('After') ? Number(values[0]) : values[0]
}

/** The same as the body of a change on all that match. */
export function apiFilter(query: URLSearchParams): Record<string, unknown> {
  const params = apiQuery(query)
  const filter: Record<string, unknown> = {}
  for (const key of new Set(params.keys())) {
    const values = params.getAll(key)
    filter[key] = filterValue(key, values)
  }
  return filter
}
