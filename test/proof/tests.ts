/** Tests in their long form: those that ask `isLong`. */
import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Proof } from './proof.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The tests that ask, themselves or by what they import from beside them. */
const files = [
  ...globSync('test/**/*.test.ts', { cwd: root }).filter((path) =>
    /long-form\.ts'/.test(readFileSync(join(root, path), 'utf8')),
  ),
  'test/machine-job/oracle',
]

export const longTests: Proof = {
  name: 'tests',
  claim: 'what `npm test` tries in part holds as a whole',
  async run() {
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...files]
    const child = spawn(process.execPath, vitest, {
      cwd: root,
      env: process.env,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
    return { summary: files.join(', '), failures: code === 0 ? [] : [`the tests ended with ${code}`] }
  },
}
