/**
 * Programs of the tests: TypeScript files that run as processes of their own, on our sources. A process that loads some
 * 250 sources one by one spends more time on that than on what it is started for. So the short form of the tests
 * bundles all programs before the first test; the long form, and scripts such as `npm run storm`, load the sources.
 */
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build, type BuildOptions, type Plugin } from 'esbuild'
import { repositoryRoot } from '../support/tidy/repository.ts'

/** What is bundled. Another file is a program as well, and loads the sources. */
const bundled = [
  'test/**/*-child.ts',
  'test/**/*-process.ts',
  'test/storm/{worker,producer}.ts',
  'test/storm/schedules/member.ts',
  'examples/[0-9][0-9]-*.ts',
  'examples/{main-job,order,progress,redis}/*.ts',
]
/** A file that looks for others beside it must stay beside them. */
const looksBeside = 'import.meta.url'

/** The folder of the bundles, in the processes of one run of the tests. */
const folderVariable = 'JOBCHART_BUNDLED_PROGRAMS'

/** The example of orders as storms run it: with a store that keeps a history. */
const recordedOrders = 'test/storm/order/member.ts'
const recordOrders: Plugin = {
  name: 'record orders',
  setup(bundler) {
    bundler.onResolve({ filter: /^jobchart\/sqlite$/ }, ({ importer }) => {
      const isOfExample = relative(repositoryRoot, importer).startsWith('examples')
      return isOfExample ? { path: join(repositoryRoot, 'test/storm/order/recorded-sqlite.ts') } : undefined
    })
  },
}

/** @returns removes the bundles */
export async function bundlePrograms(): Promise<() => void> {
  // Packages that stay outside of the bundles are found from here.
  const parent = join(repositoryRoot, 'node_modules/.cache')
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'jobchart-programs-'))
  const sources = globSync(bundled, { cwd: repositoryRoot })
  const programs = sources.filter((path) => !readFileSync(join(repositoryRoot, path), 'utf8').includes(looksBeside))
  await Promise.all([
    build({ ...settings, outdir: folder, entryPoints: programs }),
    build({ ...settings, outdir: folder, entryPoints: [recordedOrders], plugins: [recordOrders] }),
  ])
  process.env[folderVariable] = folder
  return () => rmSync(folder, { recursive: true, force: true })
}

const settings: BuildOptions = {
  absWorkingDir: repositoryRoot,
  outbase: '.',
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  conditions: ['@jobchart/source'],
  external: ['@redis/client', 'better-sqlite3', 'ioredis', 'pg', 'elkjs'],
  // Of packages that are CommonJS, and ask for modules of Node.js.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  // The package is free of side effects but for the check of the version of Node.js.
  logOverride: { 'ignored-bare-import': 'silent' },
  logLevel: 'warning',
}

export interface Program {
  readonly path: string
  /** Options of Node.js. */
  readonly execArgv: readonly string[]
}

/** How a TypeScript file is run: its bundle if there is one, itself on our sources if not. */
export function programOf(source: string): Program {
  const folder = process.env[folderVariable]
  const bundle = folder && join(folder, relative(repositoryRoot, source)).replace(/\.ts$/, '.js')
  if (bundle && existsSync(bundle)) return { path: bundle, execArgv: [] }
  return { path: source, execArgv: ['--conditions=@jobchart/source'] }
}
