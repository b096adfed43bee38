/** What an order does to the world outside, each under a key by which the world knows it again. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Entry, Ledger } from './ledger.ts'
import type { Order } from './order.ts'

export class Effects {
  private readonly ledger: Ledger

  constructor(ledger: Ledger) {
    this.ledger = ledger
  }

  charge(order: Order, key: string): Promise<string> {
    return this.once(order, key, 'charge', () => `${order.pounds} pounds`)
  }

  refund(order: Order, key: string): Promise<string> {
    return this.once(order, key, 'refund', () => `${order.pounds} pounds`)
  }

  async ship(order: Order, key: string): Promise<string> {
    if (order.address === '') throw new Error(`${order.id} has no address`)
    return this.once(order, key, 'ship', () => `to ${order.address}`)
  }

  email(order: Order, key: string, text: string): Promise<string> {
    return this.once(order, key, 'email', () => text)
  }

  /** Writes down what has happened, unless it is there. */
  note({ id }: Order, what: Entry['what'], more: Partial<Entry> = {}): void {
    const key = `${id}/${what}`
    if (this.ledger.find(what, key) === undefined) this.ledger.append({ order: id, key, what, ...more })
  }

  /** What is completed gives the kept result; what was begun and not completed is done again, under the same key. */
  private async once(
    { id }: Order,
    key: string,
    effect: 'charge' | 'ship' | 'refund' | 'email',
    work: () => string,
  ): Promise<string> {
    const done = this.ledger.find('completed', key)
    if (done?.result !== undefined) return done.result
    this.ledger.append({ order: id, key, what: 'begun', effect })
    await sleep(5 + 20 * Math.random())
    const result = work()
    this.ledger.append({ order: id, key, what: 'completed', effect, result })
    return result
  }
}
