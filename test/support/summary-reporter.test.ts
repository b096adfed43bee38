import { expect, test } from 'vitest'
import { summarise, summaryLine } from './summary-reporter.ts'

const file = (state: 'passed' | 'failed', ...tests: string[]) => ({
  state: () => state,
  children: { allTests: () => tests.map((result) => ({ result: () => ({ state: result }) })) },
})

test('the last line of a run counts what passed and what failed, and names skips only when there are any', () => {
  expect(summaryLine(summarise([file('passed', 'passed', 'passed'), file('failed', 'failed')], 0))).toBe(
    '2 passed, 1 failed',
  )
  expect(summaryLine(summarise([file('passed', 'passed', 'skipped')], 0))).toBe('1 passed, 0 failed, 1 skipped')
})

test('a file that cannot be loaded and an error that nobody handled are failures too', () => {
  expect(summaryLine(summarise([file('failed'), file('passed', 'passed')], 1))).toBe('1 passed, 2 failed')
})
