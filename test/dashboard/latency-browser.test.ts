/** What happens is shown in a browser within half a second. */
import { createDashboard, type Dashboard } from 'jobchart/dashboard'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { canStartRedis, serverOfFile } from '../support/redis-server.ts'
import { expectSoon, onRedis, rounds, watching } from './latency.ts'
import { email, jobs } from './world.ts'

const server = serverOfFile()

/** A page of a browser on a dashboard. */
async function pageOf(dashboard: Dashboard, hash: string): Promise<Page> {
  const browser = await startBrowser()
  onTestFinished(() => browser.close())
  const { url, close } = await dashboard.listen()
  onTestFinished(() => close())
  const page = await browser.newPage()
  await page.goto(`${url}${hash}`)
  await page.locator('.connection.live').waitFor()
  return page
}

test.runIf(canStartBrowser)('what this process does is shown in a browser', async () => {
  const runtime = await jobs()
  const page = await pageOf(createDashboard({ runtime }), '#/')
  const done = page.locator('.figure', { hasText: 'done' }).locator('b')
  await expect.poll(() => done.innerText()).toBe('2')
  const lateMs: number[] = []
  for (let count = 3; count < 3 + rounds; count++) {
    await runtime.run(email, { to: 'eve' })
    const endedAt = performance.now()
    await expect.poll(() => done.innerText(), { interval: 10 }).toBe(String(count))
    lateMs.push(performance.now() - endedAt)
  }
  expectSoon(lateMs)
})

test.runIf(canStartBrowser && canStartRedis)('what another process does on Redis is shown in a browser', async () => {
  const { dashboard, tell } = await watching(onRedis(server()))
  const page = await pageOf(dashboard, '#/job/reporting-1')
  // Then its chart is laid out, which this process does.
  await page.locator('.jc-active').first().waitFor()
  const lines = async () => (await page.locator('main').innerText()).match(/(?<=reported at )\d+/g) ?? []
  const lateMs: number[] = []
  for (let round = 0; round <= rounds; round++) {
    tell('log')
    await expect.poll(async () => (await lines()).length, { interval: 10 }).toBe(round + 1)
    // The first tells that the page is complete.
    if (round > 0) lateMs.push(Date.now() - Math.max(...(await lines()).map(Number)))
  }
  expectSoon(lateMs)
})
