/**
 * What happens is shown within half a second: in the live stream and in a browser, of this process and of another one. Each time is the
 * median of several, and no other test runs meanwhile.
 */
import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient, type Store } from 'jobchart'
import { createDashboard, type Dashboard } from 'jobchart/dashboard'
import { redisStore } from 'jobchart/redis'
import { sqliteStore } from 'jobchart/sqlite'
import { chromium, type Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { plainEnvironment } from '../support/plain-environment.ts'
import { canStartRedis, redisTest, serverOfFile } from '../support/redis-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { Report } from './reporting-process.ts'
import type { ShownJob } from './shapes.ts'
import { email, jobs, messages } from './world.ts'

const server = serverOfFile()
const limitMs = 500
const rounds = 5

function expectSoon(lateMs: readonly number[]): void {
  expect(lateMs.toSorted((a, b) => a - b)[Math.floor(lateMs.length / 2)], lateMs.join(', ')).toBeLessThan(limitMs)
}

interface Place {
  readonly store: Store
  readonly args: readonly string[]
}

function onSqlite(): Place {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const path = join(folder.path, 'jobs.db')
  return { store: sqliteStore({ path }), args: ['sqlite', path] }
}

function onRedis(): Place {
  const [url, prefix] = [server().url, randomUUID()]
  return { store: redisStore({ url, prefix }), args: ['redis', url, prefix] }
}

/** A dashboard of this process, on the job `reporting-1` that runs in another. */
async function watching({ store, args }: Place) {
  const client = createClient({ store })
  await client.counts()
  const other = fork(fileURLToPath(new URL('reporting-process.ts', import.meta.url)), args, {
    execArgv: ['--conditions=@jobchart/source'],
    env: plainEnvironment,
  })
  onTestFinished(async () => {
    const exit = once(other, 'exit')
    other.disconnect()
    await exit
    await client.close()
  })
  await expect.poll(async () => (await client.counts()).running, { interval: 20 }).toBe(1)
  return { dashboard: createDashboard({ client }), tell: (what: 'checkin' | 'log') => void other.send(what) }
}

async function isLive(place: Place): Promise<void> {
  const { dashboard, tell } = await watching(place)
  const call = (path: string) => dashboard.fetch(new Request(`http://localhost/api/v1${path}`))
  const stream = messages(await call('/events?job=reporting-1'))
  await stream.next()
  const shown = async () => (await (await call('/jobs/reporting-1')).json()) as ShownJob
  const lateMs: Record<'checkin' | 'log', number[]> = { checkin: [], log: [] }
  for (let round = 0; round < 2 * rounds; round++) {
    const isLog = round % 2 === 1
    const before = await shown()
    const what = isLog ? 'log' : 'checkin'
    tell(what)
    for await (const { event } of { [Symbol.asyncIterator]: () => ({ next: () => stream.next() }) }) {
      if (event !== 'job') continue
      const { job } = await shown()
      const line = job.logs.length > before.job.logs.length ? job.logs.at(-1)?.message : undefined
      const at = isLog ? Number(line?.split(' ').at(-1)) : (job.checkin?.value as unknown as Report | undefined)?.at
      if (isLog ? line === undefined : job.checkin?.at === before.job.checkin?.at) continue
      lateMs[what].push(Date.now() - (at ?? NaN))
      break
    }
  }
  await stream.return(undefined)
  expectSoon(lateMs.checkin)
  expectSoon(lateMs.log)
}

test('check-ins and logs of another process are live, on one file', () => isLive(onSqlite()))
redisTest('check-ins and logs of another process are live, on Redis', () => isLive(onRedis()))

const executablePath = '/usr/bin/chromium'
const hasBrowser = existsSync(executablePath)

/** A page of a browser on a dashboard. */
async function pageOf(dashboard: Dashboard, hash: string): Promise<Page> {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  onTestFinished(() => browser.close())
  const { url, close } = await dashboard.listen()
  onTestFinished(() => close())
  const page = await browser.newPage()
  await page.goto(`${url}${hash}`)
  await page.locator('.connection.live').waitFor()
  return page
}

test.runIf(hasBrowser)('what this process does is shown in a browser', async () => {
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

test.runIf(hasBrowser && canStartRedis)('what another process does on Redis is shown in a browser', async () => {
  const { dashboard, tell } = await watching(onRedis())
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
