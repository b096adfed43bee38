/** Retention: what `prune` asks and does. */
import type { EndedState, PruneUnit } from '../../core/prune.ts'
import type { Unit } from '../../core/unit.ts'
import type { RetentionPolicy } from '../../store.ts'
import { phaseOf } from './phases.ts'
import type { Row } from './row.ts'
import type { Tables } from './tables.ts'

export class Pruning implements PruneUnit<Row> {
  private readonly unit: Unit<Row>
  private readonly tables: Tables

  constructor(unit: Unit<Row>, tables: Tables) {
    this.unit = unit
    this.tables = tables
  }

  get now(): number {
    return this.unit.now
  }

  typesToPrune(limit: number): readonly string[] {
    return this.tables.retention.due(this.now, limit).map(({ type }) => type)
  }

  retentionOf(type: string): RetentionPolicy | null {
    return this.tables.retention.of(type)
  }

  endedCount(type: string, state: EndedState): number {
    return this.tables.queue(type).counts[phaseOf[state].index] as number
  }

  firstEnded(type: string, state: EndedState, limit: number): readonly Row[] {
    return this.tables.queue(type).ended[phaseOf[state].index]?.toArray(limit) ?? []
  }

  removeEnded(rows: readonly Row[]): void {
    for (const row of rows) this.unit.remove(row)
  }

  lookAgain(type: string, at: number): void {
    this.tables.retention.lookAgain(this.tables.queue(type), at)
  }

  get nextLookAt(): number {
    return this.tables.retention.nextAt
  }
}
