/** The entries that need nothing of Node: in a bundle, and in a browser. */
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { digestBytes, digestOf, byteLength } from '../../src/core/platform.ts'
import { isLong } from '../harness/long-form.ts'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import type assertStrict from './assert.ts'
import { bundleForBrowser, entries } from './bundle.ts'
import { inPage } from './page.ts'

let browser: Browser
beforeAll(async () => {
  if (canStartBrowser) browser = await startBrowser()
})
afterAll(() => browser?.close())

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

test('a module of Node in a bundle for a browser fails the bundle', async () => {
  await expect(bundleForBrowser("import 'node:fs'")).rejects.toThrow('Could not resolve "node:fs"')
  await expect(bundleForBrowser("import 'jobchart/sqlite'")).rejects.toThrow('Could not resolve "node:')
})

test.each(entries)(
  '%s is bundled for a browser, whole, without a driver and without a module of Node',
  async (entry) => {
    const { text, imports } = await bundleForBrowser(`export * from '${entry}'`)
    expect(text.length).toBeGreaterThan(1_000)
    expect(imports).toEqual([])
    expect(text).not.toMatch(/\bimport\(\W*node:|sqlite\/index|redis\/index/)
  },
)

test('the runtime with the memory store does not grow unseen, without xstate and rxjs', async () => {
  const { text, imports } = await bundleForBrowser("export { createRuntime, defineJob, memoryStore } from 'jobchart'", {
    external: ['xstate', 'rxjs'],
  })
  expect(imports.toSorted()).toEqual(['rxjs', 'xstate'])
  const kilobytes = gzipSync(text, { level: 9 }).length / 1_000
  expect(kilobytes).toBeGreaterThan(50)
  expect(kilobytes).toBeLessThan(165)
})

test.runIf(canStartBrowser)('the memory store passes the conformance suite in a browser', async () => {
  const random = isLong ? {} : { sequences: 40 }
  const { text } = await bundleForBrowser(`export { conformance } from '${pathOf('conformance-page.ts')}'`, {
    alias: { 'node:assert/strict': pathOf('assert.ts'), 'node:util': pathOf('assert.ts') },
  })
  const result = await inPage(browser, text, `conformance(${JSON.stringify(random)})`)
  expect(result).toEqual({ cases: expect.toSatisfy((cases: number) => cases > 250) as number, failures: [] })
})

test.runIf(canStartBrowser)(
  'jobs, machines, virtual time and pictures work in a browser; what it lacks is refused',
  async () => {
    const { text } = await bundleForBrowser(`export { program } from '${pathOf('program-page.ts')}'`)
    expect(await inPage(browser, text, 'program()')).toEqual({
      greeting: 'hello page',
      paid: 42,
      host: 'page.test',
      pid: 0,
      picture: '<svg',
      refused: ['UNSUPPORTED', 'UNSUPPORTED', 'UNSUPPORTED', 'UNSUPPORTED'],
    })
  },
)

test.runIf(canStartBrowser)('a browser gives the digests and the lengths that Node gives', async () => {
  const texts = ['', 'a', 'é💥\ud800', 'x'.repeat(1_000)]
  const { text } = await bundleForBrowser(`
    import { digestBytes, digestOf, byteLength } from '${pathOf('../../src/core/platform.ts')}'
    export const all = (texts) => texts.map((text) => [[...digestBytes(text)], digestOf(text), byteLength(text)])`)
  const expected = texts.map((each) => [[...digestBytes(each)], digestOf(each), byteLength(each)])
  expect(await inPage(browser, text, `all(${JSON.stringify(texts)})`)).toEqual(expected)
})

test.runIf(canStartBrowser)('the assertions that the suite uses in a browser notice what differs', async () => {
  const { default: assert } = (await import('./assert.ts')) as { default: typeof assertStrict }
  const differ: readonly (() => unknown)[] = [
    () => assert.ok(0),
    () => assert.equal(1, 2),
    () => assert.notEqual(1, 1),
    () => assert.deepEqual({ a: [1, 2] }, { a: [1] }),
    () => assert.deepEqual({ a: undefined }, {}),
    () => assert.deepEqual([1], { 0: 1 }),
    () => assert.deepEqual(new Map([[1, 2]]), new Map([[1, 3]])),
    () => assert.partialDeepStrictEqual({ a: 1 }, { a: 2 }),
    () => assert.match('a', /b/),
  ]
  for (const each of differ) expect(each, String(each)).toThrow()
  await expect(assert.rejects(Promise.resolve(), {})).rejects.toThrow('expected to reject')
  assert.partialDeepStrictEqual({ a: { b: 1, c: 2 } }, { a: { b: 1 } })
  assert.deepEqual(new Map([[1, { a: new Date(1) }]]), new Map([[1, { a: new Date(1) }]]))
})
