import { expect, test } from 'vitest'
import type { Json } from 'jobchart'
import { differencesOf } from '../../src/dashboard/difference.ts'

const said = (before: Json, after: Json): string[] =>
  differencesOf(before, after).list.map(({ path, kind, before: was, after: is }) =>
    [kind, path, JSON.stringify(was), JSON.stringify(is)].filter((part) => part !== undefined).join(' '),
  )

test('members that were added, removed or changed are told with their paths', () => {
  const before = { who: 'ada', at: { street: 'a', 'post code': 1 }, gone: null, same: [1, { a: 2 }] }
  const after = { who: 'bob', at: { street: 'a', 'post code': 2 }, same: [1, { a: 2 }], new: { deep: true } }
  expect(said(before, after)).toEqual([
    'changed who "ada" "bob"',
    'changed at["post code"] 1 2',
    'removed gone null',
    'added new {"deep":true}',
  ])
  expect(said(before, before)).toEqual([])
})

test('of lists what they begin and end with alike is left out', () => {
  expect(said([1, 2, 3], [1, 9, 2, 3])).toEqual(['added [1] 9'])
  expect(said({ a: [{ n: 1 }, { n: 2 }] }, { a: [{ n: 1 }, { n: 3 }] })).toEqual(['changed a[1].n 2 3'])
  expect(said([1, 1, 1], [1, 1])).toEqual(['removed [2] 1'])
  expect(said({ a: [] }, { a: {} })).toEqual(['changed a [] {}'])
})

test('a value itself, and names that every object has, are compared as well', () => {
  expect(said(1, 'x')).toEqual(['changed  1 "x"'])
  const proto = JSON.parse('{ "__proto__": { "a": 1 }, "toString": 1 }') as Json
  expect(said({}, proto)).toEqual(['added __proto__ {"a":1}', 'added toString 1'])
})

test('200 differences are told at most', () => {
  const { list, more } = differencesOf({}, Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, i])))
  expect([list.length, more]).toEqual([200, true])
})
