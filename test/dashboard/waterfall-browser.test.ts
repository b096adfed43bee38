/** The waterfall of a job in a browser: the first thing on a job with a family, by mouse and by keys. */
import axe from 'axe-core'
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { createClient, memoryStore } from 'jobchart'
import type { DashboardOptions } from 'jobchart/dashboard'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { rowHeight } from '../../src/dashboard/waterfall/shapes.ts'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { parseXml } from '../chart/support/xml.ts'
import { albums, putFamily } from './family-world.ts'
import { openedPage } from './opened-page.ts'

let browser: Browser
beforeAll(async () => {
  if (canStartBrowser) browser = await startBrowser()
})
afterAll(() => browser?.close())

const patient = { timeout: 30_000 }

const opened = (of: DashboardOptions, hash: string, width?: number): Promise<Page> =>
  openedPage(browser, of, hash, width)

const rowsOf = (page: Page): Promise<string[]> => page.locator('[role=treeitem] .wf-label').allTextContents()
const activeRow = (page: Page): Promise<string | null> =>
  page.locator('[role=treeitem][aria-selected=true] .wf-label').textContent()

test.runIf(canStartBrowser)(
  'a family is shown first, and one key or click leads to the child that failed',
  async () => {
    const runtime = await albums()
    const page = await opened({ runtime }, '#/job/album-1')
    await expect
      .poll(() => rowsOf(page), patient)
      .toEqual([
        expect.stringMatching(/^album album-1, waiting$/),
        'its machine: resizing, then printing, then review',
        expect.stringMatching(/^image\.resize .*, done$/),
        expect.stringMatching(/^image\.resize .*, done, 2 failed attempts$/),
        expect.stringMatching(/^image\.resize .*, done$/),
        expect.stringMatching(/^book .*, dead, 1 failed attempt$/),
        'its machine: printing',
        expect.stringMatching(/^page\.print .*, dead, 1 failed attempt$/),
      ])
    expect(await page.locator('main .panel h2').first().innerText()).toBe('Waterfall')
    expect(await page.locator('.panel:has(.wf)').innerText()).toMatch(/4 children: 3 done, 1 dead/)
    await page.getByRole('button', { name: 'To what failed' }).click()
    await expect.poll(() => activeRow(page), patient).toMatch(/^page\.print/)
    await page.getByRole('tree').press('Enter')
    await expect.poll(() => page.locator('main').innerText(), patient).toMatch('the printer has no paper')
    await expect.poll(() => page.locator('.panel:has(.wf)').innerText(), patient).toMatch(/invoked by/)
  },
)

test.runIf(canStartBrowser)(
  'a click on "To what failed" shows the row of what failed, and Enter opens it',
  async () => {
    const runtime = await albums()
    const page = await opened({ runtime }, '#/job/album-1')
    await page.setViewportSize({ width: 1280, height: 360 })
    await expect.poll(async () => (await rowsOf(page)).length, patient).toBe(8)
    const marked = page.locator('.wf-rows.marked [aria-selected=true]')
    expect(await marked.count()).toBe(0)
    // Closed by hand: the way is opened again.
    await page.locator('.wf-row', { hasText: 'album' }).first().locator('.wf-arrow').click()
    await expect.poll(async () => (await rowsOf(page)).length, patient).toBe(1)
    await page.getByRole('button', { name: 'To what failed' }).click()
    await expect.poll(() => marked.innerText(), patient).toMatch(/^page\.print/)
    await expect.poll(async () => (await marked.boundingBox())?.y, patient).toBeLessThan(361 - rowHeight)
    expect((await marked.boundingBox())?.y).toBeGreaterThan(0)
    const ground = `getComputedStyle(document.querySelector('.wf-row.active')).backgroundColor`
    expect(await page.evaluate(ground)).not.toBe('rgba(0, 0, 0, 0)')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('main').innerText(), patient).toMatch('the printer has no paper')
  },
)

test.runIf(canStartBrowser)('a waterfall is moved in by keys alone, and is live', async () => {
  const runtime = await albums()
  const page = await opened({ runtime }, '#/job/album-1')
  const tree = page.getByRole('tree')
  await expect.poll(async () => (await rowsOf(page)).length, patient).toBe(8)
  await tree.press('f')
  expect(await activeRow(page)).toMatch(/2 failed attempts$/)
  await tree.press('f')
  expect(await activeRow(page)).toMatch(/^book/)
  await tree.press('ArrowLeft')
  await expect.poll(async () => (await rowsOf(page)).length, patient).toBe(6)
  await tree.press('ArrowRight')
  await expect.poll(async () => (await rowsOf(page)).length, patient).toBe(8)
  await tree.press('Home')
  await tree.press('End')
  expect(await activeRow(page)).toMatch(/^page\.print/)
  const ticks = (): Promise<string[]> => page.locator('.wf-axis text').allTextContents()
  await page.getByRole('button', { name: 'All of it' }).click()
  const all = await ticks()
  const part = page.locator('.wf-part')
  expect(await part.count()).toBe(0)
  await tree.press('+')
  await expect.poll(ticks, patient).not.toEqual(all)
  expect(await part.innerText()).toMatch(/^shows .+ of .+$/)
  await tree.press('.')
  await tree.press('0')
  await expect.poll(async () => (await ticks())[0], patient).toBe('0')
  const approval: { type: string; by: string } = { type: 'APPROVE', by: 'ada' }
  await (await runtime.job('album-1'))!.send(approval)
  await expect.poll(async () => (await rowsOf(page))[0], patient).toBe('album album-1, done')
  await expect.poll(async () => (await rowsOf(page))[1], patient).toMatch(/then review, then published$/)
})

test.runIf(canStartBrowser)('10,000 children are folded, and unfolded only what is seen is drawn', async () => {
  const store = memoryStore()
  onTestFinished(() => store.close())
  await putFamily(store, 10_000)
  const page = await opened({ client: createClient({ store }) }, '#/job/parent-1')
  await expect
    .poll(() => page.locator('.panel:has(.wf)').innerText(), { timeout: 30_000 })
    .toMatch(/10,000 children: 10,000 queued/)
  await expect.poll(() => rowsOf(page), patient).toEqual(['album parent-1, queued', '10,000 × image.resize queued'])
  await page.getByText('10,000 × image.resize queued').click()
  await expect.poll(async () => (await rowsOf(page)).length, patient).toBeGreaterThan(15)
  await page.getByRole('tree').press('End')
  await expect.poll(() => activeRow(page), patient).toBe('image.resize child-9999, queued')
  const most = (await page.evaluate(`(async () => {
    const tree = document.querySelector('[role=tree]')
    let most = 0
    for (let i = 0; i < 30; i++) {
      tree.scrollTop = (i % 10) * 20_000
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      most = Math.max(most, tree.querySelectorAll('[role=treeitem]').length)
    }
    return most
  })()`)) as number
  // A row takes a part of a millisecond: all 10,000 take seconds.
  expect(most).toBeGreaterThan(15)
  expect(most).toBeLessThan(60)
})

test.runIf(canStartBrowser)('a waterfall is saved as a picture, and has no fault that axe finds', async () => {
  const runtime = await albums()
  const page = await opened({ runtime }, '#/job/album-1')
  await expect.poll(async () => (await rowsOf(page)).length, patient).toBe(8)
  const tools = page.locator('.wf-tools')
  await tools.getByText('Save picture').click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    tools.getByRole('button', { name: 'Save SVG' }).click(),
  ])
  expect(download.suggestedFilename()).toBe('waterfall-album-1.svg')
  const svg = readFileSync(await download.path(), 'utf8')
  expect(parseXml(svg).name).toBe('svg')
  expect(svg).toMatch('Waterfall of album-1, 8 rows')
  expect(svg).toMatch(/jc-type jc-failed">page\.print</)
  await page.evaluate(axe.source)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const found = await page.evaluate(
      `axe.run('.wf').then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))`,
    )
    expect(found, colorScheme).toEqual([])
  }
})

test.runIf(canStartBrowser)('on a phone the waterfall fits into the window', async () => {
  const runtime = await albums()
  const page = await opened({ runtime }, '#/job/album-1', 360)
  await expect.poll(async () => (await rowsOf(page)).length, patient).toBe(8)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
  expect(await page.locator('.wf-bar').count()).toBeGreaterThan(5)
})
