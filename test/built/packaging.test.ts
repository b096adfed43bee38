/** The package as other tools read it: bundlers, publint and arethetypeswrong. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../harness/long-form.ts'
import { inPage } from '../browser/page.ts'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { missingPackages } from '../support/own-packages.ts'
import { installPacked, packPackage, type PackedPackage } from '../support/packed-package.ts'
import { canStartRedis, serverOfFile } from '../support/redis-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { repositoryRoot } from '../support/tidy/repository.ts'

const tools = join(repositoryRoot, 'test/packaging')
const areMissing = missingPackages(tools).length > 0
if (areMissing) console.error('Tests of other bundlers are left out: node test/support/own-packages.ts test/packaging')

const { exports } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as { exports: object }

const program = `
  import { createRuntime, defineJob, memoryStore } from 'jobchart'
  import { toText } from 'jobchart/chart'
  import { VirtualClock } from 'jobchart/testing'
  export async function main() {
    const double = defineJob({ type: 'double', run: async (n) => 2 * n })
    const runtime = createRuntime({ jobs: [double], store: memoryStore() })
    await runtime.start()
    const answer = await runtime.run(double, 21)
    await runtime.stop()
    return [answer, typeof toText, typeof VirtualClock]
  }`

/** The same in Node, on a file and on a server of Redis as well. */
const nodeProgram = `
  import { createClient } from 'jobchart'
  import { main } from './program.js'
  const results = [await main()]
  for (const store of process.argv.slice(2)) {
    const client = createClient({ store })
    try {
      await client.enqueueByName('mail', null)
      results.push((await client.counts()).queued)
    } catch ({ code, hint }) {
      results.push(code + ': ' + hint)
    }
    await client.close()
  }
  console.log(JSON.stringify(results))`

type Target = 'browser' | 'node'

const tool = (name: string, ...args: string[]): string =>
  execFileSync(process.execPath, [join(tools, name), ...args], {
    cwd: tools,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  })

const bundlers: Readonly<Record<string, (target: Target, entry: string, file: string) => unknown>> = {
  esbuild: (platform, entry, outfile) =>
    build({ entryPoints: [entry], outfile, platform, bundle: true, format: 'esm', logLevel: 'error' }),
  ...(!areMissing && {
    rollup: (...args) => tool('bundle.mjs', 'rollup', ...args),
    vite: (...args) => tool('bundle.mjs', 'vite', ...args),
    webpack: (...args) => tool('bundle.mjs', 'webpack', ...args),
  }),
}

const server = serverOfFile()

let browser: Browser
let packed: PackedPackage
const folder = temporaryFolder()
const project = join(folder.path, 'project')
beforeAll(async () => {
  packed = packPackage(folder.path)
  mkdirSync(project)
  installPacked(packed, project, [])
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(project, 'program.js'), program)
  writeFileSync(join(project, 'node-program.js'), nodeProgram)
  if (canStartBrowser) browser = await startBrowser()
})
afterAll(async () => {
  await browser?.close()
  folder.remove()
})

async function bundled(name: string, target: Target): Promise<string> {
  const file = join(folder.path, name, `${target}.mjs`)
  mkdirSync(dirname(file), { recursive: true })
  await bundlers[name]?.(target, join(project, target === 'node' ? 'node-program.js' : 'program.js'), file)
  return file
}

/** Vite bundles for a browser as Rollup does. The short form is without webpack, which takes the longest. */
const ofBrowser = Object.keys(bundlers).filter((name) => name !== 'vite' && (isLong || name !== 'webpack'))

describe.runIf(canStartBrowser).each(ofBrowser)('%s', (name) => {
  test('bundles the package for a browser, which runs it', async () => {
    const text = readFileSync(await bundled(name, 'browser'), 'utf8')
    expect(text).not.toMatch(/from ?['"]node:|import\(['"]node:/)
    expect(await inPage(browser, text, 'main()')).toEqual([42, 'function', 'function'])
  })
})

/** In the short form two: they differ less in what they make for Node, and the others take half a minute. */
const ofNode = Object.keys(bundlers).filter((name) => isLong || name === 'esbuild' || name === 'vite')

describe.each(ofNode)('%s', (name) => {
  test('bundles the package for Node, which runs it: on a file, and on Redis if a driver is beside it', async () => {
    const file = await bundled(name, 'node')
    const cwd = dirname(file)
    const run = (...stores: string[]): unknown =>
      JSON.parse(execFileSync(process.execPath, [file, ...stores], { cwd, encoding: 'utf8', env: {} }))
    const began = [42, 'function', 'function']
    expect(run('jobs.db', 'redis://127.0.0.1:1')).toEqual([
      began,
      1,
      expect.stringMatching(/^UNSUPPORTED: .*npm install @redis\/client/),
    ])
    if (!canStartRedis) return
    symlinkSync(join(repositoryRoot, 'node_modules'), join(cwd, 'node_modules'))
    expect(run(`${server().url}?prefix=${name}`)).toEqual([began, 1])
  })
})

test.skipIf(areMissing)('publint and arethetypeswrong find nothing wrong with any entry', () => {
  const { entries, publint, types } = JSON.parse(tool('lint.mjs', packed.tarball)) as Record<string, string[]>
  expect(entries).toEqual(Object.keys(exports))
  expect(publint).toEqual([])
  // Of an ES module the resolution of Node 10 knows nothing, and CommonJS gets it with `require` from Node 22.
  expect(types?.filter((problem) => !/node10|^CJSResolvesToESM/.test(problem))).toEqual([])
})
