/** The screen of dead jobs within a scope and of one type, counts of a search, and the page while the store fails. */
import type { Browser, Page } from 'playwright-core'
import { constant, createRuntime, defineJob, fatal, JobchartError, memoryStore, type Runtime } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { openedPage } from './opened-page.ts'
import { jobs } from './world.ts'

let browser: Browser
beforeAll(async () => {
  if (canStartBrowser) browser = await startBrowser()
})
afterAll(() => browser?.close())

const patient = { timeout: 30_000 }

const failing = (type: string) =>
  defineJob<{ why: string }, void>({
    type,
    run: ({ why }) => {
      throw fatal(new Error(why))
    },
  })
const [call, mail] = [failing('call'), failing('mail')]

/** Calls of two tenants have died of two errors, and a mail of one. */
async function died(): Promise<Runtime> {
  const runtime = createRuntime({ jobs: [call, mail], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  const die = async (job: typeof call, id: string, why: string, tenant: string): Promise<void> => {
    const made = await runtime.enqueue(job, { why }, { id, meta: { tenant } })
    await made.result().catch(() => {})
  }
  await die(call, 'acme-1', 'no answer', 'acme')
  await die(call, 'acme-2', 'no answer', 'acme')
  await die(call, 'acme-3', 'refused', 'acme')
  await die(call, 'other-1', 'no answer', 'other')
  await die(mail, 'other-2', 'no answer', 'other')
  return runtime
}

const group = (page: Page, message: string) => page.locator('.groups li', { hasText: message })
const generations = async (runtime: Runtime): Promise<Record<string, number>> =>
  Object.fromEntries((await runtime.list({ limit: 10 })).map(({ id, generation }) => [id, generation]))

test.runIf(canStartBrowser)('dead jobs are retried and discarded within the scope alone', async () => {
  const runtime = await died()
  const page = await openedPage(browser, { runtime }, '#/dead?scope=tenant%3Aacme')
  await page.getByText('figures are of all jobs, lists and changes within tenant:acme').waitFor()
  const calls = group(page, 'no answer').filter({ hasText: 'call' })
  await calls.getByRole('button', { name: 'Retry one' }).click()
  await page.getByText('The one that has died last in tenant:acme.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Retry one' }).click()
  await page.getByText('1 retried.').waitFor()
  await expect.poll(() => generations(runtime), patient).toMatchObject({ 'acme-2': 2, 'other-1': 1 })
  await calls.getByRole('button', { name: 'Retry all' }).click()
  await page.getByRole('heading', { name: 'Retry 2 jobs of call in tenant:acme?' }).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Retry 2' }).click()
  await expect.poll(() => generations(runtime), patient).toMatchObject({ 'acme-1': 2, 'acme-2': 3, 'other-1': 1 })
  await expect.poll(async () => (await runtime.counts()).dead, patient).toBe(5)
  await calls.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('heading', { name: 'Discard 2 jobs of call in tenant:acme?' }).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Discard 2' }).click()
  await expect
    .poll(async () => Object.keys(await generations(runtime)).toSorted(), patient)
    .toEqual(['acme-3', 'other-1', 'other-2'])
  await group(page, 'no answer').filter({ hasText: 'mail' }).getByRole('button', { name: 'Retry' }).click()
  await page.getByText('No dead job of the group is in tenant:acme.').waitFor()
  await calls.getByRole('link', { name: 'its dead jobs in tenant:acme' }).click()
  await page.getByText('No job matches').waitFor()
})

test.runIf(canStartBrowser)('dead jobs of other types are not told as jobs of no group', async () => {
  const page = await openedPage(browser, { runtime: await died() }, '#/dead?type=mail')
  const all = page.getByRole('link', { name: /^all dead jobs/ })
  expect(await all.innerText()).toBe('all dead jobs')
  await all.click()
  await expect.poll(() => page.locator('tbody a.id').allTextContents(), patient).toEqual(['other-2'])
})

test.runIf(canStartBrowser)('all that merged groups have is changed together from the list of jobs', async () => {
  const runtime = await died()
  const groups = await runtime.failures({ type: 'call' })
  await runtime.mergeFailures(
    'call',
    groups.map(({ fingerprint }) => fingerprint),
  )
  const page = await openedPage(browser, { runtime }, '#/dead')
  await group(page, '2 groups in one').getByRole('link', { name: 'the 4 dead jobs' }).click()
  await expect.poll(() => page.locator('tbody a.id').count(), patient).toBe(4)
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('heading', { name: 'Discard 4 jobs?' }).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
  await page.getByText('4 discarded.').waitFor()
  expect(Object.keys(await generations(runtime))).toEqual(['other-2'])
})

test.runIf(canStartBrowser)('a search tells how often a failure was, where no job has died of it', async () => {
  const flaky = defineJob<void, void>({
    type: 'flaky',
    retry: { maxAttempts: 2, backoff: constant('1h') },
    run: () => {
      throw new Error('come back later')
    },
  })
  const runtime = createRuntime({ jobs: [flaky], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  await runtime.enqueue(flaky, undefined)
  await expect.poll(async () => (await runtime.counts()).retrying).toBe(1)
  expect((await runtime.find('come back')).hits).toMatchObject([{ kind: 'failure', jobs: 0, failed: 1 }])
  const page = await openedPage(browser, { runtime }, '#/find/come%20back')
  await page.getByText('1 failed attempt of flaky').first().waitFor()
})

test.runIf(canStartBrowser)('when and for whom attempts failed is told anew when others fail', async () => {
  const runtime = await died()
  const page = await openedPage(browser, { runtime }, '#/dead?type=call')
  const calls = group(page, 'no answer')
  await calls.getByText('when, and for whom').click()
  await calls.getByText('of 3 jobs').waitFor()
  await runtime.run(call, { why: 'no answer' }).catch(() => {})
  await calls.getByText('of 4 jobs').waitFor(patient)
})

test.runIf(canStartBrowser)('while the store fails nothing says that all is as usual', async () => {
  const store = memoryStore()
  const runtime = await jobs(store)
  const { url, close } = await createDashboard({ runtime }).listen()
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  onTestFinished(async () => {
    await page.close()
    await close()
  })
  await page.goto(`${url}#/`)
  const calm = page.getByText('All is as usual')
  await calm.waitFor()
  const unavailable = new JobchartError('STORE_UNAVAILABLE', 'the disk is gone', { hint: 'Mount it.' })
  const failing = vi.spyOn(store, 'counts').mockRejectedValue(unavailable)
  await page.getByText('The store does not answer').waitFor(patient)
  expect(await page.locator('.connection').innerText()).toBe('the store fails')
  expect(await calm.count()).toBe(0)
  failing.mockRestore()
  await calm.waitFor(patient)
  expect(await page.locator('.connection').innerText()).toBe('live')
})

test.runIf(canStartBrowser).each([
  ['a redirect to another site', () => Response.redirect('https://example.com/login')],
  ['a page to sign in', () => new Response('<p>Sign in', { headers: { 'content-type': 'text/html' } })],
])('where a sign-in has ended, answered by %s, the page says so', async (_, refusal) => {
  const runtime = await jobs()
  let isSignedIn = true
  const authorize = () => (isSignedIn ? 'admin' : refusal())
  const { url, close } = await createDashboard({ runtime, authorize }).listen()
  const page = await browser.newPage()
  onTestFinished(async () => {
    await page.close()
    await close()
  })
  await page.goto(`${url}#/jobs`)
  await page.getByText('dead-1').waitFor()
  isSignedIn = false
  await page.goto(`${url}#/job/order-1`)
  await page.getByRole('alert').getByText('perhaps you have to sign in again').waitFor()
})

test.runIf(canStartBrowser)('a job has its page whatever its id is', async () => {
  const runtime = createRuntime({ jobs: [], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  for (const id of ['count', 'a/b?c#d%2F']) await runtime.enqueueByName('mail', {}, { id })
  const page = await openedPage(browser, { runtime }, `#/job/count`)
  await page.getByRole('heading', { name: 'count' }).waitFor()
  await page.goto(`${page.url().split('#')[0]}#/job/${encodeURIComponent('a/b?c#d%2F')}`)
  await page.getByRole('heading', { name: 'a/b?c#d%2F' }).waitFor()
})

test.runIf(canStartBrowser)('a table of many rows shows 200, and more of them when it is asked to', async () => {
  const runtime = createRuntime({ jobs: [call], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  for (let i = 0; i < 450; i++) await runtime.schedule(`tick ${i}`, '@every 1h', call, { why: 'a tick' })
  const page = await openedPage(browser, { runtime }, '#/schedules')
  const rows = page.locator('tbody tr')
  await page.getByRole('button', { name: 'Show 200 of 250 more' }).click()
  await expect.poll(() => rows.count(), patient).toBe(400)
  await page.getByRole('button', { name: 'Show 50 of 50 more' }).click()
  await expect.poll(() => rows.count(), patient).toBe(450)
  // A filter looks at all of them.
  await page.getByRole('searchbox').fill('tick 449')
  await expect.poll(() => rows.count(), patient).toBe(1)
})

test.runIf(canStartBrowser)('of much that begins at once eight notifications are shown, and their number', async () => {
  const { url, close } = await createDashboard({ runtime: await jobs() }).listen()
  const page = await browser.newPage()
  onTestFinished(async () => {
    await page.close()
    await close()
  })
  await page.addInitScript(`
    window.told = []
    window.Notification = class {
      constructor(_, { body }) { told.push(body) }
      static requestPermission = async () => 'granted'
    }`)
  let answers = 0
  await page.route('**/api/v1/trouble', async (route) => {
    const trouble = Array.from({ length: answers++ * 10 }, (_, i) => ({ key: `slow ${i}`, text: `${i} is slow` }))
    await route.fulfill({ json: { now: 0, trouble, troubleLeftOut: 0 } })
  })
  await page.clock.install()
  await page.goto(url)
  const looked = page.waitForResponse('**/api/v1/trouble')
  await page.getByRole('button', { name: 'Notify me' }).click()
  await looked
  await page.clock.fastForward(31_000)
  await expect
    .poll(() => page.evaluate('told'), patient)
    .toEqual([...Array.from({ length: 8 }, (_, i) => `${i} is slow`), 'And 2 more.'])
})

test.runIf(canStartBrowser)('what takes long to answer is asked again after twice that time', async () => {
  const runtime = await jobs()
  const { url, close } = await createDashboard({ runtime }).listen()
  const page = await browser.newPage()
  onTestFinished(async () => {
    await page.close()
    await close()
  })
  const answerMs = 1_000
  const asked: number[] = []
  await page.route('**/api/v1/overview', async (route) => {
    asked.push(performance.now())
    await new Promise((resolve) => setTimeout(resolve, answerMs))
    await route.continue()
    await runtime.enqueueByName('other', {})
  })
  await page.goto(url)
  await expect.poll(() => asked.length, patient).toBeGreaterThan(2)
  const gaps = asked.slice(1).map((at, i) => at - (asked[i] ?? 0))
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(2 * answerMs)
  // An answer that is under way enqueues a job: the runtime stops after that.
  await page.unrouteAll({ behavior: 'wait' })
})
