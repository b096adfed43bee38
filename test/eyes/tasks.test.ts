/**
 * What a person on call does with the set, in a browser: each task from the screen on which it begins, in four actions
 * at most. The short form takes a set of 5,000 jobs, the long one that of 205,000.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import type { Client } from 'jobchart'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { isLong } from '../harness/long-form.ts'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eyesFile, openEyes } from './open.ts'

const jobs = isLong ? 205_000 : 5_000
const actionsMax = 4
/** Of the large set, also where the machine does other work. */
const taskMsMax = 20_000
const patient = { timeout: 30_000 }

let browser: Browser
let file: string
beforeAll(async () => {
  if (!canStartBrowser) return
  browser = await startBrowser()
  file = (await eyesFile({ jobs, seed: 3 })).path
})
afterAll(() => browser?.close())

/** A browser in which actions are counted. */
class Task {
  readonly page: Page
  readonly client: Client
  private readonly startedAt = performance.now()
  private actions = 0

  constructor(page: Page, client: Client) {
    this.page = page
    this.client = client
  }

  async click(role: 'button' | 'link' | 'option', name: string | RegExp): Promise<void> {
    this.actions++
    const those = this.page.getByRole(role, { name, ...(typeof name === 'string' && { exact: true }) })
    await those.first().click()
  }

  /** Presses a button of the group of failures that has this text. */
  async clickInGroup(text: string, name: string): Promise<void> {
    this.actions++
    const group = this.page.locator('.groups > li', { hasText: text })
    await group.getByRole('button', { name, exact: true }).click()
  }

  async press(key: string): Promise<void> {
    this.actions++
    await this.page.keyboard.press(key)
  }

  /** Opens the search, and types. */
  async search(text: string): Promise<void> {
    await this.press('Control+k')
    await this.page.getByRole('dialog', { name: 'Commands' }).getByRole('combobox').waitFor()
    this.actions++
    await this.page.keyboard.type(text)
  }

  async confirm(verb: string): Promise<void> {
    this.actions++
    await this.page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click()
  }

  /** The page says so. */
  async reads(text: RegExp): Promise<void> {
    await expect.poll(() => this.page.locator('main').innerText(), patient).toMatch(text)
  }

  end(): void {
    expect(this.actions).toBeLessThanOrEqual(actionsMax)
    if (isLong) expect(performance.now() - this.startedAt).toBeLessThan(taskMsMax)
  }
}

interface Start {
  readonly hash?: string
  readonly width?: number
  /** Do workers run what is retried or sent? */
  readonly work?: boolean
}

const task = (
  name: string,
  act: (task: Task) => Promise<void>,
  { hash = '#/', width = 1280, work = false }: Start = {},
) =>
  test.runIf(canStartBrowser)(name, async () => {
    const folder = temporaryFolder()
    const path = join(folder.path, 'eyes.db')
    copyFileSync(file, path)
    const { url, client, close } = await openEyes(path, { work })
    const page = await browser.newPage({ viewport: { width, height: 800 } })
    const failures: string[] = []
    page.on('pageerror', (error) => failures.push(error.message))
    onTestFinished(async () => {
      await page.close()
      await close()
      folder.remove()
      expect(failures).toEqual([])
    })
    await page.goto(`${url}${hash}`)
    await page.locator('main h1').waitFor()
    const started = new Task(page, client)
    await act(started)
    started.end()
  })

const orderOnHold = async (client: Client): Promise<string> => {
  const [order] = await client.list({ type: 'order', machineState: 'attention', limit: 1 })
  if (order === undefined) throw new Error('the set has no order that needs attention')
  return order.id
}

task('why orders fail', async (task) => {
  await task.click('link', /jobs of payment\.charge died in the last hour/)
  await task.reads(/gateway gave no answer for cus_… within … s/)
})

task('the orders of a customer', async (task) => {
  await task.search('cus_9')
  await task.click('option', /customer=cus_9 /)
  await task.click('link', /^order-/)
  await task.reads(/order-[\s\S]*cus_9/)
})

task('one group of failures is retried', async (task) => {
  const dead = (await task.client.counts()).types['payment.charge']?.dead ?? 0
  expect(dead).toBeGreaterThan(0)
  await task.click('link', /^Dead/)
  await task.clickInGroup('gateway gave no answer', 'Retry all')
  await task.confirm(`Retry ${dead.toLocaleString('en-US')}`)
  const left = async (): Promise<number | undefined> => (await task.client.counts()).types['payment.charge']?.dead
  await expect.poll(left, patient).toBe(0)
})

task('what a worker does', async (task) => {
  await task.click('link', 'Workers')
  await task.reads(/web-1[\s\S]*image\.resize[\s\S]*input \{[\s\S]*check-in \{"percent":40\}/)
})

task(
  'an order that stands still goes on',
  async (task) => {
    await task.click('link', /^attention/)
    await task.click('link', /^order-/)
    await task.click('button', 'RETRY_PAYMENT')
    const id = decodeURIComponent(new URL(task.page.url()).hash.slice('#/job/'.length))
    await task.confirm('Send')
    const states = async (): Promise<readonly string[]> => (await task.client.store.get([id]))[0]?.machineStates ?? []
    await expect.poll(states, patient).toContain('packing')
  },
  { work: true },
)

task('the past of an order, and a fork from there', async (task) => {
  const id = await orderOnHold(task.client)
  // Who looks at its past has found it.
  await task.page.goto(`${new URL(task.page.url()).origin}/#/job/${id}`)
  await task.page.getByLabel('Checkpoint').waitFor()
  await task.page.getByLabel('Checkpoint').focus()
  await task.press('ArrowLeft')
  await task.reads(/What checkpoint \d+ changed/)
  await task.click('button', 'Fork from here')
  await task.confirm('Fork')
  await task.page.getByText(`This is the fork of ${id}.`).waitFor()
})

task('a queue is paused', async (task) => {
  await task.click('link', 'webhook.deliver')
  await task.click('button', 'Pause')
  await task.confirm('Pause')
  await expect.poll(async () => (await task.client.queue('webhook.deliver').stats()).paused, patient).toBe(true)
})

task('a missed tick is fired', async (task) => {
  await task.click('link', /A tick of the schedule ledger of the night was missed/)
  const missed = task.page.locator('tbody tr', { hasText: 'ledger of the night' }).locator('.tone-dead')
  await expect.poll(() => missed.allInnerTexts(), patient).toEqual([expect.stringMatching(/^last .* ago$/)])
  await task.click('button', 'Fire now: ledger of the night')
  await task.page.getByText('ledger of the night was fired.').waitFor()
  await task.page.getByRole('button', { name: 'missed 0' }).waitFor()
  expect(await missed.count()).toBe(0)
})

task(
  'one dead job is retried on a phone',
  async (task) => {
    const dead = (await task.client.counts()).dead
    await task.click('link', /^Dead/)
    await task.click('button', 'Retry one')
    await task.confirm('Retry one')
    await expect.poll(async () => (await task.client.counts()).dead, patient).toBe(dead - 1)
  },
  { width: 360 },
)
