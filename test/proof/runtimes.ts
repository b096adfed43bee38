/** Deno and Bun: the numbered examples, and a program on memory, a SQLite file and a Redis server. */
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readExamples } from '../support/examples.ts'
import { installPackages } from '../support/own-packages.ts'
import { plainEnvironment } from '../support/plain-environment.ts'
import { redisServer } from '../support/redis-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { Proof } from './proof.ts'

const packages = fileURLToPath(new URL('../runtimes', import.meta.url))
const program = fileURLToPath(new URL('runtimes-program.ts', import.meta.url))
const condition = '--conditions=@jobchart/source'
const msMax = 120_000

/** The package of each has a file for this computer, and a script, which is not run, that would put it elsewhere. */
const runtimes = {
  deno: { file: 'node_modules/@deno/*/deno', args: ['run', '--allow-all', condition] },
  bun: { file: 'node_modules/@oven/*/bin/bun', args: [condition] },
} as const

/** Examples that end otherwise, each with the reason. */
const skipped: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  deno: { '14-webhooks.ts': 'a server that is closed in Deno waits for the connections that fetch keeps open' },
  bun: {},
}

/** Values as they are printed by the console of Node: the others have other quotes and lines. */
const alike = (printed: string): string =>
  printed
    .replaceAll('"', "'")
    .replaceAll(/\{\n */g, '{ ')
    .replaceAll(/,?\n\}/g, ' }')

/** @returns what it printed, or how it failed */
const run = (file: string, args: readonly string[], cwd: string): Promise<string> =>
  new Promise((resolve) => {
    const env = { ...plainEnvironment, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' }
    execFile(file, args, { cwd, env, timeout: msMax, killSignal: 'SIGKILL' }, (error, stdout, stderr) =>
      resolve(error === null ? stdout.trimEnd() : `${error.message}\n${stdout}${stderr}`),
    )
  })

export const otherRuntimes: Proof = {
  name: 'runtimes',
  claim: 'Deno and Bun print what the examples promise, and run jobs on memory, a SQLite file and Redis',
  async run() {
    installPackages(packages)
    const redis = await redisServer()
    const failures: string[] = []
    let runs = 0
    try {
      for (const [name, { file, args }] of Object.entries(runtimes)) {
        const [found] = globSync(file, { cwd: packages })
        if (found === undefined) throw new Error(`there is no ${name} for this computer`)
        const expectPrinted = async (path: string, expected: string | null, ...own: string[]): Promise<void> => {
          const folder = temporaryFolder()
          const printed = await run(join(packages, found), [...args, path, ...own], folder.path)
          folder.remove()
          if (alike(printed) !== alike(expected ?? '')) failures.push(`${name} ${path} ${own.join(' ')}: ${printed}`)
          runs++
        }
        for (const address of ['memory:', `${name}.db`, `${redis.url}/0?prefix=${name}`]) {
          await expectPrinted(program, '42 2', address)
        }
        for (const example of readExamples()) {
          if (skipped[name]?.[example.name] === undefined) await expectPrinted(example.path, example.prints)
        }
      }
    } finally {
      await redis.remove()
    }
    return { summary: `${runs} programs`, failures }
  },
}
