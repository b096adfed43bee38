/** Mutants of the SQLite store: a few are hunted here, all by `npm run mutants`. */
import { expect, test } from 'vitest'
import { mistaken } from '../support/source-copy.ts'
import { hunt } from './hunt.ts'
import { mutants } from './mutants.ts'

test('every mutant has a name of its own, and makes its mistake in a place that is there once', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  for (const mutant of mutants) expect(mistaken(mutant), mutant.name).not.toBe('')
  expect(() => mistaken({ name: 'none', file: 'src/core/version.ts', right: 'no such text', wrong: '' })).toThrow(
    /once/,
  )
})

test('mutants are noticed, and a change that is none is not', async () => {
  const names = ['the token is not compared', 'a paused queue gives jobs']
  const some = mutants.filter(({ name }) => names.includes(name))
  const by = 'test/core/settlement.test.ts'
  const harmless = {
    name: 'no mistake',
    file: 'src/core/settlement.ts',
    right: 'export type',
    wrong: '/* */ export type',
    by,
  }
  const sightings = await hunt([...some, harmless], 2)
  const noticed = Object.fromEntries(sightings.map(({ mutant, noticedBy }) => [mutant.name, noticedBy]))
  expect(noticed).toEqual({
    [names[0] ?? '']: expect.stringContaining('settle: a stale token'),
    [names[1] ?? '']: expect.stringContaining('claim: a claim of a paused queue returns no jobs'),
    'no mistake': null,
  })
})
