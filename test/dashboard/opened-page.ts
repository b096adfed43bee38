/** A dashboard in a browser. */
import { createDashboard, type DashboardOptions } from 'jobchart/dashboard'
import type { Browser, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'

/** A page at a place of the dashboard. Whatever its console says fails the test. */
export async function openedPage(browser: Browser, of: DashboardOptions, hash: string, width = 1280): Promise<Page> {
  const { url, close } = await createDashboard(of).listen()
  const page = await browser.newPage({ viewport: { width, height: 900 } })
  const said: string[] = []
  page.on('console', (message) => said.push(message.text()))
  page.on('pageerror', (error) => said.push(error.message))
  onTestFinished(async () => {
    await page.close()
    await close()
    expect(said).toEqual([])
  })
  await page.goto(`${url}${hash}`)
  return page
}
