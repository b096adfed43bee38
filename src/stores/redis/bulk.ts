/**
 * The bulk operations of a namespace: two hashes of small values, by id. Those that run are apart, because each runtime looks at
 * them every few seconds, and mostly there are none.
 */
import { advanceBulk, latestFirst, startBulk, stopBulk, withAbandoned, type BulkTable } from '../../core/bulk.ts'
import type { BulkOperation } from '../../core/bulk-record.ts'
import type { BulkStore, SweepAnswer } from '../../store.ts'
import type { Redis } from './connection.ts'
import type { Driver } from './driver.ts'
import type { Keys } from './keys.ts'
import { texts } from './loading.ts'
import type { Need } from './needs.ts'
import type { RedisUnit } from './unit.ts'

const kinds = { running: 'bulk', ended: 'bulk-ended' } as const

const parsed = (text: string): BulkOperation => JSON.parse(text) as BulkOperation

class BulkCells implements BulkTable {
  private readonly unit: RedisUnit

  constructor(unit: RedisUnit) {
    this.unit = unit
  }

  get(id: string): BulkOperation | undefined {
    const text = this.unit.cell(kinds.running, id) ?? this.unit.cell(kinds.ended, id)
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

export const withAbandonedBulk = (answer: SweepAnswer, unit: RedisUnit): SweepAnswer =>
  withAbandoned(answer, unit, new BulkCells(unit))

const cellsOf = (id: string): Need[] => Object.values(kinds).map((cells): Need => ({ kind: 'cell', cells, field: id }))

/** The writes: operations of the core. A batch needs what its change needs, and is one commit. */
export const bulkWritesOf = (driver: () => Driver): Omit<BulkStore, 'list'> => ({
  start: (request) =>
    driver().write((unit) => startBulk(unit, new BulkCells(unit), request), {
      needs: [...cellsOf(request.id), runningBulk],
    }),
  advance: (request) =>
    driver().write((unit) => advanceBulk(unit, new BulkCells(unit), request), { needs: cellsOf(request.id) }),
  stop: (request) =>
    driver().write((unit) => stopBulk(unit, new BulkCells(unit), request), { needs: cellsOf(request.id) }),
})

export async function listBulk(redis: Redis, keys: Keys, only?: 'running'): Promise<BulkOperation[]> {
  const wanted = only === 'running' ? [kinds.running] : Object.values(kinds)
  const replies = await redis.pipeline(wanted.map((kind) => ['HVALS', keys.cells(kind)]))
  return latestFirst(replies.flatMap(texts).map(parsed))
}
