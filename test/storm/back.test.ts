import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { judgeBack, type Witness } from './back.ts'

/** A folder with the histories of workers: operation and time of their answers. */
function histories(answers: Readonly<Record<string, readonly (readonly [op: string, at: number])[]>>): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  for (const [name, all] of Object.entries(answers)) {
    const lines = all.map(([op, at], call) => `${JSON.stringify({ op, call: `${name} ${call}`, at, ok: [] })}\n`)
    writeFileSync(join(folder.path, `${name}.ndjson`), lines.join(''))
  }
  return folder.path
}

const witness = (name: string, from: number, until = Infinity): Witness => ({ name, from, until })

test('the first answer after the return of the server counts, of the slowest worker', () => {
  const folder = histories({
    a: [
      ['claim', 900],
      ['extend', 1_200],
      ['claim', 9_000],
    ],
    b: [['claim', 4_000]],
  })
  const witnesses = [witness('a', 1_000, 20_000), witness('b', 1_000, 20_000)]
  expect(judgeBack(witnesses, folder)).toEqual({ broken: [], seen: 2, slowestMs: 3_000 })
})

test('a worker without an answer for more than five seconds is found out, also if it lives on', () => {
  const folder = histories({ late: [['claim', 6_001]], never: [], idle: [['run', 1_500]] })
  const witnesses = [witness('late', 1_000, 9_000), witness('never', 1_000), witness('idle', 1_000, 7_000)]
  expect(judgeBack(witnesses, folder).broken.map(({ message }) => message)).toEqual([
    'late had no answer for 5001 ms after its server was back',
    'never had no answer for Infinity ms after its server was back',
    'idle had no answer for 6000 ms after its server was back',
  ])
})

test('a worker that ended within five seconds proves nothing', () => {
  const folder = histories({ gone: [['claim', 7_000]] })
  expect(judgeBack([witness('gone', 1_000, 5_900)], folder)).toEqual({ broken: [], seen: 0, slowestMs: 0 })
})
