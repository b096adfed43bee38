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

/** Runs a program of Node on the sources, with more in its environment. @returns what went wrong */
export async function runProgram(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  options = ['--conditions=@jobchart/source'],
): Promise<string[]> {
  const child = spawn(process.execPath, [...options, ...args], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  return code === 0 ? [] : [`${args[0]} ended with ${code}`]
}

/** Runs test files, with more in their environment. @returns what went wrong */
export const runTests = (files: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<string[]> =>
  runProgram(['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...files], environment, [])

export const longTests: Proof = {
  name: 'tests',
  claim: 'what `npm test` tries in part holds as a whole',
  async run() {
    return { summary: files.join(', '), failures: await runTests(files) }
  },
}
