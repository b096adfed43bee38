/** Web push: what the server keeps and sends. The messages are encrypted by the library that users take. */
import { createECDH, randomBytes } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, memoryStore, type Client } from 'jobchart'
import {
  createDashboard,
  fileSubscriptions,
  type BrowserSubscription,
  type PushOptions,
  type Trouble,
} from 'jobchart/dashboard'
import { expect, onTestFinished, test, vi } from 'vitest'
import webpush from 'web-push'
import { messageOf, Push, pushOptions } from '../../src/dashboard/push.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const { publicKey } = webpush.generateVAPIDKeys()

function browserAt(endpoint: string): BrowserSubscription {
  const keys = createECDH('prime256v1')
  return {
    endpoint,
    keys: { p256dh: keys.generateKeys('base64url'), auth: randomBytes(16).toString('base64url') },
  }
}

const endpointOf = (n: number): string => `https://fcm.googleapis.com/fcm/send/${n}`

function inFile(): { readonly path: string; readonly subscriptions: PushOptions['subscriptions'] } {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const path = join(folder.path, 'push.json')
  return { path, subscriptions: fileSubscriptions(path) }
}

const trouble = (key: string, text = key): Trouble => ({ key, kind: 'slow', name: key, text, value: 1, usual: null })
const report = (...began: Trouble[]) => ({ began, ended: [], trouble: began })

/** @param send in place of a push service */
function pushBy(send: PushOptions['send'], subscriptions = inFile().subscriptions): Push {
  return new Push(pushOptions({ publicKey, send, subscriptions }, 'push'), 'orders')
}

function clientOf(): Client {
  const client = createClient({ store: memoryStore(), logger: {} })
  onTestFinished(() => client.close())
  return client
}

test('a browser subscribes and is forgotten again, as admin and as reader', async () => {
  const { path, subscriptions } = inFile()
  const push = { publicKey, send: async () => {}, subscriptions }
  const dashboard = createDashboard({ client: clientOf(), authorize: () => 'read', push })
  const post = async (what: string, body: object): Promise<[number, unknown]> => {
    const answer = await dashboard.fetch(
      new Request(`http://localhost/api/v1/push/${what}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
    return [answer.status, await answer.json()]
  }
  const about = await dashboard.fetch(new Request('http://localhost/api/v1'))
  expect(await about.json()).toMatchObject({ push: publicKey })
  const [first, second] = [browserAt(endpointOf(1)), browserAt(endpointOf(2))]
  expect(await post('subscribe', { ...first, expirationTime: null })).toEqual([200, { subscribed: true }])
  expect(await post('subscribe', second)).toEqual([200, { subscribed: true }])
  // A page that is opened again.
  expect(await post('subscribe', first)).toEqual([200, { subscribed: true }])
  expect(await subscriptions.list()).toEqual([second, first])
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(await post('unsubscribe', { endpoint: second.endpoint })).toEqual([200, { subscribed: false }])
  expect(await post('unsubscribe', { endpoint: 'https://none' })).toEqual([200, { subscribed: false }])
  expect(await fileSubscriptions(path).list()).toEqual([first])
  const worker = await dashboard.fetch(new Request('http://localhost/assets/push.js'))
  expect([worker.status, worker.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
})

test('without web push nobody subscribes', async () => {
  const dashboard = createDashboard({ client: clientOf() })
  for (const path of ['subscribe', 'unsubscribe']) {
    const headers = { 'content-type': 'application/json' }
    const request = new Request(`http://localhost/api/v1/push/${path}`, { method: 'POST', headers, body: '{}' })
    expect((await dashboard.fetch(request)).status).toBe(404)
  }
  expect(await (await dashboard.fetch(new Request('http://localhost/api/v1'))).json()).toMatchObject({ push: null })
})

test('what is no browser at a push service that is known is refused', async () => {
  const { path, subscriptions } = inFile()
  const push = pushBy(async () => {}, subscriptions)
  const good = browserAt(endpointOf(1))
  const endpoints = [
    'http://fcm.googleapis.com/fcm/send/1',
    'https://fcm.googleapis.com:8443/fcm/send/1',
    'https://user:secret@fcm.googleapis.com/fcm/send/1',
    'https://fcm.googleapis.com.example.com/',
    'https://evilfcm.googleapis.com/',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost/',
    'no address',
    `https://fcm.googleapis.com/${'x'.repeat(1_000)}`,
    1,
  ]
  for (const endpoint of endpoints) {
    await expect(push.add({ ...good, endpoint }), String(endpoint)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
  for (const keys of [null, {}, { ...good.keys, auth: 'short' }, { ...good.keys, p256dh: '*'.repeat(87) }]) {
    await expect(push.add({ ...good, keys })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
  await expect(push.remove(undefined)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(await subscriptions.list()).toEqual([])
  expect(() => readFileSync(path)).toThrow('ENOENT')
  for (const host of ['updates.push.services.mozilla.com', 'wns2-db5p.notify.windows.com', 'web.push.apple.com']) {
    await push.add(browserAt(`https://${host}/1`))
  }
  const own = new Push(
    pushOptions({ publicKey, send: async () => {}, subscriptions, services: ['push.example.com'] }, 'push'),
    'orders',
  )
  await own.add(browserAt('https://push.example.com/1'))
  await expect(own.add(good)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

test('options are checked', () => {
  const { subscriptions } = inFile()
  const send = async (): Promise<void> => {}
  const made = (push: object) => () => createDashboard({ client: clientOf(), push: push as PushOptions })
  expect(made({ publicKey: 'secret', send, subscriptions })).toThrow('push.publicKey')
  expect(made({ publicKey, subscriptions })).toThrow('push.send')
  expect(made({ publicKey, send })).toThrow('push.subscriptions')
  for (const services of [[], ['https://push.example.com'], ['push.example.com:443'], ['']]) {
    expect(made({ publicKey, send, subscriptions, services })).toThrow('push.services')
  }
})

test('at most a hundred browsers are told', async () => {
  const kept = Array.from({ length: 99 }, (_, n) => browserAt(endpointOf(n)))
  const push = pushBy(async () => {}, {
    list: async () => kept,
    add: async (each) => void kept.push(each),
    remove: async () => {},
  })
  await push.add(browserAt(endpointOf(99)))
  await expect(push.add(browserAt(endpointOf(100)))).rejects.toMatchObject({ code: 'CAPACITY' })
  // One that is told already changes its keys.
  await push.add(browserAt(endpointOf(7)))
})

test('changes of a file that come together are all kept, and a file of something else is refused', async () => {
  const { path, subscriptions } = inFile()
  const browsers = Array.from({ length: 20 }, (_, n) => browserAt(endpointOf(n)))
  await Promise.all(browsers.map((each) => subscriptions.add(each)))
  await Promise.all(browsers.slice(5).map(({ endpoint }) => subscriptions.remove(endpoint)))
  expect(await subscriptions.list()).toEqual(browsers.slice(0, 5))
  for (const text of ['{', '[]', '{"subscriptions":1}', 'null']) {
    writeFileSync(path, text)
    await expect(subscriptions.list(), text).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(subscriptions.add(browserAt(endpointOf(1))), text).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect(readFileSync(path, 'utf8')).toBe(text)
  }
})

test('each browser is told once of what began; one that has ended is forgotten, and one that fails stops nobody', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => logged.mockRestore())
  const { subscriptions } = inFile()
  const told: [string, unknown][] = []
  const statuses = new Map([
    [endpointOf(3), 410],
    [endpointOf(4), 404],
    [endpointOf(5), 500],
  ])
  const push = pushBy(async ({ endpoint }, message) => {
    const statusCode = statuses.get(endpoint)
    if (statusCode !== undefined) throw Object.assign(new Error('refused'), { statusCode })
    told.push([endpoint, JSON.parse(message)])
  }, subscriptions)
  for (let n = 1; n <= 25; n++) await push.add(browserAt(endpointOf(n)))
  await push.tell({ began: [], ended: [trouble('b')], trouble: [] })
  expect(told).toEqual([])
  await push.tell(report(trouble('slow mail', 'The oldest job of mail waits for 2 min')))
  const message = {
    title: 'orders',
    began: [{ key: 'slow mail', text: 'The oldest job of mail waits for 2 min' }],
    more: 0,
  }
  const well = Array.from({ length: 25 }, (_, n) => endpointOf(n + 1)).filter((each) => !statuses.has(each))
  expect(told.toSorted(([a], [b]) => a.localeCompare(b))).toEqual(
    well.toSorted((a, b) => a.localeCompare(b)).map((endpoint) => [endpoint, message]),
  )
  const left = (await subscriptions.list()).map(({ endpoint }) => endpoint)
  expect(left).toHaveLength(23)
  expect(left).toContain(endpointOf(5))
  expect(logged).toHaveBeenCalledTimes(1)
  expect(JSON.stringify(logged.mock.calls)).toContain('a push message was not taken')
})

test('a service that does not answer holds up nobody for ever', async () => {
  vi.useFakeTimers()
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => {
    vi.useRealTimers()
    logged.mockRestore()
  })
  const kept = [browserAt(endpointOf(1))]
  const subscriptions = { list: async () => kept, add: async () => {}, remove: async () => {} }
  const telling = pushBy(() => new Promise(() => {}), subscriptions).tell(report(trouble('a')))
  await vi.advanceTimersByTimeAsync(10_000)
  await telling
  expect(logged).toHaveBeenCalledTimes(1)
})

test('a message has as much as a push service takes, the worst first', () => {
  const many = Array.from({ length: 50 }, (_, n) => trouble(`slow ${n}`, `${n} ${'語'.repeat(500)}`))
  const message = messageOf('orders', many)
  expect(Buffer.byteLength(message)).toBeLessThanOrEqual(3_000)
  const { began, more } = JSON.parse(message) as { began: { key: string; text: string }[]; more: number }
  expect(began.map(({ key }) => key)).toEqual(['slow 0', 'slow 1', 'slow 2'].slice(0, began.length))
  expect(began.length).toBeGreaterThan(1)
  expect(more).toBe(50 - began.length)
  expect(Array.from(began[0]?.text ?? '')).toHaveLength(300)
})
