/** The benchmarks: that every section runs and verifies its work. Their figures are nobody's concern here. */
import { runProgram } from '../harness/processes.ts'
import type { Proof } from './proof.ts'

const main = new URL('../../bench/main.ts', import.meta.url)
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
async function measure(store: string): Promise<string | null> {
  const { exitCode, stdout, stderr } = await runProgram(main, [store, ...tiny])
  return exitCode === 0 ? null : `${store} ended with ${exitCode}:\n${stdout}${stderr}`
}
