/** Storms of processes that are killed, on each store: plain jobs, machines, and a server that is killed as well. */
import { rmSync } from 'node:fs'
import { readOptions } from '../harness/options.ts'
import { stormOptions, stormTable } from '../storm/command.ts'
import { report } from '../storm/report.ts'
import { runStorm } from '../storm/storm.ts'
import type { Proof } from './proof.ts'

const sizes = { jobs: 4_000, kills: 40, machines: 400, restarts: 10 }

export const storms: Proof = {
  name: 'storms',
  claim: 'no guarantee is broken, whichever processes are killed and stopped, and whenever',
  async run({ seed, scale }) {
    const many = (name: keyof typeof sizes): [string, string] => [`--${name}`, String(sizes[name] * scale)]
    const failures: string[] = []
    const said: string[] = []
    for (const args of [
      ['--store', 'sqlite', ...many('jobs'), ...many('kills')],
      ['--store', 'sqlite', ...many('machines'), ...many('kills')],
      ['--store', 'redis', ...many('jobs'), ...many('kills'), ...many('restarts')],
      ['--store', 'redis', ...many('machines'), ...many('kills')],
      ['--store', 'postgres', ...many('jobs'), ...many('kills'), ...many('restarts')],
      ['--store', 'postgres', ...many('machines'), ...many('kills')],
    ]) {
      const options = stormOptions(readOptions(stormTable, [...args, '--seed', String(seed)]))
      const verdict = await runStorm(options, () => {})
      said.push(args.slice(1).join(' '))
      if (verdict.broken.length > 0) failures.push(report(verdict))
      else rmSync(verdict.folder, { recursive: true, force: true })
    }
    return { summary: said.join('; '), failures }
  },
}
