/** The transition log of a file: transitions of a transaction are a row, and those of jobs that move alike a group. */
import { expect, test } from 'vitest'
import { seededRandom } from '../../src/core/clock.ts'
import { checkpointArrow, enqueueArrow } from '../../src/core/history.ts'
import { LogWriter, movesAfter } from '../../src/stores/sqlite/log.ts'

type Added = Parameters<LogWriter['add']>

/** What is written of these transitions, and what is read of it. */
function logged(added: readonly Added[], savepointAt?: number): { readonly text: string; readonly read: unknown[] } {
  let text = ''
  const run = (name: string, ...values: unknown[]): void => {
    if (name === 'append') text = String(values[3])
  }
  const writer = new LogWriter({ run } as never, 1_000_000)
  writer.begin(1)
  for (const [i, transition] of added.entries()) {
    if (i === savepointAt) writer.mark()
    writer.add(...transition)
  }
  writer.endMark(true)
  writer.write(added.length, 50)
  const all = (name: string, jobs: unknown): unknown[] =>
    name === 'logAfter' ? [[1, 50, text]] : (JSON.parse(String(jobs)) as number[]).map((job) => [job, `job ${job}`])
  const file = { sql: { all }, queues: { at: (queue: number) => ({ type: `type ${queue}` }) } }
  return { text, read: [...movesAfter(file as never, 0, -1)] }
}

const expectedOf = (added: readonly Added[]): unknown[] =>
  added.map(([queue, job, { event, from, to }, attempt, worker, reason], i) => ({
    ...{ id: `job ${job}`, type: `type ${queue}`, seq: i + 1, at: 50, event, from, to, attempt },
    ...(worker !== null && { worker }),
    ...(reason !== null && { reason }),
  }))

test('transitions are read as they were written, whichever jobs have moved alike', () => {
  const arrows = [checkpointArrow('running'), checkpointArrow('cancelling'), enqueueArrow('queued')]
  for (let seed = 1; seed <= 300; seed++) {
    const random = seededRandom(seed)
    const one = (most: number): number => Math.floor(random() * most)
    const added: Added[] = []
    for (let job = 1; job <= 12; job++) {
      // A job may come again later.
      const number = one(6) === 0 ? one(job) + 1 : job
      for (let moves = one(3) + 1; moves > 0; moves--) {
        const arrow = arrows[moves === 1 ? 0 : one(arrows.length)] ?? checkpointArrow('running')
        added.push([one(8) === 0 ? 2 : 1, number, arrow, 1, 'w', one(8) === 0 ? 'why' : null])
      }
    }
    const savepointAt = one(2) === 0 ? one(added.length) : undefined
    expect(logged(added, savepointAt).read, `seed ${seed}`).toEqual(expectedOf(added))
  }
})

test('a hundred machines that end, each with its last checkpoint, are one group', () => {
  const [checkpoint, end] = [checkpointArrow('running'), { event: 'COMPLETE', from: 'running', to: 'done' } as const]
  const added = Array.from({ length: 100 }, (_, i): Added[] => [
    [1, i + 1, checkpoint, 1, 'w', 'GO → last'],
    [1, i + 1, end, 1, 'w', null],
  ]).flat()
  const { text, read } = logged(added)
  expect(JSON.parse(text)).toHaveLength(1)
  expect(read).toEqual(expectedOf(added))
})
