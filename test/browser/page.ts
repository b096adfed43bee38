/** A module in an empty page of a browser. */
import type { Browser } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'

/** Calls a function that a module exports: `main()`. What the page says in its console fails the test. */
export async function inPage(browser: Browser, module: string, call: string): Promise<unknown> {
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  const said: string[] = []
  page.on('console', (message) => said.push(message.text()))
  const failed = new Promise<never>((_, reject) => page.on('pageerror', reject))
  await page.route('http://page.test/*', (route) => {
    const isModule = route.request().url().endsWith('.js')
    return route.fulfill(
      isModule ? { body: module, contentType: 'text/javascript' } : { body: '', contentType: 'text/html' },
    )
  })
  await page.goto('http://page.test/')
  const answer = await Promise.race([
    page.evaluate(`import('http://page.test/module.js').then((module) => module.${call})`),
    failed,
  ])
  expect(said).toEqual([])
  return answer
}
