/** The bulk operations of the file: a row each, with the time of its end for the index, and the rest as JSON. */
import type { BulkTable } from '../../core/bulk.ts'
import type { BulkOperation } from '../../core/bulk-record.ts'
import type { Hints } from './hints.ts'
import type { Statements } from './statements.ts'

const parsed = ([text]: readonly [text: string]): BulkOperation => JSON.parse(text) as BulkOperation

export class BulkRows implements BulkTable {
  private readonly sql: Statements
  private readonly hints: Hints

  constructor({ sql, hints }: { readonly sql: Statements; readonly hints: Hints }) {
    this.sql = sql
    this.hints = hints
  }

  get(id: string): BulkOperation | undefined {
    const row = this.sql.get('bulkOperation', id)
    return row && parsed(row)
  }

  all(of?: 'running' | 'ended'): readonly BulkOperation[] {
    const running = of === 'ended' ? [] : this.sql.all('runningBulk')
    const ended = of === 'running' ? [] : this.sql.all('endedBulk')
    return [...running, ...ended].map(parsed)
  }

  save(operation: BulkOperation): void {
    this.sql.run('writeBulk', operation.id, operation.endedAt, JSON.stringify(operation))
  }

  remove(id: string): void {
    this.sql.run('removeBulk', id)
  }

  offer(id: string): void {
    this.hints.bulk(id)
  }
}
