import { globSync, readFileSync } from 'node:fs'
import { toSvg, toText } from 'jobchart/chart'
import { expect, test } from 'vitest'
import { setup } from 'xstate'
import { counted } from '../../src/core/counted.ts'

const source = new URL('../../src/', import.meta.url)

/** A number, and a plural beside it, whatever the number is. */
const always =
  /\{(?:(?:number|grouped)\([^{}]*\)|[^{}]*\.(?:length|size)|(?:count|size|left|rest|hidden|more))\} (?:\w+ )?[a-z]+s\b(?<!\b(?:has|is|was|bytes|ms))/

/** Lines of the source that write a number with a plural, and do not ask whether it is 1. */
const wrong = (text: string): string[] =>
  text.split('\n').filter((line) => always.test(line) && !/=== 1|^ *(\/\/|\*)/.test(line))

test('what is said of numbers is said by `counted`, wherever one may come', () => {
  expect(wrong('`${number(jobs)} dead jobs`')).toHaveLength(1)
  expect(wrong('<b>{history.length} moves</b>\n{n.length === 1 ? `1 row` : `${n.length} rows`}')).toHaveLength(1)
  expect(wrong("`${counted(jobs, 'job')} of ${ids.length}`")).toEqual([])
  const files = globSync('**/*.{ts,tsx}', { cwd: source }).filter((name) => !/generated|^store-testing/.test(name))
  expect(files.length).toBeGreaterThan(300)
  const found = files.flatMap((name) =>
    wrong(readFileSync(new URL(name, source), 'utf8')).map((line) => `${name}: ${line.trim()}`),
  )
  expect(found).toEqual([])
})

test('one of a thing is not in the plural', () => {
  expect([0, 1, 2, 1_312].map((count) => counted(count, 'worker'))).toEqual([
    '0 workers',
    '1 worker',
    '2 workers',
    '1,312 workers',
  ])
  expect([1, 2].map((count) => counted(count, 'life', 'lives'))).toEqual(['1 life', '2 lives'])
})

test('a picture says so of one state, one transition and one job', async () => {
  const small = setup({}).createMachine({ id: 'small', initial: 'on', states: { on: { on: { NEXT: 'on' } } } })
  const svg = await toSvg(small, { counts: { on: 1 } })
  expect(svg).toContain('A statechart with 1 state and 1 transition.')
  expect(svg).toContain('on, state, 1 job')
  const deep = setup({}).createMachine({
    id: 'deep',
    initial: 'a',
    states: { a: { initial: 'b', states: { b: {} } } },
  })
  expect(toText(deep, { depth: 1 })).toContain('… 1 state\n')
})
