/** Nothing that is printed is obeyed by the terminal, wherever it is from. */
import { expect, test } from 'vitest'
import { inRoom } from '../../src/cli/commands/top.ts'
import { areQuitting, printable } from '../../src/cli/terminal.ts'

test('control and bidirectional characters are printed as escapes, and styles, tabs and lines as they are', () => {
  expect(printable('a\u001b]0;title\u0007b\u009b2Jc\u007f')).toBe('a\\u001b]0;title\\u0007b\\u009b2Jc\\u007f')
  expect(printable('pay \u202egpj.exe\u2066')).toBe('pay \\u202egpj.exe\\u2066')
  const fine = '\u001b[31mred\u001b[39m\ttab\nline é 🚀 日本'
  expect(printable(fine)).toBe(fine)
})

test('JSON stays JSON of the same value', () => {
  const value = { 'key\u0085': 'a\u009b31m\u202e\u001b\n' }
  const text = printable(JSON.stringify(value))
  expect(JSON.parse(text)).toEqual(value)
  expect(text).not.toMatch(/[\u007f-\u009f\u202e]/)
})

test('q, Escape and Ctrl-C quit, also among other keys, and arrows do not', () => {
  for (const keys of ['q', 'Q', '\u001b', '\u0003', 'qq', 'x\u0003', 'q\u0004'])
    expect(areQuitting(keys), keys).toBe(true)
  for (const keys of ['x', '', '\u001b[A', '\u001bOQ', '\r']) expect(areQuitting(keys), keys).toBe(false)
})

test('on a screen with more queues than rows, top has room for what runs', () => {
  const lines = (name: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${name}${i}`)
  expect(inRoom(lines('queue', 300), lines('run', 40), 6)).toEqual([...lines('queue', 3), ...lines('run', 3)])
  expect(inRoom(lines('queue', 300), lines('run', 2), 6)).toEqual([...lines('queue', 4), ...lines('run', 2)])
  expect(inRoom(lines('queue', 1), lines('run', 40), 6)).toEqual([...lines('queue', 1), ...lines('run', 5)])
  expect(inRoom(lines('queue', 3), [], 2)).toEqual(lines('queue', 2))
  expect(inRoom(lines('queue', 3), lines('run', 2), -1)).toEqual([])
  expect(inRoom(lines('queue', 3), lines('run', 2), Infinity)).toHaveLength(5)
})
