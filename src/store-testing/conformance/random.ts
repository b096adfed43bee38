/** Random sequences of commands, from seeds. */
import { seededRandom } from '../../core/clock.ts'
import { decode, geneMax, genesPerCommand, tickMs, type Command } from './commands.ts'
import { SideBySide } from './side-by-side.ts'
import type { Subject } from './subject.ts'

function randomCommands(seed: number, length: number): Command[] {
  const random = seededRandom(seed)
  let fresh = 0
  const freshId = (): string => `n${++fresh}`
  return Array.from({ length }, () => {
    const genes = Array.from({ length: genesPerCommand }, () => Math.floor(random() * (geneMax + 1)))
    return decode(genes, freshId)
  })
}

export interface RandomRuns {
  readonly seed: number
  readonly sequences: number
  readonly commands: number
}

/** Runs many sequences, each on a store of its own. A failure names the one seed that replays it. */
export async function agreesWithTheModel(create: () => Promise<Subject>, runs: RandomRuns): Promise<void> {
  for (let i = 0; i < runs.sequences; i++) {
    const seed = runs.seed + i
    const subject = await create()
    try {
      const pair = new SideBySide(subject)
      for (const command of randomCommands(seed, runs.commands)) await pair.run(command)
      await pair.verdict(tickMs)
    } catch (error) {
      throw new Error(`random sequence ${seed} (replay: { seed: ${seed}, sequences: 1 })`, { cause: error })
    } finally {
      await subject.close()
    }
  }
}
