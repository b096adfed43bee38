/** Charts and waterfalls are taken along in a browser: as SVG, as PNG, and in the clipboard. */
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import type { Runtime } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { parseXml } from '../chart/support/xml.ts'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { albums } from './family-world.ts'
import { reviews } from './world.ts'

let browser: Browser
beforeAll(async () => {
  if (canStartBrowser) browser = await startBrowser()
})
afterAll(() => browser?.close())

/** A page that may use the clipboard. Whatever its console says fails the test. */
async function opened(runtime: Runtime, hash: string, permissions: string[] = []): Promise<Page> {
  const { url, close } = await createDashboard({ runtime }).listen()
  const context = await browser.newContext({ permissions, viewport: { width: 1280, height: 900 } })
  const said: string[] = []
  const page = await context.newPage()
  page.on('console', (message) => said.push(message.text()))
  page.on('pageerror', (error) => said.push(error.message))
  onTestFinished(async () => {
    await context.close()
    await close()
    expect(said).toEqual([])
  })
  await page.goto(`${url}${hash}`)
  return page
}

/** Saves the picture of a panel. */
async function saved(page: Page, panel: string, verb: string): Promise<{ name: string; file: Buffer }> {
  const menu = page.locator(`${panel} .menu`)
  await menu.getByText('Save picture').click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    menu.getByRole('button', { name: verb, exact: true }).click(),
  ])
  return { name: download.suggestedFilename(), file: readFileSync(await download.path()) }
}

/** A PNG has its width and height in bytes 16 to 23. */
const sizeOfPng = (file: Buffer): readonly number[] => [file.readUInt32BE(16), file.readUInt32BE(20)]

/** How many colours a PNG has, and that of its corner. */
const colours = (page: Page, file: Buffer): Promise<{ readonly count: number; readonly corner: string }> =>
  page.evaluate(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${file.toString('base64')}'
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = image.width
    canvas.height = image.height
    const ground = canvas.getContext('2d')
    ground.drawImage(image, 0, 0)
    const dots = new Uint32Array(ground.getImageData(0, 0, image.width, image.height).data.buffer)
    return { count: new Set(dots).size, corner: dots[0].toString(16) }
  })()`)

for (const [what, start, hash, panel, name] of [
  ['the chart of a job', reviews, '#/job/review-1', '.panel:has(.travel)', 'machine-review-1'],
  ['the chart of a queue', reviews, '#/queue/review', '.panel:has(h2:text("Jobs in each state"))', 'job-review'],
  ['a waterfall', albums, '#/job/album-1', '.panel:has(.wf)', 'waterfall-album-1'],
] as const) {
  test.runIf(canStartBrowser)(`${what} is saved as SVG and as PNG, as it is seen`, async () => {
    const page = await opened(await start(), hash)
    await page.locator(`${panel} svg`).first().waitFor()
    // The time left is drawn when the timers of the job are known.
    if (what === 'the chart of a job')
      await page
        .locator('.jc-timer')
        .getByText(/^in [12] h/)
        .waitFor()
    const svg = await saved(page, panel, 'Save SVG')
    expect(svg.name).toBe(`${name}.svg`)
    const text = svg.file.toString('utf8')
    expect(parseXml(text).name).toBe('svg')
    // Its styles and its ground are in it.
    expect(text).toMatch(/<style>[^<]*--jc-canvas:#ffffff/)
    expect(text).toMatch('prefers-color-scheme:dark')
    expect(text).toMatch('class="jc-canvas"')
    expect(text).not.toMatch('jc-sendable')
    if (what === 'the chart of a job') expect(text).toMatch(/jc-timer[\s\S]*in [12] h/)
    const png = await saved(page, panel, 'Save PNG')
    expect(png.name).toBe(`${name}.png`)
    const size = /<svg[^>]* width="(\d+)(?:\.\d+)?"/.exec(text)?.[1]
    expect(sizeOfPng(png.file)[0]).toBeGreaterThanOrEqual(2 * Number(size))
    const light = await colours(page, png.file)
    expect(light.count).toBeGreaterThan(8)
    expect(light.corner).toBe('ffffffff')
    await page.emulateMedia({ colorScheme: 'dark' })
    const dark = await colours(page, (await saved(page, panel, 'Save PNG')).file)
    expect(dark.corner).toBe('ff17110d')
  })
}

test.runIf(canStartBrowser)('a picture is copied as PNG, or as SVG where the browser takes only text', async () => {
  const page = await opened(await reviews(), '#/job/review-1', ['clipboard-read', 'clipboard-write'])
  const copy = async (): Promise<void> => {
    await page.locator('.chart-tools').getByText('Save picture').click()
    await page.locator('.chart-tools').getByRole('button', { name: 'Copy', exact: true }).click()
  }
  await copy()
  await page.getByText('The picture was copied.').waitFor()
  expect(await page.evaluate('navigator.clipboard.read().then(([item]) => item.types)')).toEqual(['image/png'])
  await page.evaluate('delete globalThis.ClipboardItem')
  await copy()
  await page.getByText('The picture was copied as SVG.').waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^<svg [\s\S]*<style>/)
})
