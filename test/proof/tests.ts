/** Tests in their long form: those that ask `isLong`. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Proof } from './proof.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const files = [
  'test/built/sqlite-in-thread.test.ts',
  'test/built/threads-storm.test.ts',
  'test/stores/sqlite-shared.test.ts',
  'test/machine-job/oracle',
  'test/api/cancellation.property.test.ts',
  'test/bench/bench.test.ts',
  'test/core/lifecycle.test.ts',
  'test/stores/redis.test.ts',
  'test/stores/redis-shared.test.ts',
  'test/stores/sqlite.test.ts',
  'test/stores/sqlite-files.test.ts',
  'test/stores/sqlite-kill.test.ts',
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
