/**
 * `npm run storm:threads`: handlers in threads that crash, loop and are cancelled. Ends with 1 if a slot or a thread
 * was lost.
 */
import { parseArgs } from 'node:util'
import { stormThreads } from './threads/storm.ts'

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '1000' },
    slots: { type: 'string', default: '8' },
    seed: { type: 'string', default: `${Math.floor(Math.random() * 2 ** 32)}` },
  },
})
const seed = Number(values.seed)
console.log(`seed ${seed}`)
const { faults, threads, ends, attempts, durationMs } = await stormThreads({
  jobs: Number(values.jobs),
  slots: Number(values.slots),
  seed,
})
for (const end of Object.keys(ends).toSorted()) console.log(`  ${end.padEnd(20)} ${ends[end]}`)
console.log(`attempts ${attempts} in ${(durationMs / 1_000).toFixed(1)} s`)
console.log(`threads started ${threads.started}, at once ${threads.atOnce} of ${values.slots}`)
for (const fault of faults.slice(0, 20)) console.log(fault)
console.log(
  faults.length === 0
    ? `Every slot is free, and no thread is left. Seed ${seed}.`
    : `PROMISES WERE BROKEN ${faults.length}×. Seed ${seed}.`,
)
if (faults.length > 0) process.exitCode = 1
