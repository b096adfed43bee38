/**
 * The ledger: what was done to the world outside, one line of JSON each, appended in one write by any number of
 * processes. It stands for a bank and a carrier that know idempotency keys.
 */
import { appendFileSync, closeSync, existsSync, openSync, readSync } from 'node:fs'

/**
 * `begun`, `completed`: an effect · `timer`: a timer was set for `deadline` · `fired`: it has, and the order counts as
 * approved · `approved`: by an event, before that · `ended`: the order is, as its `state` says.
 */
export interface Entry {
  /** The job's id: `order-1`, `order-2`, … */
  readonly order: string
  /** The same for each time that the same thing is done. */
  readonly key: string
  readonly what: 'begun' | 'completed' | 'timer' | 'fired' | 'approved' | 'ended'
  /** Of `begun` and `completed`. */
  readonly effect?: 'charge' | 'ship' | 'refund' | 'email'
  /** Of `completed`. */
  readonly result?: string
  /** Of `timer` and `fired`, ms since the epoch. */
  readonly deadline?: number
  /** Of `ended`: shipped or refunded. */
  readonly state?: string
}

export class Ledger {
  private readonly path: string
  /** What it says, by what and key. */
  private readonly entries = new Map<string, Entry>()
  private offset = 0
  private rest = ''

  constructor(path: string) {
    this.path = path
  }

  find(what: Entry['what'], key: string): Entry | undefined {
    this.read()
    return this.entries.get(`${what} ${key}`)
  }

  /** How often something was done, the same key counted once. */
  count(wanted: (entry: Entry) => boolean): number {
    this.read()
    return [...this.entries.values()].filter(wanted).length
  }

  append(entry: Entry): void {
    appendFileSync(this.path, `${JSON.stringify({ at: Date.now(), ...entry, pid: process.pid })}\n`)
  }

  /** Takes in what was appended since, by whichever process. */
  private read(): void {
    if (!existsSync(this.path)) return
    const file = openSync(this.path, 'r')
    const buffer = Buffer.alloc(65_536)
    let text = this.rest
    for (let length = readSync(file, buffer, 0, buffer.length, this.offset); length > 0;) {
      text += buffer.toString('latin1', 0, length)
      this.offset += length
      length = readSync(file, buffer, 0, buffer.length, this.offset)
    }
    closeSync(file)
    const lines = text.split('\n')
    this.rest = lines.pop() ?? ''
    for (const line of lines) {
      const entry = JSON.parse(line) as Entry
      this.entries.set(`${entry.what} ${entry.key}`, entry)
    }
  }
}
