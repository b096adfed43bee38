/** Figures that are read while the server is taken for another one. */
import { expect, test } from 'vitest'
import { FigureReader } from '../../../src/stores/postgres/figures.ts'

const queued = { type: 'mail', before: null, after: { state: 'queued' }, n: 1 }
const move = (number: number): unknown[] => {
  const body = { now: 0, moves: [queued], activity: [], failures: [], outcomes: [], paused: [] }
  return [2, number, null, JSON.stringify(body), number]
}

/** What a server has that has folded nothing. */
const answer = (upto: number, moves: number): unknown[][] => [
  [0, 0, null, null, moves],
  ...Array.from({ length: moves }, (_, n) => n + 1).flatMap((number) => (number > upto ? [move(number)] : [])),
]

test('an answer that was on its way when all was forgotten is not added to nothing', async () => {
  const asked: number[] = []
  const reader = new FigureReader(async (_text, [upto]) => {
    asked.push(upto as number)
    if (asked.length === 2) reader.forget()
    return answer(upto as number, 2 + asked.length)
  }, 'jobs')
  expect((await reader.read()).byType.get('mail')?.counts.queued).toBe(3)
  expect((await reader.read()).byType.get('mail')?.counts.queued).toBe(5)
  expect(asked).toEqual([-1, 3, -1])
})
