/** What the ledger of the example must say of each order, whatever has become of the processes. */
import { readFileSync } from 'node:fs'
import type { Entry as NewEntry } from '../../../examples/order/ledger.ts'

export type Entry = NewEntry & { readonly at: number; readonly pid: number }

export const ledgerPromises = {
  once: 'each idempotency key is completed once at most, and each effect of an order has one key',
  whole: 'each order was charged, shipped or refunded, written to, and has ended so',
  timers: 'timers fire at their deadline, which no crash puts off',
} as const

export type LedgerPromise = keyof typeof ledgerPromises

export type Tell = (promise: LedgerPromise, message: string) => void

/** A clock may be a moment behind another look at it. */
const earlyMs = 2

export const readLedger = (path: string): Entry[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Entry)

/** @param orders as many as were ordered @returns how late each timer was */
export function checkLedger(entries: readonly Entry[], orders: number, lateMsMax: number, tell: Tell): number[] {
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

function checkTimer(id: string, its: readonly Entry[], lateMsMax: number, tell: Tell): number[] {
  const [set, ...others] = new Set(its.flatMap(({ deadline }) => deadline ?? []))
  const fired = its.filter(({ what }) => what === 'fired')
  if (set === undefined || fired.length === 0) {
    tell('timers', `the timer of ${id} was not set, or has not fired`)
    return []
  }
  if (others.length > 0) tell('timers', `the deadline of ${id} was put off: ${[set, ...others].join(', ')}`)
  const lateMs = Math.min(...fired.map(({ at }) => at)) - set
  if (lateMs < -earlyMs) tell('timers', `the timer of ${id} fired ${-lateMs} ms early`)
  if (lateMs > lateMsMax) tell('timers', `the timer of ${id} fired ${lateMs} ms late, of ${lateMsMax}`)
  return [lateMs]
}
