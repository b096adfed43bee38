/** `npm run storm -- --store …`: lets a storm loose on a store. */
import { runCommand } from '../harness/command.ts'
import { Progress } from '../harness/progress.ts'
import { stormOptions, stormTable } from './command.ts'
import { report } from './report.ts'
import { runStorm } from './storm.ts'

process.exitCode = await runCommand({
  name: 'npm run storm --',
  options: stormTable,
  async run(given) {
    const options = stormOptions(given)
    const { store, jobs, machines, kills, seed } = options
    console.error(`storm on ${store}: ${jobs} jobs, ${machines} machines, ${kills} kills, seed ${seed}`)
    const progress = new Progress()
    const verdict = await runStorm(options, (line) => progress.say(line)).finally(() => progress.end())
    console.log(report(verdict))
    return verdict.broken.length === 0
  },
})
