/** The engine with one mistake at a time, in a copy of the sources: the simulation must notice. */
import { afterAll, expect, test } from 'vitest'
import { Copy } from './mutate.ts'
import { mutants } from './mutants.ts'

const copy = new Copy()
afterAll(() => copy.remove())

test.each(mutants)('it is noticed when $name', async (mutant) => {
  const { caught, output } = await copy.simulate(mutant, ['--from', String(mutant.seed), '--seeds', '1'])
  expect(caught, output).toBe(true)
})
