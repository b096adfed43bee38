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

/** Those that show in one life of hundreds are hunted by `npm run simulate -- --mutants --seeds 8000`. */
const frequent = mutants.filter(({ seed }) => seed !== 'rare')

test.each(frequent)('it is noticed when $name', async (mutant) => {
  const { caught, output } = await copy.simulate(mutant, ['--from', String(mutant.seed), '--seeds', String(livesMax)])
  expect(caught, output).toBe(true)
})
