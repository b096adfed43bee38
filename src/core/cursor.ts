/**
 * The cursor of a list, for stores whose jobs have a number: the page ends at a job, whatever becomes of it afterwards.
 */
import { JobchartError } from './errors.ts'
import type { ListOrder } from './figures.ts'
import { jobStates, statesTagged, type JobState } from './lifecycle.ts'
import type { JobMeta } from './record.ts'
import type { JobFilter } from './values.ts'

/** Where a job stands in the order of a list. */
export interface Position {
  /** Its due time, ms; 0 in the other orders. */
  readonly dueAt: number
  /** The number of its end in the order of ends, otherwise that of its enqueue. */
  readonly number: number
}

/** The position of a job in the orders that go by numbers. */
export const inSequence = (number: number): Position => ({ dueAt: 0, number })

/** Negative if `a` is earlier than `b`. */
export const comparePositions = (a: Position, b: Position): number => a.dueAt - b.dueAt || a.number - b.number

const everyState: ReadonlySet<JobState> = new Set(jobStates)
const listedStates: Readonly<Record<ListOrder, ReadonlySet<JobState>>> = {
  enqueued: everyState,
  finished: statesTagged('ended'),
  due: statesTagged('timed'),
}

/**
 * Can a job in this state be in a list of this order? By due time only if it has one: a job may wait for an event
 * alone.
 */
export const isListed = (by: ListOrder, state: JobState): boolean => listedStates[by].has(state)

/** The cursor of a page that ends at this number. */
const cursorAt = (seq: number): string => `~${seq.toString(36)}`

/** The cursor of a page that ends at this position. */
export const pageCursor = (by: ListOrder, { dueAt, number }: Position): string =>
  by === 'due' ? `~${dueAt.toString(36)}.${number.toString(36)}` : cursorAt(number)

/**
 * The position a page starts after.
 * @param find the position of the job with this id; undefined if it is not in this order
 * @throws JobchartError INVALID_OPTION for what is neither a cursor of this order nor the id of a job
 */
export function positionAt(by: ListOrder, cursor: string, find: (id: string) => Position | undefined): Position {
  const position = find(cursor)
  if (position !== undefined) return position
  const text = /^~([0-9a-z]{1,11})(?:\.([0-9a-z]{1,11}))?$/.exec(cursor)
  const [first, second] = [text?.[1], text?.[2]]
  if (first !== undefined && (second !== undefined) === (by === 'due')) {
    const [one, other] = [first, second ?? ''].map((digits) => Number.parseInt(digits, 36)) as [number, number]
    return by === 'due' ? { dueAt: one, number: other } : inSequence(one)
  }
  throw new JobchartError('INVALID_OPTION', `after: there is no job ${JSON.stringify(cursor)} to continue from`, {
    hint: 'Pass the `next` of the previous page of the same order: it stays valid when jobs are removed.',
  })
}

/**
 * The number of an entry of the log, for stores whose entries are numbered in the order of their commits; 0 before the
 * first.
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

/**
 * Gives an answer the cursor of the log that it goes with. Not enumerable: equal answers stay equal, and their JSON is
 * the same.
 */
export const withCursor = <Answer extends object>(
  answer: Answer,
  cursor: string,
): Answer & { readonly cursor: string } =>
  Object.defineProperty(answer, 'cursor', { value: cursor }) as Answer & { readonly cursor: string }

/** In which order jobs are looked at, and how many of them. */
export interface PageRange {
  readonly by: ListOrder
  readonly newestFirst: boolean
  /** Starts after this position; null = at the first. */
  readonly after: Position | null
  /** Ends at this number of an enqueue, and leaves out jobs that have ended after it. */
  readonly until?: number
  readonly limit: number
}

/** Where an operation by filter goes on: after a number, and up to the last one that there was when it began. */
interface SelectionRange {
  readonly after: Position
  readonly until: number
}

/** @throws JobchartError INVALID_OPTION for what is no `next` of an answer */
export function selectionRange(cursor: string | undefined, last: number): SelectionRange {
  if (cursor === undefined) return { after: inSequence(0), until: last }
  const [, after, until] = /^~([0-9a-z]{1,11})~([0-9a-z]{1,11})$/.exec(cursor) ?? []
  if (after !== undefined && until !== undefined) {
    return { after: inSequence(Number.parseInt(after, 36)), until: Number.parseInt(until, 36) }
  }
  throw new JobchartError('INVALID_OPTION', `after: ${JSON.stringify(cursor)} is not a cursor of an answer`, {
    hint: 'Pass the `next` of the previous answer.',
  })
}

/** The cursor that goes on after a number; null if nothing comes after it. */
export const selectionAfter = (next: Position | null, { until }: SelectionRange): string | null =>
  next === null || next.number >= until ? null : `${cursorAt(next.number)}~${until.toString(36)}`

/** The cursor at which an operation by filter has come to its end. */
export const selectionEnd = ({ until }: SelectionRange): string => `${cursorAt(until)}~${until.toString(36)}`

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
