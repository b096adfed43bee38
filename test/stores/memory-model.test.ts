import { test } from 'vitest'
import { isLong } from '../harness/long-form.ts'
import { compareWithNaive } from './memory-model.ts'

/** `npm run proof -- --only model` runs 10,000. */
const sequences = isLong ? 1_000 : 400

test(`${sequences} random sequences of commands get the very answers of the naive model`, () =>
  compareWithNaive(sequences))
