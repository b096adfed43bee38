/** The tarball as users install it: small, and every subpath runs and type-checks in an empty project. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { installPacked, packPackage } from '../support/packed-package.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { exports, bin, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: object
  readonly bin: { readonly jobchart: string }
  readonly version: string
}
const subpaths = Object.keys(exports).filter((path) => path !== './package.json')
const specifierOf = (subpath: string): string => `jobchart${subpath.slice(1)}`

test('the tarball has at most 300 files and 1.05 MB, and every subpath of it runs and has types', () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const run = (cwd: string, command: string, ...args: string[]): string =>
    execFileSync(command, args, { cwd, encoding: 'utf8' })
  const packed = packPackage(folder.path)
  expect(packed.files.length).toBeLessThanOrEqual(300)
  expect(packed.size).toBeLessThanOrEqual(1_050_000)
  expect(packed.files.filter(({ path }) => /^(src|test|bench)\//.test(path))).toEqual([])

  const project = join(folder.path, 'project')
  mkdirSync(project)
  installPacked(packed, project, ['@types', 'undici-types', '@opentelemetry/api'])
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  const manifest = readFileSync(join(project, 'node_modules/jobchart/package.json'), 'utf8')
  expect(manifest).not.toMatch(/"(scripts|devDependencies|@jobchart\/source)"/)
  const loads = subpaths.map((path) => `console.log(Object.keys(await import('${specifierOf(path)}')).length > 0)`)
  writeFileSync(join(project, 'load.mjs'), loads.join('\n'))
  expect(run(project, process.execPath, 'load.mjs').trim().split('\n')).toEqual(subpaths.map(() => 'true'))

  writeFileSync(join(project, 'bundled.mjs'), bundledProgram)
  writeFileSync(join(project, 'handler.mjs'), handlerModule)
  expect(run(project, process.execPath, 'bundled.mjs').trim().split('\n')).toEqual([
    'the main entry loads 0 modules of charts and servers',
    'one error class: true',
    'a file in a thread: 42',
    'a handler in a thread: 42, one FatalError class: for good',
    'a chart in a thread: <svg',
  ])

  const jobchart = (...args: string[]): string =>
    run(project, process.execPath, join('node_modules/jobchart', bin.jobchart), ...args)
  expect(jobchart('--version')).toBe(`${version}\n`)
  expect(JSON.parse(jobchart('stats', '--json', '--store', 'sqlite:jobs.db'))).toMatchObject({ counts: { done: 2 } })

  const imports = subpaths.map((path, i) => `import * as m${i} from '${specifierOf(path)}'\nexport { m${i} }`)
  writeFileSync(join(project, 'types.ts'), imports.join('\n'))
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    types: ['node'],
  }
  const lib = ['es2024', 'esnext.disposable', 'es2025.collection', 'es2025.iterator']
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...compilerOptions, lib }, include: ['types.ts'] }),
  )
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  expect(spawnSync(process.execPath, [tsc, '--project', '.'], { cwd: project, encoding: 'utf8' }).stdout).toBe('')
})

test('packing changes nothing in this folder, also while it lasts and if it fails', () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const manifest = join(root, 'package.json')
  const npm = join(folder.path, 'npm')
  writeFileSync(npm, `#!/bin/sh\ncat '${manifest}'\nls '${folder.path}'\nexit 1\n`)
  chmodSync(npm, 0o755)
  const before = readFileSync(manifest, 'utf8')
  const env = { PATH: `${folder.path}:/usr/bin:/bin`, TMPDIR: folder.path }
  const pack = join(root, '.ci/pack.mjs')
  const { status, stdout } = spawnSync(process.execPath, [pack], { cwd: folder.path, env, encoding: 'utf8' })
  expect({ status, stdout }).toEqual({ status: 1, stdout: expect.stringMatching(/\njobchart-pack-\w+\nnpm\n$/) })
  expect(stdout.startsWith(before), 'package.json while npm packs').toBe(true)
  expect(readFileSync(manifest, 'utf8')).toBe(before)
  expect(readdirSync(folder.path), 'what is left').toEqual(['npm'])
})

/**
 * What could go wrong when modules become fewer files: too much is loaded, a module is there twice, a file is not
 * found.
 */
const bundledProgram = `
  import { registerHooks } from 'node:module'
  const loaded = []
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
  const { createRuntime, defineJob, JobchartError } = await import('jobchart')
  const foreign = loaded.filter((url) => /node_modules.(@?hono|elkjs)|dist.src.(dashboard|chart)/.test(url))
  console.log('the main entry loads ' + foreign.length + ' modules of charts and servers')
  const { toText } = await import('jobchart/chart')
  try { toText('no machine') } catch (error) { console.log('one error class: ' + (error instanceof JobchartError)) }
  const { sqliteStore } = await import('jobchart/sqlite')
  const double = defineJob({ type: 'double', run: async (n) => 2 * n })
  const half = defineJob({ type: 'half', thread: new URL('./handler.mjs', import.meta.url) })
  const runtime = createRuntime({ jobs: [double, half], store: sqliteStore({ path: 'jobs.db', thread: true }) })
  await runtime.start()
  console.log('a file in a thread: ' + (await runtime.run(double, 21)))
  const fatal = await runtime.run(half, 0).catch(({ cause }) => cause.message)
  console.log('a handler in a thread: ' + (await runtime.run(half, 84)) + ', one FatalError class: ' + fatal)
  const { createDashboard } = await import('jobchart/dashboard')
  const dashboard = createDashboard({ runtime, authorize: () => 'read' })
  const chart = await dashboard.fetch(new Request('http://localhost/api/v1/charts/job.svg'))
  console.log('a chart in a thread: ' + (await chart.text()).slice(0, 4))
  await runtime.stop()
`

const handlerModule = `
  import { fatal, threadHandler } from 'jobchart/thread'
  export default threadHandler((n) => {
    if (n === 0) throw fatal('for good')
    return n / 2
  })
`
