/** The memory store against the naive one: random commands, shrunk to the few that matter if they ever disagree. */
import * as fc from 'fast-check'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { decode, geneMax, genesPerCommand, type Command } from '../../src/store-testing/conformance/commands.ts'
import { SideBySide } from '../../src/store-testing/conformance/side-by-side.ts'
import { handClock } from './hand-clock.ts'

const command = fc.array(fc.nat(geneMax), { maxLength: genesPerCommand, size: 'max' })

const commands = fc.array(command, { maxLength: 60, size: 'max' }).map((genes): Command[] => {
  let fresh = 0
  return genes.map((each) => decode(each, () => `n${++fresh}`))
})

/**
 * Runs random sequences of commands on both stores and compares every answer.
 * @throws Error that names the seed and the shortest sequence on which they disagree
 */
export async function compareWithNaive(sequences: number, seed?: number): Promise<void> {
  const agrees = fc.asyncProperty(commands, async (sequence) => {
    const clock = handClock()
    const pair = new SideBySide({ store: memoryStore({ clock }), advance: (ms) => clock.advance(ms) })
    for (const each of sequence) await pair.run(each)
    await pair.verdict(1)
  })
  await fc.assert(agrees, { numRuns: sequences, ...(seed !== undefined && { seed }) })
}
