/** Filters and lists as callers write them: checked here, and made what stores take. */
import { as, integer, is, isObject, oneOf, table, text, type Rule, type RulesOf } from './checks.ts'
import { invalidOption } from './errors.ts'
import { summaryFields, type ListQuery } from './figures.ts'
import { jobStates } from './lifecycle.ts'
import { limits, timeMsMax } from './limits.ts'
import { caps } from './caps.ts'
import type { JobRecord } from './record.ts'
import type { JobFilter } from './values.ts'

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
const recordFields: ReadonlySet<unknown> = new Set(
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
    takesCancel: true,
    inbox: true,
    deferred: true,
    lastMessageNumber: true,
    history: true,
  } satisfies Record<keyof JobRecord, true>),
)

const isField = (field: unknown): field is keyof JobRecord => recordFields.has(field)

// ── rules ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const oneOrMany =
  <Value>(rule: Rule<Value>): Rule<Value | readonly Value[]> =>
  (value, name) =>
    Array.isArray(value) ? value.map((each) => rule(each, name)) : rule(value, name)

const anyText = is('text', (value) => typeof value === 'string')
const onlyTrue = is('true', (value) => value === true, 'Leave it out to find all jobs.')

const metaMember = is(
  'text, a finite number, true or false',
  (value): value is string | number | boolean =>
    typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value),
)

const time = as(
  is(
    'a Date, or ms since the epoch',
    (value): value is Date | number =>
      (value instanceof Date || typeof value === 'number') && Math.abs(Number(value)) <= timeMsMax,
  ),
  Number,
)

const metaMembers: Rule<NonNullable<JobFilter['meta']>> = (value, name) => {
  if (!isObject(value)) throw invalidOption(name, 'an object', value)
  const members = Object.entries(value)
  if (members.length === 0 || members.length > limits.filterMetaMax) {
    throw invalidOption(name, `1 to ${limits.filterMetaMax} members`, members.length)
  }
  return Object.fromEntries(members.map(([key, each]) => [key, metaMember(each, `${name}.${key}`)]))
}

/** The fields to read; undefined: all. */
const fields: Rule<readonly (keyof JobRecord)[] | undefined> = (value, name) => {
  if (value === 'full') return undefined
  if (value === 'summary') return summaryFields
  const unknown: unknown = Array.isArray(value) ? value.find((field) => !isField(field)) : value
  if (Array.isArray(value) && unknown === undefined) return [...new Set(value.filter(isField))]
  throw invalidOption(name, `'full', 'summary', or a list of ${[...recordFields].join(', ')}`, unknown)
}

const filterRules = {
  type: oneOrMany(text(limits.idCharsMax)),
  state: oneOrMany(oneOf(...jobStates)),
  tag: anyText,
  key: anyText,
  concurrencyKey: anyText,
  failure: oneOrMany(anyText),
  parent: anyText,
  machineState: anyText,
  machineTag: anyText,
  meta: metaMembers,
  unsupported: onlyTrue,
  enqueuedAfter: time,
  enqueuedBefore: time,
  finishedAfter: time,
  finishedBefore: time,
} satisfies RulesOf<JobFilter>

const listRules = {
  ...filterRules,
  after: text(limits.idCharsMax),
  limit: integer(1, caps.pageMax),
  order: oneOf('oldest', 'newest'),
  orderBy: oneOf('enqueued', 'finished', 'due'),
  fields: fields,
} satisfies RulesOf<ListOptions>

/** The names of a filter's fields. */
export const filterKeys = Object.keys(filterRules) as readonly (keyof JobFilter)[]

const filter = table(filterRules)
const list = table(listRules)

/** The filter with its times in ms. @throws JobchartError INVALID_OPTION */
export const filterOf = (given: unknown): JobFilter => filter(given, 'filter')

/** @throws JobchartError INVALID_OPTION */
export const listQuery = (given: ListOptions): ListQuery => list(given, 'filter')
