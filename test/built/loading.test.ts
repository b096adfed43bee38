/** The package as programs load it: with require, and in a bundle. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A folder with the package in its `node_modules`. */
function newProject(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  cpSync(join(root, 'dist'), join(folder.path, 'dist'), { recursive: true })
  cpSync(join(root, 'package.json'), join(folder.path, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder.path, 'node_modules'))
  return folder.path
}

/** Runs a program in the folder and gives what it prints. */
function run(folder: string, name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  // Only what any process has: a test runner's own variables must not change how modules are found.
  const options = { cwd: folder, encoding: 'utf8', env: { PATH: process.env['PATH'] } } as const
  return execFileSync(process.execPath, [name], options).trim()
}

test('a CommonJS program loads the package with require, and runs a job on a file', () => {
  const printed = run(
    newProject(),
    'program.cjs',
    `const { createRuntime, defineJob } = require('jobchart')
     const { sqliteStore } = require('jobchart/sqlite')
     const { createTestRuntime } = require('jobchart/testing')
     const double = defineJob({ type: 'double', run: async (n) => 2 * n })
     const runtime = createRuntime({ jobs: [double], store: sqliteStore({ path: 'jobs.db' }) })
     const main = async () => {
       await runtime.start()
       console.log(await runtime.run(double, 21), typeof createTestRuntime)
       await runtime.stop()
     }
     main()`,
  )
  expect(printed).toBe('42 function')
})

test('in an older Node.js each entry and the command line say which one they need, before anything else fails', () => {
  const folder = newProject()
  writeFileSync(
    join(folder, 'old.mjs'),
    `import { registerHooks } from 'node:module'
     Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })
     const lacks = (name) => name === 'node:sqlite' || name === 'commander'
     registerHooks({
       resolve: (name, context, next) => {
         if (lacks(name)) throw new Error('no module ' + name)
         return next(name, context)
       },
     })`,
  )
  const printed = run(
    folder,
    'program.mjs',
    `import './old.mjs'
     import { readFileSync } from 'node:fs'
     const { exports, bin } = JSON.parse(readFileSync('package.json', 'utf8'))
     const entries = Object.keys(exports).filter((name) => !name.endsWith('.json'))
     for (const name of [...entries.map((entry) => entry.replace('.', 'jobchart')), bin.jobchart]) {
       console.log(name, await import(name).then(() => 'loads', ({ message }) => message))
     }`,
  ).split('\n')
  expect(printed.length).toBeGreaterThan(8)
  for (const line of printed)
    expect(line).toMatch(/ jobchart needs Node.js 22\.13 or later, not 23 or 25; this is v20\.19\.0$/)
})

test('without the file of the thread, as in a bundle, thread: true says what to mark as external; without it all works', () => {
  const folder = newProject()
  rmSync(join(folder, 'dist/src/stores/sqlite/thread.js'))
  const printed = run(
    folder,
    'program.mjs',
    `import { createClient } from 'jobchart'
     import { sqliteStore } from 'jobchart/sqlite'
     for (const thread of [true, false]) {
       const client = createClient({ jobs: [], store: sqliteStore({ path: 'jobs.db', thread }) })
       try {
         console.log((await client.counts()).queued)
       } catch ({ code, hint }) {
         console.log(code, hint.includes('external: jobchart'))
       }
       await client.close()
     }`,
  )
  expect(printed.split('\n')).toEqual(['UNSUPPORTED true', '0'])
})

test('the main entry loads nothing of the dashboard and its packages', () => {
  const printed = run(
    newProject(),
    'program.mjs',
    `import { registerHooks } from 'node:module'
     const loaded = []
     registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
     await import('jobchart')
     console.log(loaded.filter((url) => /src.(dashboard|chart)|node_modules.(@?hono|preact|elkjs)/.test(url)).length, loaded.length > 10)`,
  )
  expect(printed).toBe('0 true')
})

test('a bundle that leaves jobchart out runs handlers in threads; one that takes it in says what to do if it is not installed', async () => {
  const folder = newProject()
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  rmSync(join(folder, 'node_modules'))
  mkdirSync(join(folder, 'node_modules'))
  for (const name of readdirSync(join(root, 'node_modules'))) {
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  symlinkSync(root, join(folder, 'node_modules/jobchart'))
  writeFileSync(
    join(folder, 'handler.js'),
    `import { threadHandler } from 'jobchart/thread'
     export default threadHandler((n) => n / 2)`,
  )
  writeFileSync(
    join(folder, 'main.js'),
    `import { createRuntime, defineJob } from 'jobchart'
     const half = defineJob({ type: 'half', retry: { maxAttempts: 1 }, thread: new URL('./handler.js', import.meta.url) })
     const runtime = createRuntime({ jobs: [half] })
     await runtime.start()
     console.log(await runtime.run(half, 84).catch(({ cause }) => cause.code))
     await runtime.stop()`,
  )
  const bundle = (outdir: string, external: string[]) =>
    build({
      entryPoints: ['main.js', 'handler.js'].map((name) => join(folder, name)),
      outdir: join(folder, outdir),
      external,
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'error',
    })
  await bundle('out', ['jobchart', 'jobchart/*'])
  await bundle('alone', [])
  const start = (name: string): string =>
    execFileSync(process.execPath, [name], { cwd: folder, encoding: 'utf8', env: { PATH: process.env['PATH'] } }).trim()
  expect(start('out/main.js')).toBe('42')
  rmSync(join(folder, 'node_modules/jobchart'))
  expect(start('alone/main.js')).toBe('UNSUPPORTED')
})

test.each(['esm', 'cjs'] as const)('a bundle (%s) without a driver is built and runs', async (format) => {
  const folder = newProject()
  const program = join(folder, 'program.mjs')
  writeFileSync(
    program,
    `import { createRuntime, defineJob, memoryStore } from 'jobchart'
     import { openStore } from 'jobchart/open'
     const double = defineJob({ type: 'double', run: async (n) => 2 * n })
     const main = async () => {
       const runtime = createRuntime({ jobs: [double], store: memoryStore() })
       await runtime.start()
       console.log(await runtime.run(double, 21), typeof openStore)
       await runtime.stop()
     }
     main()`,
  )
  const outfile = join(folder, format === 'esm' ? 'bundle.mjs' : 'bundle.cjs')
  const drivers = /^(@redis\/client|ioredis)$/
  await build({
    entryPoints: [program],
    outfile,
    format,
    bundle: true,
    minify: true,
    platform: 'node',
    logLevel: 'silent',
    plugins: [
      {
        name: 'drivers are not installed',
        setup: (plugin) => plugin.onResolve({ filter: drivers }, ({ path }) => ({ errors: [{ text: `no ${path}` }] })),
      },
    ],
  })
  const printed = execFileSync(process.execPath, [outfile], { cwd: folder, encoding: 'utf8', env: {} }).trim()
  expect(printed).toBe('42 function')
})
