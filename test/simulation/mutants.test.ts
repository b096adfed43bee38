/** The engine with one mistake at a time, in a copy of the sources: the simulation must notice. */
import { afterAll, expect, test } from 'vitest'
import { Copy } from './mutate.ts'
import { mutants } from './mutants.ts'

/**
 * Lives that may pass before it is noticed. Any change of the engine makes other lives of the same seeds; a mistake that is
 * noticed in so few of them would pass unseen.
 */
const livesMax = 150

const copy = new Copy()
afterAll(() => copy.remove())

test.each(mutants)('it is noticed when $name', async (mutant) => {
  const { caught, output } = await copy.simulate(mutant, ['--from', String(mutant.seed), '--seeds', String(livesMax)])
  expect(caught, output).toBe(true)
})
