/** Tests in their long form: the contract in a thread and beside a noisy process, kills at every write, 10,000 storms of cancels. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Proof } from './proof.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const files = [
  'test/built/sqlite-in-thread.test.ts',
  'test/stores/sqlite-shared.test.ts',
  'test/machine-job/oracle',
  'test/api/cancellation.property.test.ts',
]

export const longTests: Proof = {
  name: 'tests',
  claim: 'what `npm test` tries in part holds as a whole',
  async run() {
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...files]
    const child = spawn(process.execPath, vitest, {
      cwd: root,
      env: { ...process.env, LONG: '1' },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
    return { summary: files.join(', '), failures: code === 0 ? [] : [`the tests ended with ${code}`] }
  },
}
