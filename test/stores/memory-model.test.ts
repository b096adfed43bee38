/** The memory store against the naive one: random commands, shrunk to the few that matter if they ever disagree. */
import * as fc from 'fast-check'
import { test } from 'vitest'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { decode, geneMax, genesPerCommand, type Command } from '../../src/testing/conformance/commands.ts'
import { SideBySide } from '../../src/testing/conformance/side-by-side.ts'
import { handClock } from './hand-clock.ts'

const command = fc.array(fc.nat(geneMax), { maxLength: genesPerCommand, size: 'max' })

const commands = fc.array(command, { maxLength: 60, size: 'max' }).map((genes): Command[] => {
  let fresh = 0
  return genes.map((each) => decode(each, () => `n${++fresh}`))
})

test('10,000 random sequences of commands get the very answers of the naive model', async () => {
  const agrees = fc.asyncProperty(commands, async (sequence) => {
    const clock = handClock()
    const pair = new SideBySide({ store: memoryStore({ clock }), advance: (ms) => clock.advance(ms) })
    for (const each of sequence) await pair.run(each)
    await pair.verdict(1)
  })
  await fc.assert(agrees, { numRuns: 10_000 })
})
