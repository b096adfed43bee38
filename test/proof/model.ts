/** The memory store against the naive model of the contract: 10,000 random sequences of commands. */
import { compareWithNaive } from '../stores/memory-model.ts'
import type { Proof } from './proof.ts'

const sequences = 10_000

export const model: Proof = {
  name: 'model',
  claim: 'the memory store gives the very answers of the naive model of the contract',
  async run({ seed, scale }) {
    const failures: string[] = []
    await compareWithNaive(sequences * scale, seed).catch((error: Error) => failures.push(error.message))
    return { summary: `${sequences * scale} sequences of up to 60 commands`, failures }
  },
}
