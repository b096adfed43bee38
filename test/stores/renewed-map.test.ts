import * as fc from 'fast-check'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { RenewedMap } from '../../src/core/renewed-map.ts'

test('a map that is renewed does what a map does', () => {
  const act = fc.tuple(fc.constantFrom('set', 'set', 'delete', 'delete', 'get', 'clear'), fc.nat(40), fc.nat())
  const acts = fc.array(act, { maxLength: 400, size: 'max' })
  fc.assert(
    fc.property(acts, (all) => {
      const [map, plain] = [new RenewedMap<number, number>(), new Map<number, number>()]
      for (const [what, key, value] of all) {
        if (what === 'set') {
          map.set(key, value)
          plain.set(key, value)
        } else if (what === 'delete') {
          map.delete(key)
          plain.delete(key)
        } else if (what === 'clear' && value % 50 === 0) {
          map.clear()
          plain.clear()
        } else expect(map.get(key)).toBe(plain.get(key))
        expect(map.size).toBe(plain.size)
      }
      expect([...map]).toEqual([...plain])
      expect([...map.values()]).toEqual([...plain.values()])
    }),
  )
})

test('of entries that are kept the oldest go, and one that is kept again is the newest', () => {
  const map = new RenewedMap<string, number>()
  for (const [i, key] of ['a', 'b', 'c', 'a', 'd', 'e'].entries()) map.keep(key, i, 3)
  expect([...map]).toEqual([
    ['a', 3],
    ['d', 4],
    ['e', 5],
  ])
})

/** By how much the heap grows where entries come and go and the young objects alone are collected. */
function growth(map: { set(key: number, value: unknown): unknown; delete(key: number): unknown }): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void
  collect()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < 20_000; i++) {
    map.set(i, { text: Array.from({ length: 50 }, (_, n) => n) })
    map.delete(i - 100)
    if (i % 2_000 === 0) collect({ type: 'minor' })
  }
  collect({ type: 'minor' })
  return process.memoryUsage().heapUsed - before
}

test('entries that have left it do not wait for a full collection', () => {
  expect(growth(new RenewedMap())).toBeLessThan(4_000_000)
})
