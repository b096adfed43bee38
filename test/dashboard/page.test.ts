import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { generatedPage } from '../../src/dashboard/page/build.mjs'
import { script, styles } from '../../src/dashboard/page.generated.ts'

test('the built page is what its sources say (else: npm run page)', async () => {
  const built = readFileSync(new URL('../../src/dashboard/page.generated.ts', import.meta.url), 'utf8')
  expect(await generatedPage()).toBe(built)
})

test('the page weighs less than 150 kB', () => {
  expect(gzipSync(script).length + gzipSync(styles).length).toBeLessThan(150_000)
})
