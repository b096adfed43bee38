/**
 * Takes the pictures of the README and of docs/dashboard.md: runs the main job, opens its dashboard in Chromium, and
 * saves what it shows while the jobs run; then the other screens, of a small shop. `npm run picture`; it needs
 * Chromium, at /usr/bin/chromium or where CHROMIUM says.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { chromium, type Browser } from 'playwright-core'
import { openDay, openShop } from './picture-shop.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

interface Shot {
  readonly file: string
  /** The screen: the part of the address after `#`. */
  readonly screen: string
  readonly scheme: 'light' | 'dark'
  readonly height: number
  /** Default 1,200. */
  readonly width?: number
  /** The panel that is at the top of the picture. Default: what the screen begins with. */
  readonly panel?: string
  /** A button that is pressed, and what is shown then. */
  readonly press?: { readonly button: string; readonly shows: string }
}

/** Starts the main job on node_modules. */
function startMainJob(db: string): ChildProcess {
  const args = ['--conditions=@jobchart/source', 'examples/main-job/main.ts', 'node_modules', '--db', db]
  return spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] })
}

async function dashboardOf(mainJob: ChildProcess): Promise<string> {
  if (mainJob.stderr === null) throw new Error('the main job has no standard error')
  for await (const line of createInterface({ input: mainJob.stderr })) {
    const [, url] = /^Dashboard: (\S+)$/.exec(line) ?? []
    if (url === undefined) continue
    mainJob.stderr.resume()
    return url
  }
  throw new Error('the main job ended before it told the address of its dashboard')
}

/** The id of the first job that waits for a person. */
async function waitingReview(url: string): Promise<string> {
  for (;;) {
    const answer = await fetch(`${url}api/v1/jobs?type=review&state=waiting&order=oldest`)
    const { jobs } = (await answer.json()) as { readonly jobs: readonly { readonly id: string }[] }
    const [first] = jobs
    if (first !== undefined) return first.id
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/**
 * Screens that are complete when their table or list is there; of the others the picture of a chart is complete when it
 * has a state.
 */
const tables = new Set(['/', '/jobs', '/schedules', '/workers'])
const lists = new Set(['/dead'])

async function take(
  browser: Browser,
  url: string,
  { file, screen, scheme, height, width = 1200, panel, press }: Shot,
): Promise<void> {
  const page = await browser.newPage({ viewport: { width, height }, deviceScaleFactor: 2, colorScheme: scheme })
  await page.goto(`${url}#${screen}`)
  const complete = lists.has(screen) ? 'main section' : tables.has(screen) ? 'table' : 'svg [data-state]'
  await page.locator(complete).first().waitFor()
  await page.locator('.connection.live').waitFor()
  if (press !== undefined) {
    await page.getByRole('button', { name: press.button, exact: true }).click()
    await page.locator(press.shows).first().waitFor()
  }
  if (panel !== undefined) {
    await page
      .locator('.panel', { has: page.getByRole('heading', { name: panel }) })
      .evaluate((of) => of.scrollIntoView())
  }
  // Charts light up as jobs move, once the stream has told of some.
  await page.waitForTimeout(1_500)
  await page.screenshot({ path: join(root, 'docs/images', file) })
  await page.close()
}

const folder = mkdtempSync(join(tmpdir(), 'jobchart-'))
const mainJob = startMainJob(join(folder, 'jobs.db'))
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
try {
  const url = await dashboardOf(mainJob)
  const review = `/job/${await waitingReview(url)}`
  const panel = 'Where it stands'
  const shots: readonly Shot[] = [
    { file: 'main-job-light.png', screen: review, scheme: 'light', height: 726, panel },
    { file: 'main-job-dark.png', screen: review, scheme: 'dark', height: 726, panel },
    { file: 'dashboard-overview.png', screen: '/', scheme: 'light', height: 700 },
    { file: 'dashboard-queue.png', screen: '/queue/hash', scheme: 'light', height: 752 },
  ]
  for (const shot of shots) await take(browser, url, shot)
  const shop = await openShop()
  const screens: readonly Shot[] = [
    { file: 'dashboard-jobs.png', screen: '/jobs', scheme: 'light', height: 720 },
    { file: 'dashboard-job-dead.png', screen: `/job/${shop.dead}`, scheme: 'light', height: 900 },
    { file: 'dashboard-dead.png', screen: '/dead', scheme: 'light', height: 560 },
    { file: 'dashboard-schedules.png', screen: '/schedules', scheme: 'light', height: 430 },
    { file: 'dashboard-workers.png', screen: '/workers', scheme: 'light', height: 520 },
    { file: 'dashboard-charts.png', screen: '/charts', scheme: 'light', height: 720 },
    { file: 'dashboard-phone.png', screen: '/', scheme: 'dark', height: 844, width: 390 },
  ]
  for (const shot of screens) await take(browser, shop.url, shot)
  await shop.close()
  const day = await openDay()
  const press = { button: 'a day', shows: '.chart .jc-times' }
  await take(browser, day.url, {
    file: 'dashboard-heat.png',
    screen: '/queue/order',
    scheme: 'light',
    height: 640,
    panel: 'Its statechart',
    press,
  })
  await day.close()
} finally {
  await browser.close()
  mainJob.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
