/**
 * Notices that the server was started again, or that another one has taken its place: a standby that had not received
 * the last commits has an older state, and may give the numbers and revisions of these anew. So has a schema that was
 * dropped and restored beside open connections.
 */
import type { Hint } from '../../store.ts'
import type { Link } from './connection.ts'

export class Epoch {
  /** Which run of the server this is, as the last connection has told, and which table of jobs, if others came. */
  current = ''
  private server = ''
  /** The table of jobs, see `madeColumn`; null: no answer has told of it yet. */
  table: number | null = null
  /** How many connections have told of it: all of them end when the server fails. null: a pooler keeps them. */
  connections: number | null = 0
  /** The number of the last transition that this process knows of. */
  private seen = 0
  /** Has one begun that was not told of? */
  private isNews = false
  private readonly begun: () => void
  private readonly remade: () => void

  /**
   * @param begun called when another one has begun, before anything is asked of it
   * @param remade called after it if no connection was lost
   */
  constructor(begun: () => void, remade: () => void) {
    this.begun = begun
    this.remade = remade
  }

  learn({ epoch, isPooled }: Pick<Link, 'epoch' | 'isPooled'>): void {
    const { server, connections } = this
    this.connections = isPooled || connections === null ? null : connections + 1
    if (epoch === server) return
    this.server = this.current = epoch
    this.table = null
    if (server !== '') this.begin()
  }

  private begin(): void {
    this.isNews = true
    this.begun()
  }

  /** @param table what an answer has told of it */
  learnTable(table: number): void {
    const known = this.table
    this.table = table
    if (known === null || known === table) return
    this.current = `${this.server} ${table}`
    this.begin()
    this.remade()
  }

  see(seq: number): void {
    if (seq > this.seen) this.seen = seq
  }

  /** What was missed while nothing was heard. @param last asks for the number of the last transition */
  async news(last: () => Promise<number>): Promise<readonly Hint[]> {
    if (!this.isNews) return [{ kind: 'missed' }]
    const { seen } = this
    const left = await last()
    this.isNews = false
    this.seen = left
    return [{ kind: 'missed' }, left < seen ? { kind: 'rollback', seen, left } : { kind: 'restart' }]
  }
}
