/**
 * The bulk operations of a namespace: two hashes of small values, by id. Those that run are apart, because each runtime
 * looks at them every few seconds, and mostly there are none.
 */
import {
  addJobs,
  advanceBulk,
  changeableStates,
  changeSelection,
  latestFirst,
  startBulk,
  stopBulk,
  withAbandoned,
  type Batch,
  type BulkTable,
} from '../../core/bulk.ts'
import type { BulkAnswer, BulkOperation, BulkOutcome } from '../../core/bulk-record.ts'
import type { BulkStore, SweepAnswer } from '../../store.ts'
import { commitEach, selectedAmong } from './apart.ts'
import type { Commands } from './connection.ts'
import type { Driver } from './driver.ts'
import { contended, roundsMax } from '../remote/driver.ts'
import type { Keys } from './keys.ts'
import { texts } from './loading.ts'
import type { Need } from '../remote/needs.ts'
import { planOf } from './plan.ts'
import type { RemoteUnit } from '../remote/unit.ts'
import { WorkingSet, type SelectedIds } from '../remote/working-set.ts'

const kinds = { running: 'bulk', ended: 'bulk-ended' } as const

/**
 * As it is kept: with jobs of earlier batches that others have changed meanwhile. They are judged before the next
 * batch.
 */
interface KeptOperation extends BulkOperation {
  readonly left?: readonly string[]
}

function parsed(text: string): BulkOperation {
  const { left: _, ...operation } = JSON.parse(text) as KeptOperation
  return operation
}

class BulkCells implements BulkTable {
  private readonly unit: RemoteUnit

  constructor(unit: RemoteUnit) {
    this.unit = unit
  }

  get(id: string): BulkOperation | undefined {
    const running = this.unit.cell(kinds.running, id)
    const text = running ?? this.unit.cell(kinds.ended, id)
    if (running !== null) this.unit.among = (JSON.parse(running) as KeptOperation).left
    return text === null ? undefined : parsed(text)
  }

  all(of: 'running' | 'ended'): readonly BulkOperation[] {
    return this.unit.set.valuesOf(kinds[of]).map(parsed)
  }

  save(operation: BulkOperation): void {
    const isRunning = operation.state === 'running'
    this.unit.setCell(kinds.running, operation.id, isRunning ? JSON.stringify(operation) : null)
    if (!isRunning) this.unit.setCell(kinds.ended, operation.id, JSON.stringify(operation))
  }

  remove(id: string): void {
    this.unit.setCell(kinds.ended, id, null)
  }

  offer(id: string): void {
    this.unit.hints.push({ kind: 'bulk', id })
  }
}

/** What `withAbandonedBulk` needs. */
export const runningBulk: Need = { kind: 'values', cells: kinds.running }

export const withAbandonedBulk = (answer: SweepAnswer, unit: RemoteUnit): SweepAnswer =>
  withAbandoned(answer, unit, new BulkCells(unit))

const cellsOf = (id: string): Need[] => Object.values(kinds).map((cells): Need => ({ kind: 'cell', cells, field: id }))

const inBatch = (driver: Driver, id: string, act: (unit: RemoteUnit) => BulkAnswer): Promise<BulkAnswer> =>
  driver.write(act, {
    needs: [...cellsOf(id), runningBulk],
    apart: (page) => batchApart(driver, id, page, act),
  })

/**
 * Does a batch job by job, because others work on its jobs. Those that have changed meanwhile are kept with the
 * operation.
 */
async function batchApart(
  driver: Driver,
  id: string,
  page: SelectedIds | null,
  act: (unit: RemoteUnit) => BulkAnswer,
): Promise<BulkAnswer> {
  if (page === null) throw new TypeError('a bulk operation has a filter')
  for (let tries = 0; tries < roundsMax.commit; tries++) {
    const set = new WorkingSet()
    const needs = [...cellsOf(id), runningBulk]
    // As a batch without jobs, that is not the last one: the operation may have jobs left.
    const { unit, answer } = await driver.operate(act, set, needs, { ids: [], next: page.next ?? page.end })
    const { operation } = answer
    if (answer.outcome !== 'advanced' || operation === null) return answer
    const { change, filter } = operation
    const selection = { filter, after: page.end }
    const ids = await selectedAmong(driver, set, selection, changeableStates[change.kind], page.ids)
    const { cells = [], hints = [] } = planOf(unit, driver.keys).plan
    const key = driver.keys.cells(kinds.running)
    const { counts, ...rest } = operation
    const script = {
      head: {
        cells: cells.map(([name, field, was]) => [name, field, was, 0]),
        ...(hints.length > 0 && { hints }),
      },
      progress: { key, field: id, counts, rest: JSON.stringify(rest).slice(1) },
    }
    const changeOne = (each: RemoteUnit): Batch => changeSelection(each, change, selection)
    const outcome = await commitEach(driver, set, ids, changeOne, script, outcomesOf)
    if (outcome !== null) return answerOf(operation, outcome.done)
    await driver.pause(tries)
  }
  throw contended('Redis', 'Nothing was written. Call again.')
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

/** The writes: operations of the core. A batch needs what its change needs, and is one commit. */
export const bulkWritesOf = (driver: () => Driver): Omit<BulkStore, 'list'> => ({
  start: (request) => inBatch(driver(), request.id, (unit) => startBulk(unit, new BulkCells(unit), request)),
  advance: (request) => inBatch(driver(), request.id, (unit) => advanceBulk(unit, new BulkCells(unit), request)),
  stop: (request) =>
    driver().write((unit) => stopBulk(unit, new BulkCells(unit), request), { needs: cellsOf(request.id) }),
})

export async function listBulk(redis: Commands, keys: Keys, only?: 'running'): Promise<BulkOperation[]> {
  const wanted = only === 'running' ? [kinds.running] : Object.values(kinds)
  const replies = await redis.pipeline(wanted.map((kind) => ['HVALS', keys.cells(kind)]))
  return latestFirst(replies.flatMap(texts).map(parsed))
}
