/**
 * `npm run storm -- --store …`: lets a storm loose on a store. Ends with 1 if a promise was broken, with 2 if asked
 * wrongly.
 */
import { parseCommand, usage, UsageError } from './command.ts'
import { Progress, report } from './report.ts'
import { runStorm } from './storm.ts'

const progress = new Progress()
try {
  const options = parseCommand(process.argv.slice(2))
  console.error(
    `storm on ${options.store}: ${options.jobs} jobs, ${options.machines} machines, ${options.kills} kills, seed ${options.seed}`,
  )
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  const verdict = await runStorm(options, (line) => progress.say(line))
  progress.end()
  console.log(report(verdict))
  if (verdict.broken.length > 0) process.exitCode = 1
} catch (error) {
  progress.end()
  if (!(error instanceof UsageError)) throw error
  console.error(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}
