import { expect, test } from 'vitest'
import { scheduleWords } from '../../src/dashboard/page/schedule-words.ts'

test.each([
  ['0 3 * * 1-5', 'At 03:00, Monday through Friday'],
  ['@daily', 'At 00:00, every day'],
  ['*/10 * * * * *', 'Every 10 seconds'],
  ['30 23 L * *', 'At 23:30, on the last day of the month'],
  ['@every 90s', 'Every 90 seconds'],
  ['@every 1h', 'Every hour'],
  ['@every 1.5d', 'Every 1.5 days'],
  ['@every 250ms', 'Every 250 ms'],
  ['nonsense', null],
])('the schedule %s is in words: %s', (spec, words) => {
  expect(scheduleWords(spec)).toBe(words)
})
