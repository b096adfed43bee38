/** The past of a machine in a browser: the list of checkpoints leads to the chart, which is seen with its slider. */
import type { Browser, Page } from 'playwright-core'
import { createRuntime, defineJob } from 'jobchart'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { fromPromise, setup } from 'xstate'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { openedPage } from './opened-page.ts'

let browser: Browser
beforeAll(async () => {
  if (canStartBrowser) browser = await startBrowser()
})
afterAll(() => browser?.close())

const patient = { timeout: 30_000 }

const [steps, stepsDone] = [14, 4]
/** States below one another: a chart that is higher than a window. */
const states = Object.fromEntries(
  Array.from({ length: steps }, (_, i) => [
    `step${i}`,
    i === steps - 1 ? { type: 'final' as const } : { on: { NEXT: `step${i + 1}` } },
  ]),
)
const long = defineJob({
  type: 'long',
  machine: setup({ types: { events: {} as { type: 'NEXT' } } }).createMachine({ id: 'long', initial: 'step0', states }),
})

/** A page on a job that has gone through a few states. */
async function opened(width: number, height: number): Promise<Page> {
  const runtime = createRuntime({ jobs: [long], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  const job = await runtime.enqueue(long, undefined, { id: 'long-1' })
  await job.waitFor('step0')
  for (let i = 1; i <= stepsDone; i++) {
    await job.send({ type: 'NEXT' })
    await job.waitFor(`step${i}`)
  }
  const page = await openedPage(browser, { runtime }, '#/job/long-1', width)
  await page.setViewportSize({ width, height })
  await page.getByRole('heading', { name: 'Checkpoints' }).waitFor()
  return page
}

/** The part of an element that is in the window, 0 to 1. */
const seen = (page: Page, selector: string): Promise<number> =>
  page.evaluate(`(() => {
    const box = document.querySelector(${JSON.stringify(selector)})?.getBoundingClientRect()
    if (box === undefined) return 0
    return Math.max(0, Math.min(innerHeight, box.bottom) - Math.max(0, box.top)) / box.height
  })()`)

for (const [width, height] of [
  [1280, 800],
  [360, 780],
] as const) {
  test.runIf(canStartBrowser)(
    `a click on a checkpoint of the list shows it in the chart, ${width} px wide`,
    async () => {
      const page = await opened(width, height)
      if (width < 720) expect(await page.locator('.travel').count()).toBe(0)
      await page.getByRole('button', { name: /step1/ }).last().click()
      await page.locator('.chart svg').waitFor()
      await expect.poll(() => seen(page, '.travel input'), patient).toBe(1)
      await expect.poll(() => page.locator('.travel p').innerText(), patient).toMatch(/^2 of 5/)
      await expect.poll(() => page.locator('.chart .jc-active').last().textContent(), patient).toMatch('step1')
      // Arrows go on from there.
      await page.keyboard.press('ArrowRight')
      await expect.poll(() => page.locator('.travel p').innerText(), patient).toMatch(/^3 of 5/)
    },
  )
}

test.runIf(canStartBrowser)('the chart of a job, its slider and what changed are seen at once', async () => {
  const page = await opened(1280, 800)
  await page.locator('.chart svg').waitFor()
  const chart = page.locator('.panel:has(.travel)')
  expect((await chart.locator('.chart').boundingBox())?.height).toBeLessThanOrEqual(480)
  await page.evaluate(`document.querySelector('.panel:has(.travel)').scrollIntoView()`)
  for (const selector of ['.chart', '.travel', '.panel:has(.compare)'])
    expect(await seen(page, selector), selector).toBe(1)
  const [changes, place] = [await page.locator('.panel:has(.compare)').boundingBox(), await chart.boundingBox()]
  expect(changes?.y).toBe(place?.y)
  expect(changes?.x).toBeGreaterThan((place?.x ?? Infinity) + (place?.width ?? 0))
  // Shown whole it could not be read: the state in which it stands is scrolled to, and moves with the slider.
  const inPlace = (): Promise<boolean> =>
    page.evaluate(`(() => {
      const [state, place] = ['.jc-active', '.chart'].map((each) => document.querySelector(each).getBoundingClientRect())
      return state.top >= place.top && state.bottom <= place.bottom && state.left >= place.left && state.right <= place.right
    })()`)
  await expect.poll(inPlace, patient).toBe(true)
  await chart.getByRole('slider').press('Home')
  await expect.poll(() => page.locator('.chart .jc-active').last().textContent(), patient).toMatch('step0')
  await expect.poll(inPlace, patient).toBe(true)
  // On a busy machine the chart leads to the right: it is wider than its place then, and not higher.
  const scale = (): Promise<number> =>
    page.evaluate(`(() => {
      const picture = document.querySelector('.chart svg')
      return picture.getBoundingClientRect().height / picture.viewBox.baseVal.height
    })()`)
  expect(await scale()).toBeCloseTo(1)
  await chart.getByRole('button', { name: 'Whole', exact: true }).click()
  await expect.poll(scale, patient).toBeLessThan(0.6)
  const [picture, ground] = [await page.locator('.chart svg').boundingBox(), await page.locator('.chart').boundingBox()]
  expect(picture?.height).toBeLessThanOrEqual(480)
  expect(picture?.width).toBeLessThanOrEqual(ground?.width ?? 0)
  await chart.getByRole('button', { name: 'Full size' }).click()
  await expect.poll(scale, patient).toBeCloseTo(1)
})

test.runIf(canStartBrowser)('an actor without an id is told by the state that it works for', async () => {
  const checked = defineJob({
    type: 'checked',
    machine: setup({ actors: { check: fromPromise(async () => 'ok') } }).createMachine({
      id: 'checked',
      initial: 'checking',
      states: { checking: { invoke: { src: 'check', onDone: 'open' } }, open: { on: { CLOSE: 'closed' } }, closed: {} },
    }),
  })
  const runtime = createRuntime({ jobs: [checked], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  const job = await runtime.enqueue(checked, undefined, { id: 'checked-1' })
  await job.waitFor('open')
  const page = await openedPage(browser, { runtime }, '#/job/checked-1')
  await page.locator('.happened').getByText('from work of checking').waitFor()
})
