/**
 * Bulk operations: a change of all jobs that match a filter, kept by the store and done in batches. A batch and the
 * progress of its operation are one write, so that a process that dies between two batches leaves an operation with
 * which another goes on: no job is counted twice, and none is left out.
 */
import { discardable, discardRows, retryable, retryRows } from './admin.ts'
import type {
  AdvanceBulk,
  BulkAnswer,
  BulkChange,
  BulkOperation,
  BulkOutcome,
  StartBulk,
  StopBulk,
} from './bulk-record.ts'
import { cancellable, cancelRows, cancelRowsAlone } from './cancel.ts'
import { caps } from './caps.ts'
import type { JobRow } from './job-row.ts'
import type { JobState } from './lifecycle.ts'
import type { Unit } from './unit.ts'
import type { SweepAnswer, WrittenTransition } from './values.ts'

/** The states of the jobs that a change applies to; it leaves others that match its filter as they are. */
export const changeableStates: Readonly<Record<BulkChange['kind'], ReadonlySet<JobState>>> = {
  retry: retryable,
  cancel: cancellable,
  discard: discardable,
}

/** Access to the bulk operations of a store. */
export interface BulkTable {
  get(id: string): BulkOperation | undefined
  /** All operations that run, or all that have ended; in any order. */
  all(of: 'running' | 'ended'): readonly BulkOperation[]
  /** Writes an operation, new or changed. */
  save(operation: BulkOperation): void
  /** Removes an operation that has ended. */
  remove(id: string): void
  /** Sends a hint: anyone may go on with this operation. */
  offer(id: string): void
}

/** Does to jobs what an operation does. */
export type ChangeRows = (unit: Unit, change: BulkChange, rows: readonly JobRow[]) => Batch

/** Keeps a new operation, and does its first batch. */
export function startBulk(
  unit: Unit,
  table: BulkTable,
  { leaseMs, keep = 'always', ...request }: StartBulk,
  changeBy: ChangeRows = changeRows,
): BulkAnswer {
  const there = table.get(request.id)
  if (there !== undefined) return unchanged('known', there)
  const isShort = (): boolean => keep === 'unfinished' && hasOneBatch(unit, request)
  if (table.all('running').length >= caps.bulkRunning && !isShort()) return unchanged('full', null)
  const { now } = unit
  const fresh = { state: 'running', counts: {}, cursor: null, requestedAt: now, endedAt: null, error: null } as const
  const answer = doBatch(unit, table, { ...request, ...fresh, leaseUntil: now + leaseMs }, changeBy, keep)
  if (leaseMs === 0 && answer.operation?.state === 'running') table.offer(request.id)
  return answer
}

/** Does the next batch of an operation, unless another token carries it out. */
export function advanceBulk(
  unit: Unit,
  table: BulkTable,
  { id, token, leaseMs }: AdvanceBulk,
  changeBy: ChangeRows = changeRows,
): BulkAnswer {
  const there = table.get(id)
  if (there === undefined) return unchanged('notFound', null)
  if (there.state !== 'running') return unchanged('ended', there)
  if (there.token !== token && there.leaseUntil > unit.now) return unchanged('leasedElsewhere', there)
  return doBatch(unit, table, { ...there, token, leaseUntil: unit.now + leaseMs }, changeBy)
}

/** Ends an operation that runs. @returns the operation after the call; null if there is none */
export function stopBulk(
  unit: { readonly now: number },
  table: BulkTable,
  { id, error }: StopBulk,
): BulkOperation | null {
  const there = table.get(id)
  if (there?.state !== 'running') return there ?? null
  return save(table, { ...there, state: error === null ? 'stopped' : 'failed', error, endedAt: unit.now })
}

/** Adds the operations that run and whose lease has run out, those that were requested first before the others. */
export function withAbandoned(answer: SweepAnswer, unit: { readonly now: number }, table: BulkTable): SweepAnswer {
  const abandoned = table.all('running').filter(({ leaseUntil }) => leaseUntil <= unit.now)
  if (abandoned.length === 0) return answer
  return {
    ...answer,
    bulk: latestFirst(abandoned)
      .toReversed()
      .map(({ id }) => id),
  }
}

const unchanged = (outcome: BulkAnswer['outcome'], operation: BulkOperation | null): BulkAnswer => ({
  outcome,
  operation,
  jobs: {},
  transitions: [],
})

/** Would the first batch of an operation be its last one? */
function hasOneBatch(
  unit: Unit,
  { filter, batchSize, change }: Pick<StartBulk, 'filter' | 'batchSize' | 'change'>,
): boolean {
  return unit.select({ filter, limit: batchSize }, changeableStates[change.kind]).next === null
}

function doBatch(
  unit: Unit,
  table: BulkTable,
  operation: BulkOperation,
  changeBy: ChangeRows,
  keep: StartBulk['keep'] = 'always',
): BulkAnswer {
  const { filter, batchSize, cursor, change, counts } = operation
  const selection = { filter, limit: batchSize, ...(cursor !== null && { after: cursor }) }
  const { rows, next } = unit.select(selection, changeableStates[change.kind])
  const { jobs, transitions } = changeBy(unit, change, rows)
  const progress = { ...operation, counts: addJobs(counts, jobs), cursor: next }
  const after: BulkOperation = next === null ? { ...progress, state: 'done', endedAt: unit.now } : progress
  if (next !== null || keep === 'always') save(table, after)
  return { outcome: 'advanced', operation: after, jobs, transitions }
}

export interface Batch {
  readonly jobs: Partial<Record<BulkOutcome, readonly string[]>>
  readonly transitions: readonly WrittenTransition[]
}

/** A cancel without child jobs. `parents`: the jobs whose child jobs are to be cancelled. */
export interface BatchAlone extends Batch {
  readonly parents: readonly string[]
}

export function changeAlone(unit: Unit, change: BulkChange, rows: readonly JobRow[]): BatchAlone {
  if (change.kind !== 'cancel') return { ...changeRows(unit, change, rows), parents: [] }
  const { cancelled, cancelling, transitions, parents } = cancelRowsAlone(unit, rows, change)
  return { jobs: { cancelled, cancelling }, transitions, parents }
}

export function changeRows(unit: Unit, change: BulkChange, rows: readonly JobRow[]): Batch {
  switch (change.kind) {
    case 'retry': {
      const { transitions, ...jobs } = retryRows(unit, rows, change.fromStart, change.dropInbox)
      return { jobs, transitions }
    }
    case 'discard':
      return { jobs: { discarded: discardRows(unit, rows).discarded }, transitions: [] }
    case 'cancel': {
      const { cancelled, cancelling, transitions } = cancelRows(unit, rows, change)
      return { jobs: { cancelled, cancelling }, transitions }
    }
  }
}

/** The counts of an operation after a batch. */
export function addJobs(counts: BulkOperation['counts'], jobs: Batch['jobs']): BulkOperation['counts'] {
  const all: Partial<Record<BulkOutcome, number>> = { ...counts }
  for (const [outcome, ids] of Object.entries(jobs) as [BulkOutcome, readonly string[]][]) {
    if (ids.length > 0) all[outcome] = (all[outcome] ?? 0) + ids.length
  }
  return all
}

/** Of the operations that have ended, the latest are kept. */
function save(table: BulkTable, operation: BulkOperation): BulkOperation {
  if (operation.state !== 'running') {
    const others = table.all('ended').filter(({ id }) => id !== operation.id)
    for (const { id } of others.toSorted(laterFirst).slice(caps.bulkEnded - 1)) table.remove(id)
  }
  table.save(operation)
  return operation
}

const laterFirst = (a: BulkOperation, b: BulkOperation): number =>
  (b.endedAt ?? 0) - (a.endedAt ?? 0) || (a.id < b.id ? 1 : -1)

/** In the order of lists: the latest first. */
export const latestFirst = (operations: readonly BulkOperation[]): BulkOperation[] =>
  operations.toSorted((a, b) => b.requestedAt - a.requestedAt || (a.id < b.id ? 1 : -1))
