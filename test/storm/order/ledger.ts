/** What the ledger of the example must say of each order, whatever has become of the processes. */
import { closeSync, openSync, readSync } from 'node:fs'
import type { Entry as NewEntry } from '../../../examples/order/ledger.ts'

export type Entry = NewEntry & { readonly at: number; readonly pid: number }

export const ledgerPromises = {
  once: 'each idempotency key is completed once at most, and each effect of an order has one key',
  whole: 'each order was charged, shipped or refunded, written to, and has ended so',
  timers: 'timers fire at their deadline, which no crash puts off',
} as const

export type LedgerPromise = keyof typeof ledgerPromises

export type Tell = (promise: LedgerPromise, message: string) => void

export type LateMsMax = (dueAt: number, firedAt: number) => number

/** A clock may be a moment behind another look at it. */
const earlyMs = 2

export interface Writer {
  readonly firstAt: number
  readonly lastAt: number
}

/** What processes have written to the ledger so far, and when: reads only what is new each time. */
export class LedgerTail {
  private readonly path: string
  private offset = 0
  private rest = ''
  /** When each process wrote first and last, ms since the epoch. */
  private readonly writers = new Map<number, Writer>()
  private readonly buffer = Buffer.alloc(65_536)

  constructor(path: string) {
    this.path = path
  }

  /** null: the process has not written anything. */
  writer(pid: number | undefined): Writer | null {
    return pid === undefined ? null : (this.writers.get(pid) ?? null)
  }

  /** Reads what is new. Was there anything? */
  read(): boolean {
    const before = this.offset
    const file = openSync(this.path, 'a+')
    try {
      for (let bytes = this.next(file); bytes > 0; bytes = this.next(file)) this.offset += bytes
    } finally {
      closeSync(file)
    }
    return this.offset > before
  }

  private next(file: number): number {
    const bytes = readSync(file, this.buffer, 0, this.buffer.length, this.offset)
    // The ledger is ASCII: no character is cut.
    const lines = (this.rest + this.buffer.toString('latin1', 0, bytes)).split('\n')
    this.rest = lines.pop() ?? ''
    for (const line of lines) {
      const { pid, at } = JSON.parse(line) as Entry
      this.writers.set(pid, { firstAt: this.writers.get(pid)?.firstAt ?? at, lastAt: at })
    }
    return bytes
  }
}

/**
 * @param orders as many as were ordered
 * @param lateMsMax how late a timer may be that was due and fired at these times
 * @returns how late each timer was
 */
export function checkLedger(entries: readonly Entry[], orders: number, lateMsMax: LateMsMax, tell: Tell): number[] {
  const byOrder = Map.groupBy(entries, ({ order }) => order)
  const lates: number[] = []
  for (let n = 1; n <= orders; n++) {
    const id = `order-${n}`
    const its = byOrder.get(id) ?? []
    checkEffects(id, its, n % 5 === 0, tell)
    if (n % 2 === 1) lates.push(...checkTimer(id, its, lateMsMax, tell))
    else if (its.some(({ what }) => what === 'fired')) tell('timers', `${id} was approved, and its timer has fired`)
    byOrder.delete(id)
  }
  for (const id of byOrder.keys()) tell('whole', `nobody has ordered ${id}`)
  return lates
}

function checkEffects(id: string, its: readonly Entry[], goesBack: boolean, tell: Tell): void {
  const completed = its.filter(({ what }) => what === 'completed')
  for (const [key, times] of Map.groupBy(completed, (entry) => entry.key)) {
    if (times.length > 1) tell('once', `${key} was completed ${times.length} times`)
    const begun = its.some((entry) => entry.what === 'begun' && entry.key === key)
    if (!begun) tell('whole', `${key} was completed and never begun`)
  }
  const wanted = goesBack ? ['charge', 'email', 'refund'] : ['charge', 'email', 'ship']
  const effects = completed.map(({ effect }) => effect ?? '').toSorted()
  if (effects.join(' ') !== wanted.join(' ')) tell('whole', `${id}: ${effects.join(' ')}, not ${wanted.join(' ')}`)
  for (const [effect, times] of Map.groupBy(
    its.filter(({ what }) => what === 'begun'),
    (entry) => entry.effect,
  )) {
    const keys = new Set(times.map(({ key }) => key))
    if (keys.size > 1) tell('once', `the ${effect} of ${id} was begun under ${[...keys].join(' and ')}`)
  }
  const states = new Set(its.filter(({ what }) => what === 'ended').map(({ state }) => state))
  const end = goesBack ? 'refunded' : 'shipped'
  if (states.size !== 1 || !states.has(end))
    tell('whole', `${id} has ended as ${[...states].join(' and ')}, not ${end}`)
}

function checkTimer(id: string, its: readonly Entry[], lateMsMax: LateMsMax, tell: Tell): number[] {
  const [set, ...others] = new Set(its.flatMap(({ deadline }) => deadline ?? []))
  const fired = its.filter(({ what }) => what === 'fired')
  if (set === undefined || fired.length === 0) {
    tell('timers', `the timer of ${id} was not set, or has not fired`)
    return []
  }
  if (others.length > 0) tell('timers', `the deadline of ${id} was put off: ${[set, ...others].join(', ')}`)
  const lateMs = Math.min(...fired.map(({ at }) => at)) - set
  if (lateMs < -earlyMs) tell('timers', `the timer of ${id} fired ${-lateMs} ms early`)
  const max = lateMsMax(set, set + lateMs)
  if (lateMs > max) tell('timers', `the timer of ${id} fired ${lateMs} ms late, of ${max}`)
  return [lateMs]
}
