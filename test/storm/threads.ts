/** `npm run storm:threads`: handlers in threads that crash, loop and are cancelled. */
import { runCommand } from '../harness/command.ts'
import { seed, whole } from '../harness/options.ts'
import { reportText } from '../harness/report.ts'
import { stormThreads } from './threads/storm.ts'

process.exitCode = await runCommand({
  name: 'npm run storm:threads --',
  options: { jobs: whole('jobs to run', [1, 1_000_000], 1_000), slots: whole('slots', [1, 64], 8), seed: seed() },
  async run(options) {
    console.error(`seed ${options.seed}`)
    const { faults, threads, ends, attempts, durationMs } = await stormThreads(options)
    const broken = faults.map((message) => ({ promise: 'threads', message, evidence: [] }))
    const figures = [
      ...Object.keys(ends)
        .toSorted()
        .map((end) => `${end.padEnd(20)} ${ends[end]}`),
      `attempts ${attempts} in ${(durationMs / 1_000).toFixed(1)} s`,
      `threads started ${threads.started}, at once ${threads.atOnce} of ${options.slots}`,
    ]
    console.log(reportText({ figures, broken, seed: options.seed }))
    return broken.length === 0
  },
})
