import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { expect, onTestFinished, test, vi } from 'vitest'
import { called, jobs } from './world.ts'

test('without authorize only loopback names are answered', async () => {
  const { dashboard } = await called()
  const status = async (url: string, headers: Record<string, string> = {}): Promise<number> =>
    (await dashboard.fetch(new Request(url, { headers }))).status
  for (const host of ['localhost', 'localhost:80', '127.0.0.1:3000', '127.8.9.1', '[::1]:3000', 'jobs.localhost']) {
    expect(await status(`http://${host}/api/v1`), host).toBe(200)
  }
  for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example', '10.0.0.1', '[::2]']) {
    expect(await status(`http://${host}/api/v1`), host).toBe(403)
  }
  // A page whose name was pointed to 127.0.0.1 is told by the Host header.
  expect(await status('http://127.0.0.1/api/v1', { host: 'evil.example' })).toBe(403)
  expect(await status('http://127.0.0.1/api/v1', { 'x-forwarded-for': '10.0.0.1' })).toBe(403)
})

test('authorize decides: a role, or the response that is sent instead', async () => {
  const { dashboard } = await called({
    authorize: (request) =>
      request.headers.get('authorization') === 'Bearer admin'
        ? 'admin'
        : (new URL(request.url).searchParams.get('as') as 'read') || new Response('who are you?', { status: 401 }),
  })
  const at = 'https://jobs.example/x/api/v1'
  const refused = await dashboard.fetch(new Request(at))
  expect([refused.status, await refused.text()]).toEqual([401, 'who are you?'])
  const role = async (request: Request): Promise<unknown> =>
    ((await (await dashboard.fetch(request)).json()) as { role: unknown }).role
  expect(await role(new Request(at, { headers: { authorization: 'Bearer admin' } }))).toBe('admin')
  expect(await role(new Request(`${at}?as=read`))).toBe('read')
  // What is no role lets nobody in.
  expect((await dashboard.fetch(new Request(`${at}?as=owner`))).status).toBe(500)
})

test('a request that authorize does not decide is answered after 30 s', async () => {
  const client = createClient({ logger: {} })
  onTestFinished(() => client.close())
  const { fetch } = createDashboard({ client, authorize: () => new Promise<'read'>(() => {}) })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const asked = fetch(new Request('https://jobs.example/api/v1'))
  await vi.advanceTimersByTimeAsync(30_000)
  const answer = await asked
  expect([answer.status, await answer.json()]).toMatchObject([
    503,
    { error: { code: 'TIMEOUT', hint: '`authorize` has not decided.' } },
  ])
})

test('a body that does not come is answered after 20 s', async () => {
  const { dashboard } = await called()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(Buffer.from('{ "ids"')) })
  const headers = { 'content-type': 'application/json' }
  const asked = dashboard.fetch(
    new Request('http://localhost/api/v1/jobs/cancel', { method: 'POST', headers, body, duplex: 'half' }),
  )
  await vi.advanceTimersByTimeAsync(30_000)
  const answer = await asked
  expect([answer.status, await answer.json()]).toMatchObject([408, { error: { code: 'BODY_TIMEOUT' } }])
})

test('who may only read changes nothing, and each attempt is audited', async () => {
  const audited: [action: string, target: unknown, code: unknown][] = []
  const { post, runtime, get } = await called({
    authorize: () => 'read',
    onAudit: ({ action, target, outcome }) =>
      void audited.push([action, target, outcome instanceof Error && 'code' in outcome && outcome.code]),
  })
  for (const path of [
    '/jobs/dead-1/retry',
    '/jobs/dead-1/discard',
    '/jobs/cancel',
    '/jobs/order-1/send',
    '/queues/order/pause',
  ]) {
    const response = await post(path, { ids: ['dead-1'], event: { type: 'APPROVE' } })
    expect([response.status, await response.json()], path).toMatchObject([403, { error: { code: 'READ_ONLY' } }])
  }
  expect(audited).toEqual([
    ['retry', 'dead-1', 'READ_ONLY'],
    ['discard', 'dead-1', 'READ_ONLY'],
    ['cancel', ['dead-1'], 'READ_ONLY'],
    ['send', 'order-1', 'READ_ONLY'],
    ['pause', 'order', 'READ_ONLY'],
  ])
  expect(await runtime.counts()).toMatchObject({ dead: 1, waiting: 1 })
  expect(await get('/jobs/count')).toEqual({ count: 4, more: false })
})

test('a change comes by POST, as JSON, and from the page itself', async () => {
  const { post, call, runtime } = await called()
  const refused = async (headers: Record<string, string>): Promise<number> =>
    (await post('/jobs/dead-1/retry', {}, headers)).status
  expect(await refused({ 'sec-fetch-site': 'cross-site' })).toBe(403)
  expect(await refused({ 'sec-fetch-site': 'same-site' })).toBe(403)
  expect(await refused({ 'sec-fetch-site': 'none' })).toBe(403)
  expect(await refused({ origin: 'https://evil.example' })).toBe(403)
  expect(await refused({ origin: 'null' })).toBe(403)
  expect(await refused({ origin: 'http://localhost:4001' })).toBe(403)
  // What a form of another page could send.
  expect(await refused({ 'content-type': 'text/plain' })).toBe(415)
  expect(await refused({ 'content-type': 'application/x-www-form-urlencoded' })).toBe(415)
  expect((await call('/api/v1/jobs/dead-1/retry')).status).toBe(404)
  expect((await call('/api/v1/jobs/dead-1/retry', { method: 'PUT' })).status).toBe(405)
  expect((await runtime.counts()).dead).toBe(1)
  expect((await post('/jobs/dead-1/retry', {}, { origin: 'http://localhost:4000' })).status).toBe(200)
})

test('a body is bounded, and what is no JSON is refused', async () => {
  const { post, call } = await called()
  expect((await post('/jobs/retry', { ids: ['x'.repeat(300_000)] })).status).toBe(400)
  const headers = { 'content-type': 'application/json' }
  expect((await call('/api/v1/jobs/retry', { method: 'POST', headers, body: '{' })).status).toBe(400)
  expect((await call('/api/v1/jobs/retry', { method: 'POST', headers, body: '[]' })).status).toBe(400)
  expect((await call(`/api/v1/jobs?tag=${'x'.repeat(9_000)}`)).status).toBe(414)
  for (const query of [
    ...['state=nonsense', 'limit=0', 'limit=x', 'order=up', 'enqueuedAfter=soon', 'unsupported=false'],
    `enqueuedAfter=${'9'.repeat(20)}`,
  ]) {
    expect((await call(`/api/v1/jobs?${query}`)).status, query).toBe(400)
  }
})

test('a change with an option that it does not have, or with a wrong value, changes nothing', async () => {
  const { post, runtime } = await called()
  const filter = { state: 'dead' }
  for (const [path, body, message] of [
    ['/jobs/dead-1/retry', { input: { to: 'ada' } }, 'a retry takes no input'],
    ['/jobs/dead-1/retry', { from: 'the start' }, "from: expected 'checkpoint' or 'start', got \"the start\""],
    ['/jobs/order-1/cancel', { reasn: 'closed' }, 'a cancel takes no reasn'],
    ['/jobs/order-1/cancel', { reason: 7 }, /^reason: expected text/],
    ['/jobs/discard', { ids: ['dead-1'], force: true }, 'a discard takes no force'],
    ['/jobs/retry', { filter, limit: 1 }, 'a retry takes no limit'],
    ['/jobs/retry', { filter, expected: 'one' }, /^expected: expected a whole number/],
  ] as const) {
    const response = await post(path, body)
    const { error } = (await response.json()) as { error: { message: string } }
    expect([response.status, error.message], JSON.stringify(body)).toEqual([400, expect.stringMatching(message)])
  }
  expect(await runtime.counts()).toMatchObject({ dead: 1, waiting: 1 })
})

test('every response says what a browser may do with it, and no page runs inline script', async () => {
  const { call } = await called()
  for (const path of [
    '/',
    '/assets/app.js',
    '/assets/app.css',
    '/api/v1/overview',
    '/api/v1/charts/job.svg',
    '/api/v1/x',
  ]) {
    const { headers } = await call(path)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy, path).toMatch("default-src 'none'")
    expect(policy, path).not.toMatch(/unsafe|\*/)
    expect(headers.get('x-content-type-options'), path).toBe('nosniff')
    expect(headers.get('x-frame-options'), path).toBe('DENY')
    expect(headers.get('access-control-allow-origin'), path).toBe(null)
  }
  const html = await (await call('/')).text()
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|\son\w+=|style=/)
})

test('the title is text in the page, whatever it holds', async () => {
  const { call } = await called({ title: '</title><script>alert(1)</script>' })
  const html = await (await call('/')).text()
  expect(html).toMatch('&lt;/title&gt;&lt;script&gt;')
  expect(html.match(/<script/g)).toHaveLength(1)
})

test('it works under any prefix: the page needs its slash, and everything else is relative', async () => {
  const { dashboard } = await called()
  const at = (path: string): Promise<Response> => dashboard.fetch(new Request(`http://localhost${path}`))
  for (const prefix of ['', '/jobs', '/a/b/c', '/api/v1/internal', '/assets']) {
    const html = await (await at(`${prefix}/`)).text()
    expect(html, prefix).toMatch('<script type="module" src="assets/app.js">')
    expect((await at(`${prefix}/assets/app.js`)).headers.get('content-type'), prefix).toMatch('text/javascript')
    expect(await (await at(`${prefix}/api/v1`)).json(), prefix).toMatchObject({ role: 'admin' })
    expect((await at(`${prefix}/api/v1/jobs/dead-1`)).status, prefix).toBe(200)
  }
  const redirect = await at('/tools/jobs')
  expect([redirect.status, redirect.headers.get('location')]).toEqual([302, './jobs/'])
  expect((await at('/jobs/assets/nothing.js')).status).toBe(404)
  const again = await at('/assets/app.js')
  const etag = again.headers.get('etag') ?? ''
  const unchanged = await dashboard.fetch(
    new Request('http://localhost/assets/app.js', { headers: { 'if-none-match': etag } }),
  )
  expect(unchanged.status).toBe(304)
})

test('node mounts in a server of node:http, and in frameworks that cut the prefix and read the body', async () => {
  const runtime = await jobs()
  const { node } = createDashboard({ runtime })
  const server = createServer((request, response) => {
    // As Express does below app.use('/jobs', express.json(), node).
    if (request.url?.startsWith('/jobs') === true) {
      const whole = request.url
      Object.assign(request, { originalUrl: whole, url: whole.slice('/jobs'.length) || '/' })
      if (request.method === 'POST') {
        request.resume()
        Object.assign(request, { body: { ids: ['dead-1'] } })
      }
    }
    node(request, response)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
  expect((await fetch(`${base}/jobs/`)).status).toBe(401)
  expect((await fetch(`${base}/jobs/`)).status).toBe(401)
  // In a server of the user's nobody else can print the address.
  const printed = warned.mock.calls.map((call) => call.join(' '))
  expect(printed).toEqual([expect.stringContaining(`it opens at ${base}/jobs/token=`)])
  const cookie = await cookieOf(/http:\S+/.exec(printed[0] ?? '')?.[0] ?? '')
  expect(await (await fetch(`${base}/api/v1`, { headers: { cookie } })).json()).toMatchObject({ role: 'admin' })
  const bare = await fetch(`${base}/jobs`, { redirect: 'manual', headers: { cookie } })
  expect([bare.status, bare.headers.get('location')]).toEqual([302, './jobs/'])
  expect((await fetch(`${base}/jobs/`, { headers: { cookie } })).status).toBe(200)
  const headers = { 'content-type': 'application/json', cookie }
  const retried = await fetch(`${base}/jobs/api/v1/jobs/retry`, { method: 'POST', headers, body: '{}' })
  expect(await retried.json()).toMatchObject({ retried: ['dead-1'] })
  // A page of another site whose name leads here.
  const { port } = new URL(base)
  const rebound = httpRequest({
    host: '127.0.0.1',
    port,
    path: '/api/v1',
    headers: { host: `evil.example:${port}`, cookie },
  }).end()
  const [answer] = (await once(rebound, 'response')) as [{ statusCode: number; resume: () => void }]
  answer.resume()
  expect(answer.statusCode).toBe(403)
})

/** What a browser keeps of the first visit of an address with a token. */
async function cookieOf(address: string): Promise<string> {
  const { status, headers } = await fetch(address)
  expect([status, headers.get('set-cookie')]).toEqual([
    200,
    expect.stringMatching(/; Path=\/; HttpOnly; SameSite=Lax$/),
  ])
  return headers.get('set-cookie')?.split(';', 1)[0] ?? ''
}

test('without authorize the address that is printed carries a token, and nothing is answered without it', async () => {
  const runtime = await jobs()
  const { url, token, close } = await createDashboard({ runtime }).listen()
  onTestFinished(close)
  const { origin } = new URL(url)
  expect(url).toBe(`${origin}/token=${token}/`)
  const status = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
    (await fetch(`${origin}${path}`, { headers, redirect: 'manual' })).status
  // What a proxy on this computer makes of the request of a stranger.
  const proxied = { 'x-real-ip': '203.0.113.7', via: '1.1 proxy', 'cf-connecting-ip': '203.0.113.7' }
  for (const path of ['/', '/assets/app.js', '/api/v1', '/api/v1/overview', '/api/v1/events', '/x']) {
    expect(await status(path), path).toBe(401)
    expect(await status(path, proxied), path).toBe(401)
  }
  const other = 'x'.repeat(32)
  const wrong = [`/token=${other}/api/v1`, `/api/v1?token=${other}`, `/token=/api/v1`, `/token=${token}x/api/v1`]
  for (const path of wrong) expect(await status(path), path).toBe(401)
  const change = await fetch(`${origin}/api/v1/jobs/dead-1/discard`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  expect([change.status, await change.json()]).toMatchObject([401, { error: { code: 'TOKEN_MISSING' } }])
  expect(await runtime.counts()).toMatchObject({ dead: 1 })

  expect(await status(`/token=${token}/api/v1`)).toBe(200)
  expect(await status('/api/v1', { authorization: `Bearer ${token}` })).toBe(200)
  expect(await status(`/tools/token=${token}/jobs/`)).toBe(200)
  for (const first of [url, `${origin}/?token=${token}`]) {
    const cookie = await cookieOf(first)
    expect((await fetch(`${origin}/`, { headers: { cookie } })).status).toBe(200)
    expect(await status('/api/v1', { cookie: `a=b; ${cookie}` })).toBe(200)
    expect(await status('/api/v1', { cookie: cookie.replace(/=.*/, `=${other}`) })).toBe(401)
  }
})

test('each dashboard has a token of its own, and authorize takes its place', async () => {
  const runtime = await jobs()
  const [one, two, guarded] = await Promise.all([
    createDashboard({ runtime }).listen(),
    createDashboard({ runtime }).listen(),
    createDashboard({ runtime, authorize: () => 'read' }).listen(),
  ])
  onTestFinished(async () => void (await Promise.all([one, two, guarded].map(({ close }) => close()))))
  const cookie = `${await cookieOf(one.url)}; ${await cookieOf(two.url)}`
  for (const { url } of [one, two]) {
    expect((await fetch(`${new URL(url).origin}/api/v1`, { headers: { cookie } })).status).toBe(200)
  }
  expect(one.token).not.toBe(two.token)
  expect(guarded.token).toBe(null)
  expect(guarded.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
  expect((await fetch(`${guarded.url}api/v1`)).status).toBe(200)
})

test('listen refuses a host that others can reach unless there is authorize, and close ends it', async () => {
  const runtime = await jobs()
  const open = createDashboard({ runtime })
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'jobs.example']) {
    await expect(open.listen({ host }), host).rejects.toThrow(/loopback/)
  }
  const { url, close } = await open.listen()
  const live = await fetch(`${url}api/v1/events`)
  expect(live.status).toBe(200)
  await close()
  await expect(live.text().catch(() => 'cut')).resolves.toEqual(expect.any(String))
  await expect(fetch(url)).rejects.toThrow()
  const guarded = await createDashboard({ runtime, authorize: () => 'read' }).listen({ host: '0.0.0.0' })
  expect(guarded.url).toMatch(/^http:\/\/0\.0\.0\.0:\d+\/$/)
  await guarded.close()
})

test('options are checked', async () => {
  const runtime = await jobs()
  expect(() => createDashboard({})).toThrow(/runtime or a client/)
  expect(() => createDashboard({ runtime, client: runtime })).toThrow(/runtime or a client/)
  expect(() => createDashboard({ runtime, authorise: () => 'read' } as object)).toThrow(/authorise/)
  expect(() => createDashboard({ runtime, authorize: 'admin' as never })).toThrow(/function/)
  await expect(createDashboard({ runtime }).listen({ port: -1 })).rejects.toThrow(/port/)
})
