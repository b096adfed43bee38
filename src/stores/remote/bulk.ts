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
import type { BulkStore, SweepAnswer } from '../../store.ts'
import { changeJobs, selectedAmong } from './apart.ts'
import { cancelDescendants, checkFamily, unlessLarge } from './cancel.ts'
import { contended, roundsMax, type CommitEach, type RemoteDriver } from './driver.ts'
import type { Need } from './needs.ts'
import type { Transaction } from './transaction.ts'
import type { SelectedIds } from './working-set.ts'

const kinds = { running: 'bulk', ended: 'bulk-ended' } as const

/**
 * As it is kept: with jobs of earlier batches that others have changed meanwhile. They are judged before the next
 * batch.
 */
interface KeptOperation extends BulkOperation {
  readonly left?: readonly string[]
}

function bulkFrom(text: string): BulkOperation {
  const { left: _, ...operation } = JSON.parse(text) as KeptOperation
  return operation
}

class BulkCells implements BulkTable {
  private readonly transaction: Transaction

  constructor(transaction: Transaction) {
    this.transaction = transaction
  }

  get(id: string): BulkOperation | undefined {
    const running = this.transaction.cell(kinds.running, id)
    const text = running ?? this.transaction.cell(kinds.ended, id)
    if (running !== null) this.transaction.source.among = (JSON.parse(running) as KeptOperation).left
    return text === null ? undefined : bulkFrom(text)
  }

  all(of: 'running' | 'ended'): readonly BulkOperation[] {
    return this.transaction.set.valuesOf(kinds[of]).map(bulkFrom)
  }

  save(operation: BulkOperation): void {
    const isRunning = operation.state === 'running'
    this.transaction.setCell(kinds.running, operation.id, isRunning ? JSON.stringify(operation) : null)
    if (!isRunning) this.transaction.setCell(kinds.ended, operation.id, JSON.stringify(operation))
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

type Act = (transaction: Transaction, changeBy: ChangeRows) => BulkAnswer

/** A cancel of a large family, or of a smaller one that changes meanwhile, is done by generations: see `cancelAll`. */
const inBatch = (driver: RemoteDriver, id: string, act: Act): Promise<BulkAnswer> =>
  driver.inTurn(async () => {
    const { commitEach } = driver.server
    const needs = [...cellsOf(id), runningBulk]
    const eachApart = commitEach && ((page: SelectedIds | null) => batchApart(driver, commitEach, id, page, act))
    const byGenerations = async (): Promise<BulkAnswer> => {
      let parents: readonly string[] = []
      const alone: ChangeRows = (unit, change, rows) => {
        const batch = changeAlone(unit, change, rows)
        parents = batch.parents
        return batch
      }
      const answer = await driver.writeInTurn((each) => act(each, alone), {
        needs,
        ...(eachApart && { apart: eachApart }),
      })
      return withDescendants(driver, answer, parents)
    }
    const together = (each: Transaction): BulkAnswer =>
      act(each, (unit, change, rows) => {
        if (change.kind === 'cancel') checkFamily(each.set)
        return changeRows(unit, change, rows)
      })
    return unlessLarge(driver.writeInTurn(together, { needs, apart: eachApart ?? byGenerations }), byGenerations)
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
    const none = (each: Transaction): BulkAnswer => act(each, changeRows)
    const { transaction, answer } = await driver.operate(none, set, needs, { ids: [], next: page.next ?? page.end })
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

function answerOf(operation: BulkOperation, batches: readonly Batch[]): BulkAnswer {
  const jobs: Partial<Record<BulkOutcome, readonly string[]>> = {}
  for (const batch of batches) {
    for (const [name, ids] of Object.entries(batch.jobs) as [BulkOutcome, readonly string[]][]) {
      jobs[name] = [...(jobs[name] ?? []), ...ids]
    }
  }
  const transitions = batches.flatMap((batch) => batch.transitions)
  return {
    outcome: 'advanced',
    operation: { ...operation, counts: addJobs(operation.counts, jobs) },
    jobs,
    transitions,
  }
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
    inBatch(driver(), request.id, (each, changeBy) => startBulk(each.unit, new BulkCells(each), request, changeBy)),
  advance: async (request) =>
    inBatch(driver(), request.id, (each, changeBy) => advanceBulk(each.unit, new BulkCells(each), request, changeBy)),
  stop: async (request) =>
    driver().write((each) => stopBulk(each, new BulkCells(each), request), { needs: cellsOf(request.id) }),
  async list(only) {
    const wanted = only === 'running' ? [kinds.running] : Object.values(kinds)
    return latestFirst((await Promise.all(wanted.map(values))).flat().map(bulkFrom))
  },
})
