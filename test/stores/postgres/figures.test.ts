/** Figures that are read while the server is taken for another one, and written down while others hold their row. */
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

test('a sum that cannot be written down is tried again after as many moves, and not with each of them', async () => {
  let [tries, held] = [0, true]
  let folded = 0
  let moves = 0
  const reader = new FigureReader(async (text, [upto]) => {
    if (text.includes('.fold(')) {
      tries++
      if (!held) folded = moves
      return [[!held]]
    }
    if (text.includes('FROM jobs.folds') && !text.includes('UNION')) return [[folded]]
    return answer(upto as number, moves)
  }, 'jobs')
  const moved = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await reader.foldIfMany(++moves - folded)
  }
  await moved(499)
  expect(tries).toBe(0)
  await moved(1)
  expect(tries).toBe(1)
  await moved(499)
  expect(tries).toBe(1)
  held = false
  await moved(1)
  expect([tries, folded]).toEqual([2, 1_000])
  await moved(499)
  expect(tries).toBe(2)
  await moved(1)
  expect(tries).toBe(3)
})
