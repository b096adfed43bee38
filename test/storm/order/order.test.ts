/** The short form of the storm around the example of orders, and the proof that its verdict can be bad. */
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkLedger, type Entry } from './ledger.ts'
import { stormOrders } from './storm.ts'

const small = { kills: 6, workers: 4, ordersPerWave: 100, leaseMs: 1_000 }

test('orders come to their ends, each effect once, while processes die', async () => {
  const stormsMax = 5
  let rescues = 0
  // A calm proves little: so there are storms until a process has left something behind.
  for (let seed = 1; rescues === 0 && seed <= stormsMax; seed++) {
    const { broken, figures, folder } = await stormOrders({ ...small, seed }, () => {})
    expect(broken, folder).toEqual([])
    expect(figures.killed).toBe(small.kills)
    expect(figures.timers).toBe(figures.orders / 2)
    expect(existsSync(folder)).toBe(false)
    rescues += figures.rescues
  }
  expect(rescues).toBeGreaterThan(0)
})

const entry = (what: Entry['what'], more: Partial<Entry>): Entry => {
  return { order: 'order-1', key: what, what, at: 1_000, pid: 1, ...more }
}

const effect = (name: NonNullable<Entry['effect']>, key = name as string): Entry[] => [
  entry('begun', { key, effect: name }),
  entry('completed', { key, effect: name, result: 'done' }),
]

/** Of an order that is shipped when its timer fires. */
const sound = [
  ...effect('charge'),
  entry('timer', { deadline: 1_300 }),
  entry('fired', { deadline: 1_300, at: 1_310 }),
  ...effect('ship'),
  ...effect('email'),
  entry('ended', { state: 'shipped' }),
]

function found(entries: readonly Entry[]): string[] {
  const promises: string[] = []
  checkLedger(
    entries,
    1,
    () => 500,
    (promise) => promises.push(promise),
  )
  return [...new Set(promises)]
}

const without = (wanted: Entry['what']): Entry[] => sound.filter(({ what }) => what !== wanted)

test('a ledger in order is found in order', () => {
  expect(found(sound)).toEqual([])
  expect(found([entry('begun', { key: 'charge', effect: 'charge' }), ...sound]), 'begun again').toEqual([])
})

test.each<[promise: string, what: string, entries: Entry[]]>([
  ['once', 'a key is completed twice', [...sound, ...effect('charge')]],
  ['once', 'an effect has two keys', [...sound, entry('begun', { key: 'other', effect: 'charge' })]],
  ['whole', 'an effect is missing', sound.filter((each) => each.effect !== 'email')],
  ['whole', 'it is shipped and refunded', [...sound, ...effect('refund')]],
  ['whole', 'its end is not written', without('ended')],
  ['whole', 'it has ended otherwise', [...without('ended'), entry('ended', { state: 'refunded' })]],
  ['whole', 'nobody has ordered it', [...sound, entry('ended', { order: 'order-2', state: 'shipped' })]],
  ['timers', 'it does not fire', without('fired')],
  ['timers', 'it fires early', [...without('fired'), entry('fired', { deadline: 1_300, at: 1_200 })]],
  ['timers', 'it fires late', [...without('fired'), entry('fired', { deadline: 1_300, at: 1_900 })]],
  ['timers', 'its deadline is put off', [...without('fired'), entry('fired', { deadline: 1_400, at: 1_410 })]],
])('%s is broken if %s', (promise, _what, entries) => {
  expect(found(entries)).toContain(promise)
})
