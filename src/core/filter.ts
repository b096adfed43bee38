/** Filters and lists as callers write them: checked here, and made what stores take. */
import { checkEnum, checkInteger, checkKeys, checkText } from './checks.ts'
import { invalidOption } from './errors.ts'
import { summaryFields, type ListQuery } from './figures.ts'
import { jobStates } from './lifecycle.ts'
import { limits } from './limits.ts'
import { caps } from './caps.ts'
import type { JobRecord } from './record.ts'
import type { JobFilter } from './values.ts'

const textKeys = ['tag', 'key', 'concurrencyKey', 'failure', 'parent', 'machineState', 'machineTag'] as const
const timeKeys = ['enqueuedAfter', 'enqueuedBefore', 'finishedAfter', 'finishedBefore'] as const

export const filterKeys: readonly (keyof JobFilter)[] = [
  'type',
  'state',
  ...textKeys,
  'meta',
  'unsupported',
  ...timeKeys,
]

/** What `list` takes: a filter, and which page of what it finds. */
export interface ListOptions extends JobFilter<Date | number> {
  /** `next` of the page before, or the id of its last job. */
  readonly after?: string | undefined
  /** Jobs on the page at most: 1…1,000, default 100. */
  readonly limit?: number
  /** Default `'oldest'` first: the earliest time of `orderBy`. */
  readonly order?: 'oldest' | 'newest'
  /**
   * Default `'enqueued'`. `'finished'` lists only jobs that have ended, by the time of their end. `'due'` lists only
   * jobs that wait for a time, by that time: when a scheduled job is queued, a failed one is retried, a waiting machine
   * has its next timer.
   */
  readonly orderBy?: 'enqueued' | 'finished' | 'due'
  /**
   * What is read of each job. `'full'` (default): its record · `'summary'`: that without payloads, logs, errors,
   * messages and history · or names of fields.
   */
  readonly fields?: 'full' | 'summary' | readonly (keyof JobRecord)[]
}

/** Every field of a record; a field that is missing here is an error of types. */
const recordFields = new Set<string>(
  Object.keys({
    ...(Object.fromEntries(summaryFields.map((field) => [field, true])) as Record<
      (typeof summaryFields)[number],
      true
    >),
    meta: true,
    input: true,
    output: true,
    error: true,
    errors: true,
    checkin: true,
    logs: true,
    checkpoint: true,
    inbox: true,
    deferred: true,
    lastMessageNumber: true,
    history: true,
  } satisfies Record<keyof JobRecord, true>),
)

/**
 * @param others keys beside those of a filter
 * @returns the filter alone, its times in ms
 * @throws JobchartError INVALID_OPTION
 */
export function filterOf(filter: JobFilter<Date | number>, others: readonly string[] = []): JobFilter {
  checkKeys('filter', filter, [...filterKeys, ...others])
  const states = filter.state === undefined ? [] : [filter.state].flat()
  for (const state of states) checkEnum('state', state, jobStates)
  const types = filter.type === undefined ? [] : [filter.type].flat()
  for (const type of types) checkText('type', type, limits.idCharsMax)
  // Unchecked callers may pass false.
  const { unsupported }: { readonly unsupported?: unknown } = filter
  if (unsupported !== undefined && unsupported !== true) {
    throw invalidOption('unsupported', 'true', unsupported, 'Leave it out to find all jobs.')
  }
  for (const name of textKeys) {
    if (filter[name] !== undefined && typeof filter[name] !== 'string') throw invalidOption(name, 'text', filter[name])
  }
  if (filter.meta !== undefined) checkMeta(filter.meta)
  const known = filterKeys.filter((name) => filter[name] !== undefined)
  return Object.fromEntries(known.map((name) => [name, isTime(name) ? timeMs(name, filter[name]) : filter[name]]))
}

function checkMeta(meta: NonNullable<JobFilter['meta']>): void {
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) throw invalidOption('meta', 'an object', meta)
  const members = Object.entries(meta)
  if (members.length === 0 || members.length > limits.filterMetaMax) {
    throw invalidOption('meta', `1 to ${limits.filterMetaMax} members`, members.length)
  }
  for (const [name, value] of members as [string, unknown][]) {
    if (typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) continue
    throw invalidOption(`meta.${name}`, 'text, a finite number, true or false', value)
  }
}

const isTime = (name: string): boolean => (timeKeys as readonly string[]).includes(name)

function timeMs(name: string, time: unknown): number {
  const ms = time instanceof Date ? time.getTime() : time
  if (typeof ms === 'number' && Number.isFinite(ms)) return ms
  throw invalidOption(name, 'a Date, or ms since the epoch', time)
}

/** @throws JobchartError INVALID_OPTION */
export function listQuery(options: ListOptions): ListQuery {
  const filter = filterOf(options, ['after', 'limit', 'order', 'orderBy', 'fields'])
  const { after, limit, order, orderBy } = options
  const fields = fieldsOf(options.fields ?? 'full')
  return {
    ...filter,
    ...(after !== undefined && { after: checkText('after', after, limits.idCharsMax) }),
    ...(limit !== undefined && { limit: checkInteger('limit', limit, 1, caps.pageMax) }),
    ...(order !== undefined && { order: checkEnum('order', order, ['oldest', 'newest']) }),
    ...(orderBy !== undefined && { orderBy: checkEnum('orderBy', orderBy, ['enqueued', 'finished', 'due']) }),
    ...(fields !== undefined && { fields }),
  }
}

function fieldsOf(fields: NonNullable<ListOptions['fields']>): readonly (keyof JobRecord)[] | undefined {
  if (fields === 'full') return undefined
  if (fields === 'summary') return summaryFields
  const unknown = Array.isArray(fields) ? fields.find((field) => !recordFields.has(field)) : fields
  if (unknown === undefined) return [...new Set(fields)]
  throw invalidOption('fields', `'full', 'summary', or a list of ${[...recordFields].join(', ')}`, unknown)
}
