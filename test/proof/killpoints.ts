/** Kills a process at every point of a script on a SQLite file, and within every frame of its commits. */
import { availableParallelism } from 'node:os'
import { grouped } from '../../src/core/counted.ts'
import { Progress } from '../harness/progress.ts'
import { dieAtEach, playThrough } from '../stores/sqlite/kill-points.ts'
import { dieWithinCommits } from '../stores/sqlite/torn-commits.ts'
import type { Proof } from './proof.ts'

export const killpoints: Proof = {
  name: 'killpoints',
  claim: 'whenever a process dies, what a SQLite file has answered is there, the rest wholly or not at all',
  async run() {
    const reference = await playThrough()
    const points = Array.from({ length: reference.points }, (_, point) => point)
    const progress = new Progress()
    const say = (what: string) => (before: number, of: number) =>
      progress.say(() => `${grouped(before)} of ${grouped(of)} ${what}`)
    const killed = say('kills')
    const wrong = await dieAtEach(points, reference, availableParallelism() + 1, (before) =>
      killed(before, points.length),
    )
    const failures = [...wrong].map(([point, error]) => `point ${point}: ${String(error)}`)
    const cuts = await dieWithinCommits(reference, 1, say('cuts')).catch(
      (error: Error) => void failures.push(error.message),
    )
    progress.end()
    return { summary: `${points.length} kills and ${cuts ?? 'no'} cuts`, failures }
  },
}
