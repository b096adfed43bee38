/**
 * The bulk operations of a store: small values of two kinds, by id. Those that run are apart, because each runtime
 * looks at them every few seconds, and mostly there are none.
 */
import {
  addJobs,
  advanceBulk,
  changeableStates,
  changeAlone,
  changeRows,
  latestFirst,
  startBulk,
  stopBulk,
  withAbandoned,
  type Batch,
  type BatchAlone,
  type BulkTable,
  type ChangeRows,
} from '../../core/bulk.ts'
import type { BulkAnswer, BulkOperation, BulkOutcome } from '../../core/bulk-record.ts'
import { reviveError } from '../../core/failure.ts'
import type { BulkStore, SweepAnswer } from '../../store.ts'
import { changeJobs, selectedAmong } from './apart.ts'
import { cancelDescendants, checkFamily, unlessLarge } from './cancel.ts'
import { contended, roundsMax, type CommitEach, type RemoteDriver } from './driver.ts'
import { heldByOthers, isHeld } from './held.ts'
import type { Need } from './needs.ts'
import type { Transaction } from './transaction.ts'
import type { SelectedIds, WorkingSet } from './working-set.ts'

/** The page that was found. */
const pageOf = ({ selections }: WorkingSet): SelectedIds | undefined => [...selections.values()][0]

const kinds = { running: 'bulk', ended: 'bulk-ended' } as const

/** As it is kept, with jobs of earlier batches. */
interface KeptOperation extends BulkOperation {
  /** Others have changed them meanwhile: they are judged before the next batch. */
  readonly left?: readonly string[]
  /** Somebody else holds their rows: they are left until all others are done. */
  readonly held?: readonly string[]
}

function bulkFrom(text: string): BulkOperation {
  const { left: _, held: _held, ...operation } = JSON.parse(text) as KeptOperation
  return operation
}

class BulkCells implements BulkTable {
  /** Jobs of this batch and earlier ones whose rows somebody else holds. */
  readonly held: string[] = []
  /** How many of these are left, once all others are done. */
  heldAtEnd = 0
  private readonly transaction: Transaction

  constructor(transaction: Transaction) {
    this.transaction = transaction
    transaction.source.leavesJobs = (transaction.set.held?.size ?? 0) > 0
  }

  get(id: string): BulkOperation | undefined {
    const { source } = this.transaction
    const running = this.transaction.cell(kinds.running, id)
    const text = running ?? this.transaction.cell(kinds.ended, id)
    if (running !== null) {
      const { left, held = [] } = JSON.parse(running) as KeptOperation
      source.among = left
      this.held.push(...held)
      if (held.length > 0) source.leavesJobs = true
    }
    return text === null ? undefined : bulkFrom(text)
  }

  /** Changes those whose rows nobody else holds. */
  changeFree(changeBy: ChangeRows): ChangeRows {
    const { transaction, held } = this
    return (unit, change, rows) => {
      if ((transaction.set.held?.size ?? 0) === 0) return changeBy(unit, change, rows)
      const ids = rows.map(({ id }) => id)
      const changeOne = (id: string): Batch => changeBy(unit, change, unit.findEach([id]).rows)
      const batches = transaction.each(ids, changeOne, (error, id) => {
        if (!isHeld(error)) throw reviveError(error)
        held.push(id)
        return { jobs: {}, transitions: [] }
      })
      return batchOf(batches)
    }
  }

  all(of: 'running' | 'ended'): readonly BulkOperation[] {
    return this.transaction.set.valuesOf(kinds[of]).map(bulkFrom)
  }

  save(operation: BulkOperation): void {
    const isRunning = operation.state === 'running'
    this.transaction.setCell(kinds.running, operation.id, isRunning ? JSON.stringify(this.kept(operation)) : null)
    if (!isRunning) this.transaction.setCell(kinds.ended, operation.id, JSON.stringify(operation))
  }

  /** @throws JobchartError STORE_UNAVAILABLE if too many are held to be named */
  private kept(operation: BulkOperation): KeptOperation {
    const { held, transaction } = this
    if (held.length === 0) return operation
    if (held.length > operation.batchSize) throw heldByOthers(held)
    const isEnd = transaction.source.among !== undefined || pageOf(transaction.set)?.next === null
    this.heldAtEnd = isEnd ? held.length : 0
    return { ...operation, [isEnd ? 'left' : 'held']: held }
  }

  remove(id: string): void {
    this.transaction.setCell(kinds.ended, id, null)
  }

  offer(id: string): void {
    this.transaction.hints.push({ kind: 'bulk', id })
  }
}

/** What `withAbandonedBulk` needs. */
export const runningBulk: Need = { kind: 'values', cells: kinds.running }

export const withAbandonedBulk = (answer: SweepAnswer, transaction: Transaction): SweepAnswer =>
  withAbandoned(answer, transaction, new BulkCells(transaction))

const cellsOf = (id: string): Need[] => Object.values(kinds).map((cells): Need => ({ kind: 'cell', cells, field: id }))

type Act = (transaction: Transaction, cells: BulkCells, changeBy: ChangeRows) => BulkAnswer

/** A batch, without the jobs whose rows somebody else holds. */
function actFree(act: Act, transaction: Transaction, changeBy: ChangeRows): BulkAnswer {
  const cells = new BulkCells(transaction)
  const answer = act(transaction, cells, cells.changeFree(changeBy))
  return cells.heldAtEnd === 0 ? answer : { ...answer, held: cells.heldAtEnd }
}

/** A cancel of a large family, or of a smaller one that changes meanwhile, is done by generations: see `cancelAll`. */
const inBatch = (driver: RemoteDriver, id: string, act: Act): Promise<BulkAnswer> =>
  driver.inTurn(async () => {
    const { commitEach } = driver.server
    const needs = [...cellsOf(id), runningBulk]
    const eachApart = commitEach && ((page: SelectedIds | null) => batchApart(driver, commitEach, id, page, act))
    const byGenerations = async (): Promise<BulkAnswer> => {
      let parents: string[] = []
      const alone: ChangeRows = (unit, change, rows) => {
        const batch = changeAlone(unit, change, rows)
        parents.push(...batch.parents)
        return batch
      }
      const operate = (each: Transaction): BulkAnswer => {
        parents = []
        return actFree(act, each, alone)
      }
      const answer = await driver.writeInTurn(operate, {
        needs,
        leavesHeld: true,
        ...(eachApart && { apart: eachApart }),
      })
      return withDescendants(driver, answer, parents)
    }
    const together = (each: Transaction): BulkAnswer =>
      actFree(act, each, (unit, change, rows) => {
        if (change.kind === 'cancel') checkFamily(each.set)
        return changeRows(unit, change, rows)
      })
    return unlessLarge(
      driver.writeInTurn(together, { needs, leavesHeld: true, apart: eachApart ?? byGenerations }),
      byGenerations,
    )
  })

async function withDescendants(
  driver: RemoteDriver,
  answer: BulkAnswer,
  parents: readonly string[],
): Promise<BulkAnswer> {
  const change = answer.operation?.change
  if (change?.kind !== 'cancel') return answer
  return { ...answer, transitions: [...answer.transitions, ...(await cancelDescendants(driver, parents, change))] }
}

/**
 * Does a batch job by job, because others work on its jobs. Those that have changed meanwhile are kept with the
 * operation.
 */
async function batchApart(
  driver: RemoteDriver,
  commitEach: CommitEach,
  id: string,
  page: SelectedIds | null,
  act: Act,
): Promise<BulkAnswer> {
  if (page === null) throw new TypeError('a bulk operation has a filter')
  for (let tries = 0; tries < roundsMax.commit; tries++) {
    const set = driver.newSet()
    const needs = [...cellsOf(id), runningBulk]
    // As a batch without jobs, that is not the last one: the operation may have jobs left.
    const none = (each: Transaction): BulkAnswer => act(each, new BulkCells(each), changeRows)
    const given = { ...page, ids: [], next: page.next ?? page.end }
    const { transaction, answer } = await driver.operate(none, set, needs, given)
    const { operation } = answer
    if (answer.outcome !== 'advanced' || operation === null) return answer
    const { change, filter } = operation
    const selection = { filter, after: page.end }
    const ids = await selectedAmong(driver, set, selection, changeableStates[change.kind], page.ids)
    const { counts, ...others } = operation
    const progress = { cells: kinds.running, field: id, counts, others }
    const changeOne = ({ unit }: Transaction, job: string): BatchAlone =>
      changeAlone(unit, change, unit.findEach([job]).rows)
    const outcome = await changeJobs(driver, commitEach, set, ids, changeOne, transaction, progress, outcomesOf)
    if (outcome !== null) {
      const parents = outcome.done.flatMap((batch) => batch.parents)
      return withDescendants(driver, answerOf(operation, outcome.done), parents)
    }
    await driver.pause(tries)
  }
  throw contended(driver.server.name, 'Nothing was written. Call again.')
}

const outcomesOf = ({ jobs }: Batch): BulkOutcome[] =>
  (Object.keys(jobs) as BulkOutcome[]).flatMap((name) => (jobs[name] ?? []).map(() => name))

/** One of several. */
function batchOf(batches: readonly Batch[]): Batch {
  const jobs: Partial<Record<BulkOutcome, readonly string[]>> = {}
  for (const batch of batches) {
    for (const [name, ids] of Object.entries(batch.jobs) as [BulkOutcome, readonly string[]][]) {
      jobs[name] = [...(jobs[name] ?? []), ...ids]
    }
  }
  return { jobs, transitions: batches.flatMap((batch) => batch.transitions) }
}

function answerOf(operation: BulkOperation, batches: readonly Batch[]): BulkAnswer {
  const batch = batchOf(batches)
  return { outcome: 'advanced', operation: { ...operation, counts: addJobs(operation.counts, batch.jobs) }, ...batch }
}

/**
 * The writes are operations of the core. A batch needs what its change needs, and is one commit.
 * @param values reads all small values of a kind
 */
export const bulkStoreOf = (
  driver: () => RemoteDriver,
  values: (kind: 'bulk' | 'bulk-ended') => Promise<readonly string[]>,
): BulkStore => ({
  start: async (request) =>
    inBatch(driver(), request.id, (each, cells, changeBy) => startBulk(each.unit, cells, request, changeBy)),
  advance: async (request) =>
    inBatch(driver(), request.id, (each, cells, changeBy) => advanceBulk(each.unit, cells, request, changeBy)),
  stop: async (request) =>
    driver().write((each) => stopBulk(each, new BulkCells(each), request), { needs: cellsOf(request.id) }),
  async list(only) {
    const wanted = only === 'running' ? [kinds.running] : Object.values(kinds)
    return latestFirst((await Promise.all(wanted.map(values))).flat().map(bulkFrom))
  },
})
