/**
 * Web push from the figures to the notification. There is no push service on the computer: one in this process takes
 * what the real library has encrypted, decrypts it with the keys of the browser, and hands it to the browser's worker.
 */
import { createECDH, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createClient, memoryStore } from 'jobchart'
import { createDashboard, fileSubscriptions } from 'jobchart/dashboard'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import webpush from 'web-push'
import { newJob, put } from '../../src/store-testing/conformance/acts.ts'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { decrypted } from './push-decrypted.ts'

let browser: Browser
beforeAll(async () => {
  if (canStartBrowser) browser = await startBrowser()
})
afterAll(() => browser?.close())

/**
 * Takes the place of the push service of Chromium, which cannot be reached, and of who is asked for permission: a
 * browser without windows gives none.
 */
const subscribing = ({ endpoint, keys }: { endpoint: string; keys: object }): string => `{
  Notification.requestPermission = async () => 'granted'
  let subscription = null
  PushManager.prototype.getSubscription = async () => subscription
  PushManager.prototype.subscribe = async (options) => {
    window.subscribedWith = options
    return subscription ??= {
      endpoint: ${JSON.stringify(endpoint)},
      toJSON: () => (${JSON.stringify({ endpoint, expirationTime: null, keys })}),
      unsubscribe: async () => { subscription = null; return true },
    }
  }
}`

test.runIf(canStartBrowser)('a browser in which no page is open shows what is no longer as usual', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const subscriptions = fileSubscriptions(join(folder.path, 'push.json'))
  const vapid = webpush.generateVAPIDKeys()
  const ecdh = createECDH('prime256v1')
  const auth = randomBytes(16)
  const endpoint = 'https://push.example.com/send/1'
  const keys = { p256dh: ecdh.generateKeys('base64url'), auth: auth.toString('base64url') }
  const sent = Promise.withResolvers<string>()

  const store = memoryStore()
  const client = createClient({ store, logger: {} })
  onTestFinished(() => client.close())
  await client.counts()
  const { url, close } = await createDashboard({
    client,
    title: 'orders',
    troubleEvery: '1s',
    push: {
      publicKey: vapid.publicKey,
      services: ['push.example.com'],
      subscriptions,
      send: async (subscription, message) => {
        const vapidDetails = { subject: 'mailto:ops@example.com', ...vapid }
        const details = webpush.generateRequestDetails(subscription, message, { vapidDetails })
        expect(details.endpoint).toBe(endpoint)
        expect(details.headers).toMatchObject({ 'Content-Encoding': 'aes128gcm' })
        sent.resolve(decrypted(details.body, ecdh, auth))
      },
    },
  }).listen()
  onTestFinished(close)

  const context = await browser.newContext()
  onTestFinished(() => context.close())
  await context.addInitScript(subscribing({ endpoint, keys }))
  const started = context.waitForEvent('serviceworker')
  const page = await context.newPage()
  await page.goto(url)
  await page.getByRole('button', { name: 'Notify me' }).click()
  await page.getByText('also when the page is closed').waitFor()
  expect(await page.evaluate('window.subscribedWith')).toEqual({
    userVisibleOnly: true,
    applicationServerKey: vapid.publicKey,
  })
  expect(await subscriptions.list()).toEqual([{ endpoint, keys }])

  // The worker of the page is found by DevTools while a page is open; then only the worker is there.
  const devtools = await context.newCDPSession(page)
  const registered = new Promise<{ registrationId: string; scopeURL: string }>((resolve) => {
    devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const [registration] = registrations
      if (registration !== undefined) resolve(registration)
    })
  })
  await devtools.send('ServiceWorker.enable')
  const { registrationId, scopeURL } = await registered
  const { origin } = new URL(url)
  expect(scopeURL).toBe(`${origin}/assets/`)
  const worker = await started
  await worker.evaluate(`void (self.shown = new Promise((resolve) => {
    registration.showNotification = async (title, { body, tag }) => resolve({ title, body, tag })
  }))`)
  await page.goto('about:blank')

  await put(store, newJob('a'))
  await devtools.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data: await sent.promise })
  expect(await worker.evaluate('self.shown')).toEqual({
    title: 'orders',
    body: expect.stringContaining('mail') as string,
    tag: 'no-worker mail',
  })
  await page.goto(`${origin}/`)

  // Off: where the server cannot forget the browser, the page says so.
  await page.route('**/push/unsubscribe', (route) => route.fulfill({ status: 503, body: 'no' }))
  await page.getByRole('button', { name: 'Notifications are on' }).click()
  await page.getByText('but the server could not forget it').waitFor()
  await page.unroute('**/push/unsubscribe')
  await page.getByRole('button', { name: 'Notify me' }).click()
  await page.getByText('also when the page is closed').waitFor()
  // Off again: it does.
  await page.getByRole('button', { name: 'Notifications are on' }).click()
  await page.getByText('No notifications any more.').waitFor()
  expect(await subscriptions.list()).toEqual([])
})

test.runIf(canStartBrowser)(
  'where the push service of a browser refuses, the page says so and looks itself',
  async () => {
    const folder = temporaryFolder()
    onTestFinished(() => folder.remove())
    const subscriptions = fileSubscriptions(join(folder.path, 'push.json'))
    const client = createClient({ store: memoryStore(), logger: {} })
    onTestFinished(() => client.close())
    await client.counts()
    const { publicKey } = webpush.generateVAPIDKeys()
    const { url, close } = await createDashboard({
      client,
      push: { publicKey, subscriptions, send: async () => {} },
    }).listen()
    onTestFinished(close)
    const context = await browser.newContext()
    onTestFinished(() => context.close())
    await context.addInitScript(`Notification.requestPermission = async () => 'granted'
    PushManager.prototype.subscribe = async () => { throw new Error('no service.') }`)
    const page = await context.newPage()
    const looked = page.waitForRequest((request) => request.url().endsWith('/api/v1/trouble'))
    await page.goto(url)
    await page.getByRole('button', { name: 'Notify me' }).click()
    await page.getByText('This browser is told while the page is open only: no service.').waitFor()
    await looked
    expect(await subscriptions.list()).toEqual([])
  },
)
