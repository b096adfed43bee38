/** `npm run killpoints`: kills a process at every point of the script, and within every frame of its commits. */
import { availableParallelism } from 'node:os'
import { dieAtEach, playThrough } from './kill-points.ts'
import { dieWithinCommits } from './torn-commits.ts'

const reference = await playThrough()
const points = Array.from({ length: reference.points }, (_, point) => point)
console.error(`${points.length} points; a process dies at each: this takes some minutes`)
const start = performance.now()
const wrong = await dieAtEach(points, reference, availableParallelism() + 1)
const cuts = await dieWithinCommits(reference, 1)
for (const [point, error] of wrong) console.log(`point ${point}:`, error)
const seconds = Math.round((performance.now() - start) / 1_000)
console.log(`${points.length} kills and ${cuts} cuts in ${seconds} s: ${wrong.size} wrong`)
if (wrong.size > 0) process.exitCode = 1
