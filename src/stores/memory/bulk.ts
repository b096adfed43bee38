/** The bulk operations of the store. They are replaced, never changed in place. */
import type { BulkTable } from '../../core/bulk.ts'
import type { BulkOperation } from '../../core/bulk-record.ts'
import type { Hints } from './hints.ts'

export class BulkOperations implements BulkTable {
  private readonly operations = new Map<string, BulkOperation>()
  private readonly hints: Hints

  constructor(hints: Hints) {
    this.hints = hints
  }

  get(id: string): BulkOperation | undefined {
    return this.operations.get(id)
  }

  all(of?: 'running' | 'ended'): readonly BulkOperation[] {
    const all = [...this.operations.values()]
    return of === undefined ? all : all.filter(({ state }) => (state === 'running') === (of === 'running'))
  }

  save(operation: BulkOperation): void {
    this.operations.set(operation.id, operation)
  }

  remove(id: string): void {
    this.operations.delete(id)
  }

  offer(id: string): void {
    this.hints.bulk(id)
  }
}
