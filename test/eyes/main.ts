/** `npm run eyes`: the dashboard of a set of 205,000 jobs, to look at every screen as on call. */
import { runCommand } from '../harness/command.ts'
import { flag, optionalWhole, whole } from '../harness/options.ts'
import { systemClock } from '../../src/core/clock.ts'
import { eyesFile, openEyes } from './open.ts'

process.exitCode = await runCommand({
  name: 'npm run eyes --',
  options: {
    jobs: whole('about so many jobs', [1_000, 10_000_000], 205_000),
    seed: whole('decides everything that is left to chance', [0, 2 ** 32 - 1], 3),
    port: optionalWhole('of the dashboard; without it any that is free', [0, 65_535]),
    fresh: flag('makes the file anew'),
    work: flag('runs the jobs, too: what is retried or sent goes on'),
    make: flag('makes the file only'),
  },
  async run({ jobs, seed, port, fresh, work, make }) {
    const startedAt = systemClock.monotonic()
    const { stderr } = process
    const progress = (done: number, of: number): void => {
      if (stderr.isTTY) stderr.write(`\rmakes ${jobs.toLocaleString('en-US')} jobs: ${Math.floor((100 * done) / of)} %`)
    }
    const { path, isNew } = await eyesFile({ jobs, seed, progress }, fresh)
    const seconds = ((systemClock.monotonic() - startedAt) / 1_000).toFixed(1)
    console.error(isNew ? `\n${path} was made in ${seconds} s` : path)
    if (make) return true
    const { url } = await openEyes(path, { port: port ?? 0, work })
    console.log(url)
    // The server keeps the process until Ctrl-C.
    return new Promise<boolean>(() => {})
  },
})
