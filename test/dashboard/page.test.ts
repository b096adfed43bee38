import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
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
  const { node } = createDashboard({ client: createClient({ store }), authorize: () => 'read' })
  const server = createServer(node).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const get = async (headers: Record<string, string>) => {
    const asked = request({ port, host: '127.0.0.1', path: '/assets/app.js', headers }).end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
  }
  const accepts = accepted === null ? {} : { 'accept-encoding': accepted }
  const { headers, body } = await get(accepts)
  expect([headers['content-encoding'] ?? null, headers.vary]).toEqual([encoding, 'accept-encoding'])
  expect(Buffer.from(decode(body)).toString()).toBe(script)
  if (encoding !== null) expect(body.length).toBeLessThan(script.length / 2)
  const etag = headers.etag ?? ''
  expect((await get({ ...accepts, 'if-none-match': etag })).status).toBe(304)
  expect((await get({ 'accept-encoding': 'x', 'if-none-match': etag })).status).toBe(encoding === null ? 304 : 200)
})

test('a Response is not compressed: Next.js removes the header that tells of it, and compresses again', async () => {
  const store = memoryStore()
  onTestFinished(() => store.close())
  const { fetch } = createDashboard({ client: createClient({ store }), authorize: () => 'read' })
  const headers = { 'accept-encoding': 'gzip, br' }
  for (const path of ['', 'assets/app.js']) {
    const response = await fetch(new Request(`http://localhost/${path}`, { headers }))
    expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([null, null])
    expect(await response.text()).toMatch(path === '' ? /^<!doctype html>/ : /^\S/)
  }
})
