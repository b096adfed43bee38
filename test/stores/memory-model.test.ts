import { test } from 'vitest'
import { compareWithNaive } from './memory-model.ts'

/** `npm run proof -- --only model` runs 10,000. */
const sequences = 1_000

test(`${sequences} random sequences of commands get the very answers of the naive model`, () =>
  compareWithNaive(sequences))
