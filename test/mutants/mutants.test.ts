/**
 * The faults of the SQLite store, of stores over a round trip and of the core: each is noticed by the case that is
 * named for it. The short form tries every fourth one; all mutants, all cases: `LONG=1 npm run mutants`.
 */
import { expect, test } from 'vitest'
import { inMethod } from '../support/faults.ts'
import { isLong } from '../harness/long-form.ts'
import { runProgram } from '../harness/processes.ts'
import { hunt } from './hunt.ts'
import { mutants, shortEvery } from './mutants.ts'

const main = new URL('main.ts', import.meta.url)

test('every mutant has a name of its own', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
})

test('every mutant that is tried is noticed', async () => {
  const { exitCode, stdout, stderr } = await runProgram(main)
  expect(
    stdout.split('\n').filter((line) => line.includes('NOBODY')),
    stderr,
  ).toEqual([])
  const tried = isLong ? mutants.length : Math.ceil(mutants.length / shortEvery)
  expect(stdout).toContain(`${tried} of ${tried} mutants noticed`)
  expect(exitCode, stderr).toBe(0)
})

test('a fault is noticed by the first case that fails, and one that changes nothing by none', async () => {
  const clocks = () => import('../../src/testing/virtual-clock.ts')
  const { VirtualClock } = await clocks()
  const cases = new Map([
    ['it begins at 5', async () => expect(new VirtualClock({ start: 5 }).now()).toBe(5)],
    ['it begins at 7', async () => expect(new VirtualClock({ start: 7 }).now()).toBe(7)],
  ])
  const mutants = [
    { name: 'always 5', noticedBy: 'it begins at 5', fault: inMethod(clocks, 'VirtualClock', 'now', () => () => 5) },
    { name: 'sound', noticedBy: 'it begins at 5', fault: inMethod(clocks, 'VirtualClock', 'now', (now) => now) },
  ]
  const noticedBy = async (others: boolean) =>
    (await hunt(mutants, cases, others)).map((sighting) => sighting.noticedBy)
  expect(await noticedBy(true)).toEqual(['it begins at 7', null])
  expect(await noticedBy(false)).toEqual([null, null])
  expect(new VirtualClock({ start: 7 }).now()).toBe(7)
})
