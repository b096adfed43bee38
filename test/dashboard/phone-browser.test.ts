/** A phone, a wide window, a slow network, and who cannot see: the page in a browser. */
import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import type { Runtime } from 'jobchart'
import { createDashboard, type DashboardOptions } from 'jobchart/dashboard'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { albums } from './family-world.ts'
import { email, jobs, reviews } from './world.ts'

let browser: Browser
beforeAll(async () => {
  if (canStartBrowser) browser = await startBrowser()
})
afterAll(() => browser?.close())

const patient = { timeout: 30_000 }

async function opened(
  runtime: Runtime,
  width: number,
  authorize?: DashboardOptions['authorize'],
): Promise<{ page: Page; show: (hash: string) => Promise<void> }> {
  const { url, close } = await createDashboard({ runtime, ...(authorize && { authorize }) }).listen()
  const page = await browser.newPage({ viewport: { width, height: 780 } })
  onTestFinished(async () => {
    await page.close()
    await close()
  })
  await page.goto(url)
  const show = async (hash: string): Promise<void> => {
    await page.goto(`${new URL(url).origin}/${hash}`)
    await page.locator('main h1').waitFor()
    await page.locator('.loading').waitFor({ state: 'detached' })
  }
  return { page, show }
}

const screens = ['#/', '#/jobs', '#/dead', '#/schedules', '#/workers', '#/charts', '#/queue/email.send', '#/job/dead-1']

/** Elements that reach out of the window, and are not within one that scrolls or cuts. */
const cut = `[...document.querySelectorAll('body *')].filter((each) => {
  const { left, right, width } = each.getBoundingClientRect()
  if (width < 2 || (left > -1 && right < innerWidth + 1)) return false
  for (let outer = each.parentElement; outer !== document.body && outer !== null; outer = outer.parentElement)
    if (getComputedStyle(outer).overflowX !== 'visible') return false
  return !each.closest('.unseen')
}).map((each) => each.outerHTML.slice(0, 80))`

const right = (box: { readonly x: number; readonly width: number } | null): number =>
  box === null ? Infinity : box.x + box.width

test.runIf(canStartBrowser)('on a phone of 360 px nothing is cut, and every screen is one tap away', async () => {
  const { page, show } = await opened(await jobs(), 360)
  for (const hash of screens) {
    await show(hash)
    expect(await page.evaluate('document.documentElement.scrollWidth'), hash).toBeLessThanOrEqual(360)
    expect(await page.evaluate(cut), hash).toEqual([])
    for (const link of await page.locator('nav a:visible').all()) {
      const box = await link.boundingBox()
      expect(box === null ? -1 : box.x + box.width, hash).toBeLessThanOrEqual(360)
    }
  }
  expect(await page.locator('nav a:visible').allInnerTexts()).toEqual([
    'Overview',
    'Jobs',
    expect.stringMatching(/^Dead/),
    'Schedules',
    'Workers',
    'Charts',
  ])
})

test.runIf(canStartBrowser)('on a phone the chart of a job is closed, and opens; what to do comes first', async () => {
  const { page, show } = await opened(await reviews(), 360)
  await show('#/job/review-1')
  const chart = page.getByRole('button', { name: 'Where it stands' })
  expect(await chart.getAttribute('aria-expanded')).toBe('false')
  expect(await page.locator('.chart').count()).toBe(0)
  const approve = await page.getByRole('button', { name: 'APPROVE' }).boundingBox()
  expect(approve?.y).toBeLessThan(780)
  await chart.click()
  await page.locator('.chart svg').waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
})

test.runIf(canStartBrowser)('on a wide window the page uses it', async () => {
  const { page, show } = await opened(await reviews(), 1900)
  await show('#/job/review-1')
  const chart = await page.locator('.panel', { hasText: 'Where it stands' }).boundingBox()
  const changes = await page.locator('.panel', { hasText: 'What checkpoint' }).boundingBox()
  expect(changes?.y).toBe(chart?.y)
  expect((changes?.x ?? 0) + (changes?.width ?? 0)).toBeGreaterThan(1_700)
})

test.runIf(canStartBrowser)('a job is copied as JSON, as a call and as a test', async () => {
  const runtime = await reviews()
  const { url, close } = await createDashboard({ runtime, authorize: () => 'read' }).listen()
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  onTestFinished(async () => {
    await context.close()
    await close()
  })
  const page = await context.newPage()
  await page.goto(`${url}#/job/review-1`)
  const copied = async (what: string): Promise<string> => {
    await page.getByText('Copy as').click()
    await page.getByRole('button', { name: what, exact: true }).click()
    await page
      .getByText(/was copied/)
      .first()
      .waitFor()
    return (await page.evaluate('navigator.clipboard.readText()')) as string
  }
  expect(JSON.parse(await copied('JSON'))).toMatchObject({ job: { id: 'review-1' }, machine: { value: 'reminded' } })
  await expect
    .poll(() => copied('curl'), patient)
    .toBe(`curl -s '${url}api/v1/jobs/review-1' -H "authorization: Bearer $TOKEN"`)
  await expect.poll(() => copied('Test in virtual time'), patient).toMatch('await job.send({"type":"REMIND"})')
})

test.runIf(canStartBrowser)(
  'on a phone the whole id, the type and the time of each job in the list can be read',
  async () => {
    const runtime = await jobs()
    const ids = ['a', 'b'].map((end) => `order-of-a-customer-with-a-long-name-0000000000${end}`)
    for (const id of ids) await runtime.enqueue(email, { to: 'ada' }, { id })
    for (const authorize of [undefined, () => 'read' as const]) {
      const { page, show } = await opened(runtime, 360, authorize)
      await show('#/jobs')
      await page.getByText(ids[1]!, { exact: true }).waitFor()
      const hidden = await page.evaluate(`[...document.querySelectorAll('.jobs tbody td')].flatMap((cell) => {
      const box = cell.getBoundingClientRect()
      if (box.width === 0) return []
      const parts = [cell, ...cell.querySelectorAll('*')]
      const isCut = parts.some((each) => getComputedStyle(each).overflow !== 'visible' && each.scrollWidth > each.clientWidth)
      return isCut || box.right > innerWidth - 12 ? [cell.textContent] : []
    })`)
      expect(hidden).toEqual([])
      const [first] = await page.locator('.jobs tbody tr').all()
      expect(await first?.innerText()).toMatch(/done[\s\S]*email\.send[\s\S]*0000b[\s\S]*(now|ago)/)
    }
  },
)

/** Words of the page of which a part is on another line, though they are shorter than one. */
const broken = `(() => {
  const words = new Set()
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    if (text.parentElement.closest('svg, script, .unseen, dialog') !== null) continue
    for (const { 0: word, index } of text.data.matchAll(/[\\w.]{2,20}/g)) {
      const range = document.createRange()
      range.setStart(text, index)
      range.setEnd(text, index + word.length)
      const lines = new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top)))
      if (lines.size > 1) words.add(word)
    }
  }
  return [...words]
})()`

test.runIf(canStartBrowser)('on a phone no word is broken that is shorter than a line', async () => {
  const runtime = await jobs()
  await runtime.schedule('newsletter', '0 3 * * *', email, { to: 'all' }, { timezone: 'Europe/Berlin' })
  const { page, show } = await opened(runtime, 360)
  for (const hash of [...screens, '#/job/order-1', '#/queue/order']) {
    await show(hash)
    await expect.poll(() => page.locator('.panel, .empty').count(), patient).toBeGreaterThan(0)
    expect(await page.evaluate(broken), hash).toEqual([])
  }
})

test.runIf(canStartBrowser)('a worker has one triangle, which opens and closes it', async () => {
  const { page, show } = await opened(await jobs(), 1280)
  await show('#/workers')
  const fold = page.locator('.workers button.fold')
  const triangle = async (): Promise<string> => {
    const before = await page.evaluate(
      `getComputedStyle(document.querySelector('.workers button.fold'), '::before').content`,
    )
    return `${await fold.textContent()}${String(before).replaceAll('"', '')}`
  }
  expect(await triangle()).toBe('▾')
  await fold.click()
  await expect.poll(triangle, patient).toBe('▸')
})

test.runIf(canStartBrowser)(
  'a menu is within a phone, and a click beside it or Esc closes it, not the job',
  async () => {
    const { page, show } = await opened(await reviews(), 360)
    await show('#/jobs')
    await show('#/job/review-1')
    const [menu, items] = [page.getByText('Copy as'), page.locator('.menu > div').first()]
    // Beside a longer id it would reach out of the window.
    await page.evaluate(`document.querySelector('h1 .id').textContent = 'order-004089'`)
    await menu.click()
    await expect.poll(async () => right(await items.boundingBox()), patient).toBeLessThanOrEqual(345)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    await page.locator('h1 .id').click()
    await expect.poll(() => items.isVisible(), patient).toBe(false)
    await menu.click()
    await expect.poll(() => items.isVisible(), patient).toBe(true)
    await page.keyboard.press('Escape')
    await expect.poll(() => items.isVisible(), patient).toBe(false)
    expect(page.url()).toMatch('#/job/review-1')
    // Where nothing is open, Esc leads back.
    await page.keyboard.press('Escape')
    await expect.poll(() => page.url(), patient).toMatch('#/jobs')
  },
)

test.runIf(canStartBrowser)('no rule of axe is broken on any screen, in light and dark', async () => {
  const runtime = await jobs()
  await runtime.schedule('nightly', '0 3 * * *', email, { to: 'ops' })
  const family = await albums()
  for (const [of, hashes] of [
    [runtime, [...screens, '#/job/order-1', '#/find/dead-', '#/find/zzz', '#/nowhere']],
    [family, ['#/job/album-1']],
  ] as const) {
    const { page, show } = await opened(of, 1280)
    for (const hash of hashes) {
      if (hash === '#/nowhere') await page.goto(`${page.url().split('#')[0]}${hash}`)
      else await show(hash)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.evaluate(axe.source)
        const found = await page.evaluate(
          `axe.run('body').then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 160))]))`,
        )
        expect(found, `${hash} ${colorScheme}`).toEqual([])
      }
    }
  }
})

test.runIf(canStartBrowser)('a chart that is larger than its place is scrolled by keys, too', async () => {
  const { page, show } = await opened(await jobs(), 360)
  await show('#/charts')
  const charts = page.locator('.chart:has(svg)')
  await expect.poll(() => charts.count(), patient).toBeGreaterThan(1)
  const reached = await charts.evaluateAll((all) =>
    all.map((each) => [each.scrollWidth > each.clientWidth, each.tabIndex]),
  )
  expect(reached).toContainEqual([true, 0])
  expect(reached).not.toContainEqual([true, -1])
})

test.runIf(canStartBrowser)('on a slow network the first figures are there after three round trips', async () => {
  const latency = 1_000 // ms: long beside what a busy machine adds
  const runtime = await jobs()
  const { url, close } = await createDashboard({ runtime, authorize: () => 'read' }).listen()
  onTestFinished(close)
  /** Ms until the figures of the overview are shown, in a browser that has nothing of the page. */
  const firstFigures = async (latency: number): Promise<number> => {
    const context = await browser.newContext()
    const page = await context.newPage()
    const devtools = await context.newCDPSession(page)
    await devtools.send('Network.enable')
    await devtools.send('Network.emulateNetworkConditions', {
      offline: false,
      latency,
      downloadThroughput: 250_000,
      uploadThroughput: 250_000,
    })
    const before = performance.now()
    await page.goto(url, { waitUntil: 'commit' })
    await page.locator('.figure b').first().waitFor()
    const ms = performance.now() - before
    await context.close()
    return ms
  }
  await firstFigures(0)
  const fast: number[] = []
  const slow: number[] = []
  for (let i = 0; i < 3; i++) {
    fast.push(await firstFigures(0))
    slow.push(await firstFigures(latency))
  }
  // A busy machine makes both slower.
  expect((Math.min(...slow) - Math.min(...fast)) / latency).toBeLessThan(4)
})
