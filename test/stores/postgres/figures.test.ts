/** Figures that are read while the server is taken for another one, and written down while others hold their row. */
import { expect, test } from 'vitest'
import { FigureReader } from '../../../src/stores/postgres/figures.ts'
import { noFigures } from '../../../src/stores/remote/figures.ts'

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
  const reader = new FigureReader(async (_text, [upto] = []) => {
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
  const reader = new FigureReader(async (text, [upto] = []) => {
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

test('a sum is written down of the types that have changed since the last one that is known', async () => {
  const types = ['mail', 'import']
  let [folded, moves] = [0, 0]
  const bodies = new Map<number, unknown[]>()
  const written: (readonly string[])[] = []
  const reader = new FigureReader(async (text, [upto, to, names] = []) => {
    if (text.includes('.fold(')) {
      const isFirst = upto === folded
      if (isFirst) [folded] = [to as number, written.push(names as string[])]
      return [[isFirst]]
    }
    if (text.includes('FROM jobs.folds')) return [[folded]]
    const sums = folded > (upto as number) ? types.map((type) => [1, null, type, JSON.stringify(noFigures)]) : []
    const later = [...bodies].filter(([number]) => number > Math.max(upto as number, folded))
    return [[0, folded, null, null, moves], ...sums, ...later.map(([, row]) => row)]
  }, 'jobs')
  const moved = async (count: number, type: string): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const body = { now: 0, moves: [{ ...queued, type }], activity: [], failures: [], outcomes: [], paused: [] }
      bodies.set(++moves, [2, moves, null, JSON.stringify(body), moves])
      await reader.foldIfMany(moves - folded)
    }
  }
  await moved(250, 'import')
  await moved(250, 'mail')
  expect(written).toEqual([['mail', 'import']])
  await moved(500, 'mail')
  expect(written[1]).toEqual(['mail'])
  // Another process has written a sum down, and what this one knows was forgotten: it reads that sum first.
  folded = moves
  reader.forget()
  await moved(500, 'import')
  expect(written[2]).toEqual(['import'])
  // The sum is one that this process knows nothing of.
  await moved(499, 'import')
  folded = 1
  await moved(1, 'import')
  expect(new Set(written[3])).toEqual(new Set(types))
})
