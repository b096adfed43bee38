/** The package as other tools read it: bundlers, publint and arethetypeswrong. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../harness/long-form.ts'
import { inPage } from '../browser/page.ts'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { missingPackages } from '../support/own-packages.ts'
import { installPacked, packPackage, type PackedPackage } from '../support/packed-package.ts'
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
    webpack: (...args) => tool('bundle.mjs', 'webpack', ...args),
  }),
}

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
  if (canStartBrowser) browser = await startBrowser()
})
afterAll(async () => {
  await browser?.close()
  folder.remove()
})

async function bundled(name: string, target: Target): Promise<string> {
  const file = join(project, `${name}-${target}.mjs`)
  await bundlers[name]?.(target, join(project, 'program.js'), file)
  return file
}

describe.runIf(canStartBrowser).each(Object.keys(bundlers))('%s', (name) => {
  test('bundles the package for a browser, which runs it', async () => {
    const text = readFileSync(await bundled(name, 'browser'), 'utf8')
    expect(text).not.toMatch(/from ?['"]node:|import\(['"]node:/)
    expect(await inPage(browser, text, 'main()')).toEqual([42, 'function', 'function'])
  })
})

/** In the short form one: they differ less in what they make for Node, and two of them take half a minute. */
const ofNode = Object.keys(bundlers).filter((name) => isLong || name === 'esbuild')

describe.each(ofNode)('%s', (name) => {
  test('bundles the package for Node, which runs it without a driver', async () => {
    const file = await bundled(name, 'node')
    const call = `import('${file}').then(async ({ main }) => console.log(JSON.stringify(await main())))`
    const printed = execFileSync(process.execPath, ['-e', call], { cwd: folder.path, encoding: 'utf8', env: {} })
    expect(JSON.parse(printed)).toEqual([42, 'function', 'function'])
  })
})

test.skipIf(areMissing)('publint and arethetypeswrong find nothing wrong with any entry', () => {
  const { entries, publint, types } = JSON.parse(tool('lint.mjs', packed.tarball)) as Record<string, string[]>
  expect(entries).toEqual(Object.keys(exports))
  expect(publint).toEqual([])
  // Of an ES module the resolution of Node 10 knows nothing, and CommonJS gets it with `require` from Node 22.
  expect(types?.filter((problem) => !/node10|^CJSResolvesToESM/.test(problem))).toEqual([])
})
