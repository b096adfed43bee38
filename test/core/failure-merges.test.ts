/** Groups of failures that are put together, and told as one. */
import { expect, test } from 'vitest'
import { mergedGroups, mergesAfter, type FailureMerge } from '../../src/core/failure-merges.ts'
import type { FailureGroup } from '../../src/core/figures.ts'

const group = (fingerprint: string, figures: Partial<FailureGroup> = {}): FailureGroup => ({
  type: 'order',
  fingerprint,
  name: 'Error',
  code: null,
  message: `message ${fingerprint}`,
  count: 1,
  dead: 0,
  firstAt: 5,
  lastAt: 5,
  lastId: `last of ${fingerprint}`,
  ...figures,
})

const merge = (...fingerprints: string[]): FailureMerge => ({ type: 'order', fingerprints })

test('a merge takes in those that were merged with one of its groups before, and no other type', () => {
  const before = [merge('a', 'b'), merge('c', 'd'), { type: 'mail', fingerprints: ['a', 'z'] }]
  expect(mergesAfter(before, { type: 'order', together: ['x', 'b', 'x'] })).toEqual([
    merge('c', 'd'),
    { type: 'mail', fingerprints: ['a', 'z'] },
    merge('x', 'b', 'a'),
  ])
  expect(mergesAfter(before, { type: 'order', together: ['d', 'a'] })).toEqual([
    { type: 'mail', fingerprints: ['a', 'z'] },
    merge('d', 'a', 'b', 'c'),
  ])
})

test('a group that is taken out stands for itself; one that is left alone, too', () => {
  const before = [merge('a', 'b', 'c'), merge('d', 'e')]
  expect(mergesAfter(before, { type: 'order', apart: ['a', 'e'] })).toEqual([merge('b', 'c')])
  expect(mergesAfter(before, { type: 'mail', apart: ['a', 'e'] })).toEqual(before)
})

test('no more than a thousand merges are kept', () => {
  const before = Array.from({ length: 1_000 }, (_, i) => merge(`${i} a`, `${i} b`))
  expect(() => mergesAfter(before, { type: 'order', together: ['x', 'y'] })).toThrow(/more than/)
  expect(mergesAfter(before, { type: 'order', together: ['x', '7 a'] })).toHaveLength(1_000)
})

test('the figures of merged groups are those of all; the first one that there is names them', () => {
  const groups = [
    group('c', { lastAt: 9, count: 2, dead: 1 }),
    group('other', { lastAt: 8 }),
    group('b', { lastAt: 7, firstAt: 1, count: 10, dead: 4 }),
    group('b', { type: 'mail', lastAt: 6 }),
  ]
  const [merged, other, mail, ...none] = mergedGroups(groups, [merge('gone', 'b', 'c')])
  expect(merged).toEqual({
    ...groups[2],
    count: 12,
    dead: 5,
    lastAt: 9,
    lastId: 'last of c',
    fingerprints: ['b', 'c', 'gone'],
  })
  expect(other).toEqual({ ...groups[1], fingerprints: ['other'] })
  expect(mail).toEqual({ ...groups[3], fingerprints: ['b'] })
  expect(none).toEqual([])
})
