/** The heat of a chart on the dashboard: figures with words of the chart, stuck jobs, the picture, and the page. */
import axe from 'axe-core'
import { createTestRuntime } from 'jobchart/testing'
import { createDashboard } from 'jobchart/dashboard'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { HeatShown } from '../../src/dashboard/heat.ts'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { openedPage } from './opened-page.ts'
import { review } from './world.ts'

let browser: Browser
beforeAll(async () => {
  if (canStartBrowser) browser = await startBrowser()
})
afterAll(() => browser?.close())

/** A hundred reviews were reminded of within an hour and approved within two; one waits for a day. */
async function heated() {
  const { runtime, clock } = await createTestRuntime({ jobs: [review], logger: {} })
  onTestFinished(async () => void (await runtime.stop({ mode: 'abort' })))
  const made = await Promise.all(
    Array.from({ length: 100 }, (_, i) => runtime.enqueue(review, undefined, { id: `review-${i}` })),
  )
  await runtime.enqueue(review, undefined, { id: 'review-old' })
  await clock.settle()
  await clock.advance('1h')
  for (const { id } of made) await runtime.send(id, { type: 'REMIND' })
  await clock.settle()
  await clock.advance('1h')
  for (const { id } of made.slice(1)) {
    await runtime.send(id, { type: 'APPROVE', by: 'ada', urgent: false })
  }
  await clock.settle()
  await clock.advance('20h')
  return runtime
}

test('states have their times and the jobs that are stuck, transitions their words, shares and last jobs', async () => {
  const runtime = await heated()
  const { fetch } = createDashboard({ runtime, authorize: () => 'read' })
  const get = async (path: string): Promise<Response> => fetch(new Request(`http://jobs.test/api/v1${path}`))
  const heat = (await (await get('/queues/review/heat?period=day')).json()) as HeatShown
  const hour = 3_600_000
  expect(
    heat.states.map(({ state, count, jobs, stuck, stuckId, more }) => [state, count, jobs, stuck, stuckId, more]),
  ).toEqual([
    ['reminded', 100, 0, 0, null, false],
    ['asked', 100, 1, 1, 'review-old', false],
  ])
  for (const { p50Ms } of heat.states) expect(p50Ms / hour).toSatisfy((hours) => hours > 0.8 && hours < 1.2)
  expect(
    heat.transitions.map(({ from, label, to, count, share, lastId }) => [from, label, to.join(), count, share, lastId]),
  ).toEqual([
    ['asked', 'REMIND', 'reminded', 100, 1, 'review-99'],
    ['reminded', 'APPROVE', 'approved', 99, 0.99, 'review-99'],
    // The first one was forgotten after its reminder.
    ['reminded', 'after 3h', 'expired', 1, 0.01, 'review-0'],
    ['asked', 'APPROVE', 'approved', 0, 0, null],
    ['asked', 'after 2d', 'expired', 0, 0, null],
  ])
  expect(heat).toMatchObject({ version: null, versions: ['1'] })
  const svg = await (await get('/charts/machine.svg?type=review&heat=day')).text()
  expect(svg).toMatch(/class="jc-edge jc-heat jc-heat-8"/)
  expect(svg).toMatch(/class="jc-box[^"]* jc-stuck" data-state="review.asked"/)
  expect(svg).toMatch(/median \d+(\.\d)? (min|h) · p95/)
  expect(await (await get('/charts/machine.svg?type=review')).text()).not.toMatch(/jc-heat|jc-times|jc-stuck/)
  expect((await get('/queues/review/heat?period=month')).status).toBe(400)
  expect((await get('/queues/nothing/heat')).status).toBe(404)
})

test('of many jobs in a state it is told that more may be stuck than were looked at', async () => {
  const runtime = await heated()
  for (let i = 0; i < 51; i++) await runtime.enqueue(review, undefined, { id: `later-${i}` })
  await expect.poll(async () => (await runtime.counts()).waiting).toBe(52)
  const { fetch } = createDashboard({ runtime, authorize: () => 'read' })
  const answer = await fetch(new Request('http://jobs.test/api/v1/queues/review/heat?period=day'))
  const { states } = (await answer.json()) as HeatShown
  expect(states.find(({ state }) => state === 'asked')).toMatchObject({ jobs: 52, stuck: 1, more: true })
})

test.runIf(canStartBrowser)('a person sees a day as a heat map, and gets from it to the jobs', async () => {
  const runtime = await heated()
  const page = await openedPage(browser, { runtime, authorize: () => 'read' }, '#/queue/review')
  await page.getByRole('button', { name: 'a day', exact: true }).click()
  await page.locator('.chart .jc-times').first().waitFor()
  expect(await page.locator('.chart .jc-stuck').getAttribute('data-path')).toBe('asked')
  // What happens afterwards is drawn as well.
  await runtime.send('review-old', { type: 'REMIND' })
  await expect.poll(() => page.locator('.chart .jc-stuck').count(), { timeout: 30_000 }).toBe(0)
  const panel = page.locator('.panel', { has: page.getByRole('heading', { name: 'Its statechart' }) })
  expect(await panel.locator('table').first().innerText()).toMatch(/asked\s+101/)
  const label = page.locator('.chart [data-transition]', { hasText: 'after 3h' })
  await label.click()
  await expect.poll(() => page.url()).toMatch(/#\/job\/review-0$/)
  await page.goBack()
  // What was shown is in the address.
  await page.locator('.chart .jc-times').first().waitFor()
  expect(await page.getByRole('button', { name: 'a day', exact: true }).getAttribute('aria-pressed')).toBe('true')
  await page.getByRole('button', { name: 'a week', exact: true }).click()
  await page.locator('.chart .jc-times').first().waitFor()
  await page.evaluate(axe.source)
  const faults = await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`)
  })
  expect(faults).toEqual([])
  await page.locator('.chart [data-path="asked"]').first().click()
  await expect.poll(() => page.url()).toMatch(/#\/jobs\?.*machineState=asked/)
})
