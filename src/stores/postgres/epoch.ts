/**
 * Notices that the server was started again, or that another one has taken its place: a standby that had not received
 * the last commits has an older state, and may give the numbers and revisions of these anew.
 */
import type { Hint } from '../../store.ts'
import type { Link } from './connection.ts'

export class Epoch {
  /** Which run of the server this is, as the last connection has told. */
  current = ''
  /** How many connections have told of it: all of them end when the server fails. null: a pooler keeps them. */
  connections: number | null = 0
  /** The number of the last transition that this process knows of. */
  private seen = 0
  /** Has one begun that was not told of? */
  private isNews = false
  private readonly begun: () => void

  /** @param begun called when another one has begun, before anything is asked of it */
  constructor(begun: () => void) {
    this.begun = begun
  }

  learn({ epoch, isPooled }: Pick<Link, 'epoch' | 'isPooled'>): void {
    const { current, connections } = this
    this.connections = isPooled || connections === null ? null : connections + 1
    if (epoch === current) return
    this.current = epoch
    if (current === '') return
    this.isNews = true
    this.begun()
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
