/** The benchmarks: that every section runs and verifies its work. Their figures are nobody's concern here. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { plainEnvironment } from '../support/plain-environment.ts'
import type { Proof } from './proof.ts'

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
const tiny = ['--quick', '--scale', '0.0005', '--rounds', '1', '--no-peers']
const benches = ['memory', 'sqlite', 'redis']

export const bench: Proof = {
  name: 'bench',
  claim: 'every benchmark runs to its end, and no job of it is lost',
  async run() {
    const failures: string[] = []
    for (const store of benches) {
      const failure = await measure(store)
      if (failure !== null) failures.push(failure)
    }
    return { summary: `all sections of ${benches.join(', ')}, as small as they can be`, failures }
  },
}

/** @returns what went wrong */
function measure(store: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main, store, ...tiny], { env: plainEnvironment }, (error, stdout, stderr) =>
      resolve(error === null ? null : `${store}: ${error.message}\n${stdout}${stderr}`),
    )
  })
}
