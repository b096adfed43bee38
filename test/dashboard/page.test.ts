import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { createClient, memoryStore } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { expect, onTestFinished, test } from 'vitest'
import { generatedPage } from '../../src/dashboard/page/build.mjs'
import { script, styles } from '../../src/dashboard/page.generated.ts'

test('the built page is what its sources say (else: npm run page)', async () => {
  const built = readFileSync(new URL('../../src/dashboard/page.generated.ts', import.meta.url), 'utf8')
  expect(await generatedPage()).toBe(built)
})

test('the page weighs less than 150 kB', () => {
  expect(gzipSync(script).length + gzipSync(styles).length).toBeLessThan(150_000)
})

test.each([
  ['gzip, deflate, br, zstd', 'br', (body: Uint8Array) => brotliDecompressSync(body)],
  ['gzip', 'gzip', (body: Uint8Array) => gunzipSync(body)],
  ['GZIP;q=0.5, br;q=0', 'gzip', (body: Uint8Array) => gunzipSync(body)],
  ['identity', null, (body: Uint8Array) => body],
  [null, null, (body: Uint8Array) => body],
])('to who accepts %s the script is sent as %s', async (accepted, encoding, decode) => {
  const store = memoryStore()
  onTestFinished(() => store.close())
  const { fetch } = createDashboard({ client: createClient({ store }), authorize: () => 'read' })
  const get = (headers: Record<string, string>): Promise<Response> =>
    fetch(new Request('http://localhost/assets/app.js', { headers }))
  const accepts = accepted === null ? {} : { 'accept-encoding': accepted }
  const response = await get(accepts)
  expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([
    encoding,
    'accept-encoding',
  ])
  const body = new Uint8Array(await response.arrayBuffer())
  expect(Buffer.from(decode(body)).toString()).toBe(script)
  if (encoding !== null) expect(body.length).toBeLessThan(script.length / 2)
  const etag = response.headers.get('etag') ?? ''
  expect((await get({ ...accepts, 'if-none-match': etag })).status).toBe(304)
  expect((await get({ 'accept-encoding': 'x', 'if-none-match': etag })).status).toBe(encoding === null ? 304 : 200)
})
