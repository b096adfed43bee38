/**
 * The site: built from nothing, served from its folder, and tried in a browser, without a request to anywhere else: its
 * first page in light, dark and on a phone, each piece of code that has a button, a search, and the API.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { runnablePages } from '../../docs/site/runnable.ts'
import { startBrowser } from '../support/browser.ts'
import { installPackages } from '../support/own-packages.ts'
import { repositoryRoot } from '../support/tidy/repository.ts'
import type { Proof } from './proof.ts'

const docs = join(repositoryRoot, 'docs')
const folder = join(docs, 'site')
/** What the first page loads; gzip makes a third of it. */
const bytesMax = 2_000_000
/** How long it takes to be built, s. */
const secondsMax = 120
const patient = { timeout: 60_000 }

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

/** @returns what is not as it should be */
async function tryFirstPage(page: Page, url: string): Promise<string[]> {
  const wrong: string[] = []
  let bytes = 0
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`))
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) wrong.push(`asks ${request.url()}`)
  })
  page.on('response', async (response) => {
    bytes += (await response.body().catch(() => Buffer.alloc(0))).length
  })
  await page.goto(url)
  const live = page.locator('.live')
  await live.locator('svg').waitFor(patient)
  await live.getByRole('button', { name: 'PAY' }).click(patient)
  await live.getByText('the order is packing').waitFor(patient)
  if (bytes > bytesMax) wrong.push(`the first page loads ${bytes} bytes, ${bytesMax} at most`)
  await live.getByRole('button', { name: 'Crash this worker' }).click(patient)
  await live.getByText(/worker 2 claims the order, attempt \d/).waitFor(patient)
  await live.getByText('the order is shipping').waitFor(patient)
  await live.getByRole('slider').fill('0')
  await live.getByText('as it was at').waitFor(patient)
  await live.getByRole('slider').fill('2')
  await live.getByRole('button', { name: 'DELIVERED' }).click(patient)
  await live.getByRole('button', { name: 'Another order' }).waitFor(patient)
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<axe.AxeResults>("axe.run('.live')")
  wrong.push(...violations.map(({ id, nodes }) => `axe: ${id} at ${nodes[0]?.html ?? ''}`))
  return wrong
}

async function tryPages(page: Page, url: string): Promise<string[]> {
  await page.goto(`${url}machines.html`)
  await page.getByRole('heading', { level: 1 }).first().waitFor(patient)
  await page
    .getByRole('button', { name: /search/i })
    .first()
    .click(patient)
  await page.getByRole('searchbox').fill('checkpoint')
  await page.locator('.results .result').first().waitFor(patient)
  await page.goto(`${url}api/`)
  await page.getByRole('heading', { name: 'createRuntime()' }).first().waitFor(patient)
  return []
}

/** Presses each button, and waits for what the code says. */
async function tryCode(page: Page, url: string): Promise<string[]> {
  const wrong: string[] = []
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`))
  for (const [name, { length: count }] of runnablePages(docs)) {
    await page.goto(`${url}${name}.html`)
    const pieces = page.locator('.run')
    await pieces.first().waitFor(patient)
    if ((await pieces.count()) !== count) wrong.push(`${name} has ${await pieces.count()} buttons instead of ${count}`)
    for (const piece of await pieces.all()) {
      await piece.getByRole('button').click(patient)
      const said = piece.locator('pre.ended, pre.failed')
      await said.waitFor(patient)
      const text = await said.innerText()
      if (text === '' || (await piece.locator('pre.failed').count()) > 0) wrong.push(`${name} says: ${text}`)
    }
    await page.evaluate(axe.source)
    const { violations } = await page.evaluate<axe.AxeResults>("axe.run('.run')")
    wrong.push(...violations.map(({ id, nodes }) => `axe: ${id} at ${nodes[0]?.html ?? ''}`))
  }
  return wrong
}

/** Everything is within the width of a phone. */
async function tryPhone(page: Page, url: string): Promise<string[]> {
  const wrong = await tryFirstPage(page, url)
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  return wide > 0 ? [...wrong, `${wide} px wider than the window`] : wrong
}

export const site: Proof = {
  name: 'site',
  claim: 'the site is built from its sources, and runs jobs in its pages, offline',
  async run() {
    const began = performance.now()
    installPackages(folder)
    execFileSync('npm', ['run', '--silent', 'site'], { cwd: repositoryRoot, stdio: ['ignore', 'ignore', 'inherit'] })
    const seconds = Math.round((performance.now() - began) / 1_000)
    const server = createServer((request, response) => {
      const path = normalize(new URL(request.url ?? '/', 'http://site').pathname)
      const file = join(folder, 'dist', path.endsWith('/') ? `${path}index.html` : path)
      readFile(file).then(
        (body) =>
          response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' }).end(body),
        () => response.writeHead(404).end(),
      )
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const browser = await startBrowser()
    const failures: string[] = seconds > secondsMax ? [`it took ${seconds} s to be built, ${secondsMax} at most`] : []
    try {
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await browser.newPage({ colorScheme })
        failures.push(...(await tryFirstPage(page, url)).map((what) => `${colorScheme}: ${what}`))
      }
      const phone = await browser.newPage({ viewport: { width: 360, height: 740 } })
      failures.push(...(await tryPhone(phone, url)).map((what) => `phone: ${what}`))
      failures.push(...(await tryPages(await browser.newPage(), url)))
      failures.push(...(await tryCode(await browser.newPage(), url)))
    } catch (error) {
      failures.push(String(error))
    } finally {
      await browser.close()
      server.close()
    }
    const code = [...runnablePages(docs).values()].flat().length
    return {
      summary: `built in ${seconds} s; light, dark, a phone, a search, the API, ${code} pieces of code run`,
      failures,
    }
  },
}
