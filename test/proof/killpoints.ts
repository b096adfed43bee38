/** Kills a process at every point of a script on a SQLite file, and within every frame of its commits. */
import { availableParallelism } from 'node:os'
import { dieAtEach, playThrough } from '../stores/sqlite/kill-points.ts'
import { dieWithinCommits } from '../stores/sqlite/torn-commits.ts'
import type { Proof } from './proof.ts'

export const killpoints: Proof = {
  name: 'killpoints',
  claim: 'whenever a process dies, what a SQLite file has answered is there, the rest wholly or not at all',
  async run() {
    const reference = await playThrough()
    const points = Array.from({ length: reference.points }, (_, point) => point)
    const wrong = await dieAtEach(points, reference, availableParallelism() + 1)
    const failures = [...wrong].map(([point, error]) => `point ${point}: ${String(error)}`)
    const cuts = await dieWithinCommits(reference, 1).catch((error: Error) => void failures.push(error.message))
    return { summary: `${points.length} kills and ${cuts ?? 'no'} cuts`, failures }
  },
}
