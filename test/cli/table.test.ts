import { expect, test } from 'vitest'
import { table, type Column } from '../../src/cli/table.ts'
import { duration, oneLine } from '../../src/cli/words.ts'
import { innermost } from '../../src/core/state-paths.ts'

interface Row {
  readonly id: string
  readonly type: string
  readonly tags: string
}

const columns: readonly Column<Row>[] = [
  { title: 'ID', text: ({ id }) => id },
  { title: 'TYPE', text: ({ type }) => type, flexible: true },
  { title: 'TAGS', text: ({ tags }) => tags, optional: 1 },
]
const rows: readonly Row[] = [
  { id: 'a', type: 'a.long.type.of.job', tags: 'one two' },
  { id: 'bb', type: 'b', tags: '' },
]
const at = (width: number | null): string[] =>
  table(rows, columns, { columns: width, style: (_, text) => text }).split('\n')

test('a table is cut to the terminal: a flexible column a little, then the optional ones go, then it is cut short', () => {
  expect(at(null)).toEqual(['ID  TYPE                TAGS', 'a   a.long.type.of.job  one two', 'bb  b'])
  expect(at(30)).toEqual(['ID  TYPE               TAGS', 'a   a.long.type.of.j…  one two', 'bb  b'])
  expect(at(24)).toEqual(['ID  TYPE', 'a   a.long.type.of.job', 'bb  b'])
  expect(at(18)).toEqual(['ID  TYPE', 'a   a.long.type.o…', 'bb  b'])
  for (const width of [12, 18, 24, 31, 80]) {
    expect(Math.max(...at(width).map((line) => line.length))).toBeLessThanOrEqual(width)
  }
})

test('a column is as wide as a terminal draws it: two columns for Chinese and emoji, none for what joins', () => {
  const names = ['发送邮件', 'نقل', '👨‍👩‍👧.go', 'e\u0301te\u0301', '▸ ✓ ©', '✉️', 'नमन']
  const wide = names.map((type) => ({ id: type, type: '|', tags: '' }))
  const [, ...lines] = table(wide, columns, { columns: null, style: (_, text) => text }).split('\n')
  const spaces = [2, 7, 5, 7, 5, 8, 7]
  expect(lines).toEqual(names.map((name, index) => `${name}${' '.repeat(spaces[index] ?? 0)}|`))
  const long = [{ id: 'a', type: '发送邮件的工作队列很长', tags: '' }]
  const [, cut] = table(long, columns, { columns: 19, style: (_, text) => text }).split('\n')
  expect(cut).toBe('a   发送邮件的工作…')
})

test('what a job says cannot steer the terminal', () => {
  expect(oneLine('a\u001B[2Jb\nc\td')).toBe('a\uFFFD[2Jb c d')
})

test('durations have two units at most', () => {
  expect([0, 999, 61_000, 7_500_000, 90_000_000, 172_800_000].map(duration)).toEqual([
    '0 ms',
    '999 ms',
    '1 min 1 s',
    '2 h 5 min',
    '1 d 1 h',
    '2 d',
  ])
})

test('of the states that a machine stands in, the innermost are shown', () => {
  expect(innermost(['paid', 'paid.shipping', 'paid.shipping.packed', 'open'])).toEqual(['paid.shipping.packed', 'open'])
})
