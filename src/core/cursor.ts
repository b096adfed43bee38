/** The cursor of a list, for stores whose jobs have a number: the page ends at a job, whatever becomes of it afterwards. */
import { JobchartError } from './errors.ts'
import type { JobMeta } from './record.ts'
import type { JobFilter } from './values.ts'

/** The cursor of a page that ends at this number. */
export const cursorAt = (seq: number): string => `~${seq.toString(36)}`

/**
 * The number a page starts after.
 * @param find the number of the job with this id; undefined if there is none
 * @throws JobchartError INVALID_OPTION for what is neither a cursor nor the id of a job
 */
export function seqAt(cursor: string, find: (id: string) => number | undefined): number {
  const seq = find(cursor)
  if (seq !== undefined) return seq
  if (/^~[0-9a-z]{1,11}$/.test(cursor)) return Number.parseInt(cursor.slice(1), 36)
  throw new JobchartError('INVALID_OPTION', `after: there is no job ${JSON.stringify(cursor)} to continue from`, {
    hint: 'Pass the `next` of the previous page: it stays valid when jobs are removed.',
  })
}

/**
 * The number of an entry of the log, for stores whose entries are numbered in the order of their commits; 0 before the first.
 * @throws JobchartError INVALID_OPTION for what is no cursor of such a log
 */
export function entryNumber(cursor: string | null): number {
  if (cursor === null) return 0
  if (/^[0-9]{1,16}$/.test(cursor)) return Number(cursor)
  throw new JobchartError('INVALID_OPTION', `from: ${JSON.stringify(cursor)} is no cursor of this log`, {
    hint: 'Pass the `cursor` of an entry, as transitions$ has given it.',
  })
}

/** The cursor after an entry of such a log. */
export const cursorOfEntry = (seq: number): string => String(seq)

/** Where an operation by filter goes on: after a number, and up to the last one that there was when it began. */
interface SelectionRange {
  readonly after: number
  readonly until: number
}

/** @throws JobchartError INVALID_OPTION for what is no `next` of an answer */
export function selectionRange(cursor: string | undefined, last: number): SelectionRange {
  if (cursor === undefined) return { after: 0, until: last }
  const [, after, until] = /^~([0-9a-z]{1,11})~([0-9a-z]{1,11})$/.exec(cursor) ?? []
  if (after !== undefined && until !== undefined) {
    return { after: Number.parseInt(after, 36), until: Number.parseInt(until, 36) }
  }
  throw new JobchartError('INVALID_OPTION', `after: ${JSON.stringify(cursor)} is not a cursor of an answer`, {
    hint: 'Pass the `next` of the previous answer.',
  })
}

/** The cursor that goes on after a number; null if nothing comes after it. */
export const selectionAfter = (next: number | null, { until }: SelectionRange): string | null =>
  next === null || next >= until ? null : `${cursorAt(next)}~${until.toString(36)}`

/** Jobs that a store looks at in one call at most, while it searches for those that match a filter. */
export const scanMax = 5_000

/** Has the meta of a job each of these members? */
export const hasMeta = (meta: JobMeta | null | undefined, wanted: NonNullable<JobFilter['meta']>): boolean =>
  Object.entries(wanted).every(([name, value]) => Object.hasOwn(meta ?? {}, name) && meta?.[name] === value)

type Times = Pick<JobFilter, 'enqueuedAfter' | 'enqueuedBefore' | 'finishedAfter' | 'finishedBefore'>

/** Was a job enqueued, and did it end, when the filter says? */
export function inTime(filter: Times, enqueuedAt: number, finishedAt: number | null): boolean {
  const { enqueuedAfter = -Infinity, enqueuedBefore = Infinity, finishedAfter, finishedBefore } = filter
  if (enqueuedAt < enqueuedAfter || enqueuedAt >= enqueuedBefore) return false
  if (finishedAfter === undefined && finishedBefore === undefined) return true
  return finishedAt !== null && finishedAt >= (finishedAfter ?? -Infinity) && finishedAt < (finishedBefore ?? Infinity)
}
