/** The page in a browser: every screen, without a word in the console; changes by buttons; what is live. */
import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { createRuntime, defineJob, fatal, memoryStore } from 'jobchart'
import { createDashboard, type DashboardOptions } from 'jobchart/dashboard'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { newJob, put } from '../../src/store-testing/conformance/acts.ts'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { albums } from './family-world.ts'
import { deadEmails, email, jobs, reviews } from './world.ts'

let browser: Browser
beforeAll(async () => {
  if (canStartBrowser) browser = await startBrowser()
})
afterAll(() => browser?.close())

/** A page on a dashboard, at a screen. Whatever its console says fails the test. */
async function opened(hash = '', options: Omit<DashboardOptions, 'runtime'> = {}, width = 1280, start = jobs) {
  const runtime = await start()
  const { url, close } = await createDashboard({ runtime, ...options }).listen()
  const said: string[] = []
  const pages: Page[] = []
  const open = async (at: string): Promise<Page> => {
    const made = await browser.newPage({ viewport: { width, height: 900 } })
    made.on('console', (message) => said.push(`${message.type()}: ${message.text()}`))
    made.on('pageerror', (error) => said.push(error.message))
    made.on('dialog', (dialog) => said.push(`dialog: ${dialog.message()}`))
    pages.push(made)
    await made.goto(`${url}tools/jobs/${at}`)
    return made
  }
  onTestFinished(async () => {
    for (const each of pages) await each.close()
    await close()
    expect(said).toEqual([])
  })
  const page = await open(hash)
  // The page that is open has a cookie, and no token in its address.
  const show = async (next: string): Promise<void> =>
    void (await page.goto(`${new URL(url).origin}/tools/jobs/${next}`))
  return { runtime, page, show, open, said }
}

test('the address loses its token when the page opens, and a reload and another tab go on without it', async () => {
  const runtime = await jobs()
  const { url, token, close } = await createDashboard({ runtime }).listen()
  const context = await browser.newContext()
  onTestFinished(async () => {
    await context.close()
    await close()
  })
  const [page, other] = [await context.newPage(), await context.newPage()]
  for (const first of [`${url}#/jobs`, `${new URL(url).origin}/?token=${token}#/jobs`]) {
    await page.goto(first)
    await page.getByText('dead-1').waitFor()
    expect(page.url()).toBe(`${new URL(url).origin}/#/jobs`)
  }
  await page.reload()
  await page.getByText('dead-1').waitFor()
  await other.goto(`${new URL(url).origin}/#/dead`)
  await other.getByText('mailbox').waitFor()
})

/** For what may take long on a machine that does other work, too. */
const patient = { timeout: 30_000 }

const text = (page: Page, selector = 'main'): Promise<string> => page.locator(selector).innerText()

test.runIf(canStartBrowser)('every screen shows what it is for, and the console stays empty', async () => {
  const { page, show } = await opened()
  await page.getByRole('link', { name: 'email.send' }).waitFor()
  for (const [hash, heading, shown] of [
    ['#/', 'Overview', /email\.send[\s\S]*Running now/],
    ['#/jobs', 'Jobs', /order-1[\s\S]*dead-1/],
    ['#/job/order-1', 'order-1', /approval[\s\S]*APPROVE[\s\S]*Context[\s\S]*who/],
    ['#/job/dead-1', 'dead-1', /550 mailbox 4711 unavailable[\s\S]*sends to nobody[\s\S]*3 moves/],
    ['#/queue/email.send', 'email.send', /Limits[\s\S]*Why attempts fail/],
    ['#/dead', 'Dead', /550 mailbox … unavailable/],
    ['#/schedules', 'Schedules', /No schedules/],
    ['#/workers', 'Workers', /0 of 10 slots/],
    ['#/charts', 'Charts', /order, version 1[\s\S]*Every job/],
    ['#/jobs?state=running', 'Jobs', /No job matches/],
    ['#/nowhere', 'There is no such screen', /To the overview/],
  ] as const) {
    await show(hash)
    await page.getByText(heading).first().waitFor()
    await expect.poll(() => text(page), { ...patient, message: hash }).toMatch(shown)
  }
  await page.locator('body').press('?')
  await page.getByRole('dialog').getByText('search jobs').waitFor()
})

test.runIf(canStartBrowser)('the list of workers shows the input of what runs, and its check-in', async () => {
  const held = Promise.withResolvers<void>()
  const hold = defineJob<{ order: number }, void>({
    type: 'hold',
    run: async (_input, ctx) => {
      ctx.checkin('half')
      await held.promise
    },
  })
  const { page } = await opened('#/workers', {}, 1280, async () => {
    const runtime = createRuntime({ jobs: [hold], logger: {} })
    onTestFinished(async () => {
      held.resolve()
      await runtime.stop()
    })
    await runtime.start()
    await runtime.enqueue(hold, { order: 4711 })
    return runtime
  })
  await expect
    .poll(() => text(page), patient)
    .toMatch(/hold[\s\S]*attempt 1[\s\S]*input \{"order":4711\}[\s\S]*check-in "half"/)
})

test.runIf(canStartBrowser)('the list of jobs is ordered by due time, and tells when each is due', async () => {
  const { page, runtime } = await opened('#/jobs')
  for (const delay of ['3h', '1h', '2h'] as const) {
    await runtime.enqueueByName('email.send', { to: 'x' }, { id: `in-${delay}`, delay })
  }
  await page.getByLabel('Order', { exact: true }).selectOption('next due first')
  await expect
    .poll(() => text(page, 'table.jobs'), patient)
    .toMatch(/Due[\s\S]*in-1h[\s\S]*in-2h[\s\S]*in-3h\s[\s\S]*in [23]/)
  expect(await text(page, 'table.jobs')).not.toContain('order-1')
})

test.runIf(canStartBrowser)('a job is retried by its button, and an event is sent to a machine', async () => {
  const { page, show, runtime } = await opened('#/job/dead-1')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByText('dead-1 was sent through again.').waitFor()
  await expect.poll(async () => (await (await runtime.job('dead-1'))!.record()).generation).toBe(2)
  await expect.poll(() => text(page)).toMatch(/generation 2/)
  await show('#/job/order-1')
  await page.getByRole('button', { name: 'APPROVE' }).click()
  await page.getByRole('button', { name: 'Send' }).click()
  await expect.poll(() => text(page, 'h1')).toMatch('done')
})

test.runIf(canStartBrowser)(
  'jobs are found by what was typed, and all that match are changed, with their number',
  async () => {
    const { page, runtime } = await opened('#/jobs')
    await page.getByRole('searchbox').fill('meta:tenant=7')
    await page.getByRole('searchbox').press('Enter')
    const shown = (): Promise<string[]> => page.locator('tbody a.id').allTextContents()
    await expect.poll(shown, patient).toEqual(['dead-1'])
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByText('None of these jobs can be cancelled.').waitFor()
    await page.getByRole('button', { name: 'Retry', exact: true }).click()
    await dialog.getByText('Retry 1 job?').waitFor()
    await dialog.getByRole('button', { name: 'Retry' }).click()
    await expect.poll(async () => (await (await runtime.job('dead-1'))!.record()).generation, patient).toBe(2)
  },
)

test.runIf(canStartBrowser)(
  'the search finds anything as one types, and a job that is not there offers what is near',
  async () => {
    const { page, show, said, runtime } = await opened('#/')
    const palette = page.getByRole('dialog', { name: 'Commands' })
    await page.getByRole('button', { name: 'Search' }).click()
    await palette.getByRole('combobox').fill('tenant-')
    await palette.getByText('tenant-7').click()
    await expect.poll(() => page.locator('tbody a.id').allTextContents(), patient).toEqual(['dead-1'])
    await page.getByRole('button', { name: 'Search' }).click()
    expect(await palette.getByRole('combobox').getAttribute('autocapitalize')).toBe('off')
    await palette.getByRole('combobox').fill('Dead-1')
    await palette.getByText('Nothing has “Dead-1”. As “dead-1”:').waitFor()
    await palette.getByRole('option', { name: 'Job dead-1' }).waitFor()
    await palette.getByRole('combobox').fill('malbox')
    await palette.getByText('Nothing has “malbox”. These have “mailbox”:').waitFor()
    await palette.getByRole('combobox').fill('%')
    await palette.getByText(/Nothing has “%”. Searched of all jobs: types, .* Of the 5,000 jobs .*: ids, /).waitFor()
    // What is near to a filter is not what was meant.
    await runtime.enqueue(email, { to: 'ops' }, { id: 'tag:tenant-9' })
    await palette.getByRole('combobox').fill('tag:tenant-8888')
    await palette.getByText('Find tag:tenant-8888').waitFor()
    await palette.getByText('Nothing has “tag:tenant-8888”.').waitFor()
    expect(await palette.getByRole('option').allInnerTexts()).toEqual(['Filter\nFind tag:tenant-8888'])
    await runtime.schedule('nightly', '0 3 * * *', email, { to: 'ops' })
    await palette.getByRole('combobox').fill('nightl')
    await palette.getByRole('option', { name: 'Schedule nightly email.send' }).click()
    await expect.poll(() => page.locator('tbody tr strong').allTextContents(), patient).toEqual(['nightly'])
    await show('#/find/nightl')
    await page.getByRole('link', { name: 'nightly' }).waitFor()
    await show('#/find/TENANT-7')
    await page.getByText('These are found as “tenant-7”.').waitFor()
    await show('#/jobs')
    await show('#/job/dead-17')
    await page.getByRole('heading', { name: 'There is no job dead-17' }).waitFor()
    // The browser itself tells of an answer that is none.
    expect(said.splice(0)).toEqual([expect.stringContaining('404')])
    await page.getByRole('link', { name: 'dead-1', exact: true }).click()
    await expect.poll(() => text(page, 'h1'), patient).toMatch('dead-1')
    await show('#/find/mailbox')
    await page.getByRole('link', { name: 'Error: 550 mailbox … unavailable' }).waitFor()
    await page.getByRole('link', { name: 'dead-1', exact: true }).waitFor()
    await show('#/find/zzz')
    await page.getByText('Searched of all jobs: types').waitFor()
    await page.getByText('Of the 5,000 jobs that were enqueued last: ids').waitFor()
  },
)

test.runIf(canStartBrowser)('schedules and workers are tables whose filters stay in the address', async () => {
  const { page, show, runtime } = await opened('#/jobs')
  await runtime.schedule('nightly', '0 3 * * *', email, { to: 'ops' }, { timezone: 'Europe/Berlin' })
  await runtime.schedule('weekly', '0 3 * * 1', email, { to: 'ops' }, { paused: true })
  await show('#/schedules')
  await page.getByText('At 03:00, every day').waitFor()
  const rows = (): Promise<string[]> => page.locator('tbody tr strong').allTextContents()
  await expect.poll(rows, patient).toEqual(['nightly', 'weekly'])
  await page.getByRole('button', { name: 'paused 1' }).click()
  await expect.poll(rows, patient).toEqual(['weekly'])
  await page.reload()
  await expect.poll(rows, patient).toEqual(['weekly'])
  await page.getByRole('button', { name: 'Resume weekly' }).click()
  await page.getByText('weekly was resumed.').waitFor()
  await page.getByRole('button', { name: 'paused 0' }).click()
  await page.getByRole('searchbox').fill('night')
  await expect.poll(rows, patient).toEqual(['nightly'])
  await page.getByRole('button', { name: 'Fire now: nightly' }).click()
  await page.getByText('nightly was fired.').waitFor()
  await show('#/workers')
  await page.getByRole('img', { name: /^Runs of the last/ }).waitFor()
  expect(await page.locator('.slot-chart rect').count()).toBeGreaterThanOrEqual(3)
  await page.getByRole('button', { name: /^Close / }).click()
  await expect.poll(() => page.locator('.slot-chart').count(), patient).toBe(0)
})

test.runIf(canStartBrowser)('a scope is kept across screens, and filters are saved by a name', async () => {
  const { page } = await opened('#/jobs?meta=tenant%3D7')
  const ids = (): Promise<string[]> => page.locator('tbody a.id').allTextContents()
  await expect.poll(ids, patient).toEqual(['dead-1'])
  await page.getByRole('button', { name: 'see tenant:7 alone' }).click()
  await expect.poll(() => new URL(page.url()).hash, patient).toBe('#/jobs?scope=tenant%3A7')
  await expect.poll(ids, patient).toEqual(['dead-1'])
  await page.getByRole('link', { name: 'Overview', exact: true }).click()
  await page.locator('.scope-figures').getByRole('link', { name: '1 dead' }).click()
  await expect.poll(() => new URL(page.url()).hash, patient).toBe('#/jobs?scope=tenant%3A7&state=dead')
  await page.getByRole('button', { name: 'save view' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('dead of 7')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Leave the scope' }).click()
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await expect.poll(async () => (await ids()).length, patient).toBe(4)
  await page.reload()
  await page.getByRole('link', { name: 'dead of 7' }).click()
  await expect.poll(ids, patient).toEqual(['dead-1'])
  await page.getByRole('button', { name: 'Forget dead of 7' }).click()
  await expect.poll(() => page.getByRole('link', { name: 'dead of 7' }).count(), patient).toBe(0)
})

test.runIf(canStartBrowser)('a quiet day is one line, and what is not as usual comes first', async () => {
  const { page, runtime } = await opened('#/')
  await page.getByText('All is as usual: 2 jobs done in the last hour, 1 death.').waitFor()
  await runtime.enqueueByName('nobody', {})
  await page.getByRole('link', { name: 'nobody has 1 queued job and no worker that runs it' }).click()
  await expect.poll(() => text(page, 'h1'), patient).toMatch('nobody')
})

test.runIf(canStartBrowser)('a slider leads through the past of a machine, and a fork goes on from there', async () => {
  const { page, runtime } = await opened('#/job/review-1', {}, 1280, reviews)
  const filled = (): Promise<string[]> =>
    page.locator('.jc-active').evaluateAll((states) => states.map((state) => state.getAttribute('data-state') ?? ''))
  const context = page.locator('.panel', { hasText: 'Context' })
  await expect.poll(filled, patient).toEqual(['reminded'])
  await expect.poll(() => page.locator('.jc-timer').textContent(), patient).toMatch(/^in (2 h 59 min|3 h)$/)
  await page.getByLabel('Checkpoint').press('ArrowLeft')
  await expect.poll(filled, patient).toEqual(['review.asked'])
  await expect.poll(() => context.innerText(), patient).toMatch(/Context at checkpoint 1[\s\S]*reminders: 0/)
  await expect.poll(() => page.locator('.jc-timer').textContent(), patient).toBe('in 2 d')
  expect(await page.locator('.jc-sendable').count()).toBe(0)
  await page.getByRole('button', { name: 'Fork from here' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill('review-2')
  await page.getByRole('dialog').getByRole('button', { name: 'Fork' }).click()
  await expect.poll(() => text(page, 'h1'), patient).toMatch('review-2')
  await expect.poll(filled, patient).toEqual(['review.asked'])
  expect((await runtime.job('review-2'))!.id).toBe('review-2')
})

test.runIf(canStartBrowser)('a chart that was not answered in time is asked for again', async () => {
  const { page, show, said } = await opened('#/workers')
  let asked = 0
  await page.route('**/charts/job.svg*', (route) =>
    asked++ === 0
      ? route.fulfill({ status: 503, json: { error: { code: 'TIMEOUT', message: 'It takes too long.' } } })
      : route.continue(),
  )
  await show('#/queue/email.send')
  await page.locator('.chart [data-state]').first().waitFor()
  expect(asked).toBe(2)
  expect(said.splice(0)).toEqual([expect.stringContaining('503')])
})

test.runIf(canStartBrowser)('time travel tells what changed, by which event, and plays', async () => {
  const { page } = await opened('#/job/review-1', {}, 1280, reviews)
  const changes = page.locator('.panel', { hasText: 'What checkpoint' })
  await expect
    .poll(() => changes.innerText(), patient)
    .toMatch(
      /What checkpoint 2 changed[\s\S]*REMIND\s+sent to the job[\s\S]*asked[\s\S]*reminded[\s\S]*~\s+reminders\s+0 → 1/,
    )
  await page.getByRole('button', { name: 'Speed 1 times' }).click()
  // What is played is soon gone: each change of the page is looked at.
  await page.evaluate(`window.shown = []; new MutationObserver(() => {
    const panel = [...document.querySelectorAll('.panel')].find((each) => each.innerText.includes('What checkpoint'))
    if (panel) window.shown.push(panel.innerText)
  }).observe(document.body, { subtree: true, childList: true, characterData: true })`)
  await page.getByRole('button', { name: 'Play' }).click()
  await expect
    .poll(() => page.evaluate('window.shown.join()'), patient)
    .toMatch(/What checkpoint 1 changed[\s\S]*start/)
  await expect.poll(() => changes.innerText(), patient).toMatch(/What checkpoint 2 changed/)
  // Names of XState's own events are not for readers, not even as a hint.
  expect(await changes.locator('b[title]').count()).toBe(0)
  await page.getByRole('button', { name: 'Play' }).waitFor()
  await page.getByLabel('beside').selectOption({ index: 1 })
  const beside = page.locator('.panel', { hasText: 'From 1 to 2' })
  await expect.poll(() => beside.locator('.side').count(), patient).toBe(2)
  await expect.poll(() => beside.innerText(), patient).toMatch(/reminders: 0[\s\S]*reminders: 1/)
  expect(await text(page)).not.toMatch(/xstate\./)
})

test.runIf(canStartBrowser)('a checkpoint without an event says what it was written for', async () => {
  const { page } = await opened('#/job/album-1', {}, 1280, albums)
  await page.getByRole('button', { name: 'work started' }).first().click()
  await page.getByText('No event led to it: work started.').waitFor()
})

test.runIf(canStartBrowser)('an event is sent by a form of its fields', async () => {
  const { page, runtime } = await opened('#/job/review-1', {}, 1280, reviews)
  await page.getByRole('button', { name: 'APPROVE' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('by').selectOption('ada')
  await dialog.getByLabel('amount').fill('250')
  await dialog.getByLabel('urgent').check()
  await dialog.getByRole('button', { name: 'Send' }).click()
  await page.getByText('APPROVE was sent.').waitFor()
  await expect.poll(() => text(page, 'h1'), patient).toMatch('done')
  expect((await (await runtime.job('review-1'))!.snapshot()).context).toMatchObject({ by: 'ada' })
})

test.runIf(canStartBrowser)(
  'the command palette leads to screens, queues and jobs and runs actions, by keys alone',
  async () => {
    const { page } = await opened('#/job/dead-1')
    const palette = page.getByRole('dialog', { name: 'Commands' })
    const command = async (typed: string): Promise<void> => {
      await page.keyboard.press('Control+k')
      await palette.getByRole('combobox').waitFor()
      await page.keyboard.type(typed)
      await palette.getByRole('option', { selected: true }).waitFor()
      await page.keyboard.press('Enter')
    }
    await page.getByRole('button', { name: 'Retry' }).waitFor()
    await page.keyboard.press('Control+k')
    await expect
      .poll(() => palette.getByRole('option').allInnerTexts(), patient)
      .toContainEqual('Action\nDiscard\ndead-1')
    await page.evaluate(axe.source)
    expect(
      await page.evaluate(`axe.run('dialog[open]').then(({ violations }) => violations.map(({ id }) => id))`),
    ).toEqual([])
    await page.keyboard.press('ArrowUp')
    await expect.poll(() => text(page, '[aria-selected=true]'), patient).toBe('Queue\norder')
    // Opened again at once: the browser reports later that the dialog was closed.
    await page.evaluate(`
      document.querySelector('dialog[open]').close()
      dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }))
    `)
    await palette.getByRole('combobox').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => palette.count(), patient).toBe(0)
    await command('dead-1')
    await expect.poll(() => text(page, 'h1'), patient).toMatch('dead-1')
    await expect.poll(() => page.getByRole('dialog').count(), patient).toBe(0)
    // The palette offers the buttons that are there when it is opened.
    await page.getByRole('button', { name: 'Discard' }).waitFor()
    await command('discard')
    await page.getByRole('heading', { name: 'Discard this job?' }).waitFor()
    await page.keyboard.press('Escape')
    await command('sched')
    await expect.poll(() => text(page, 'h1'), patient).toBe('Schedules')
    await command('queue order')
    await expect.poll(() => text(page, 'h1'), patient).toMatch('order')
    await command('order-1')
    await expect.poll(() => text(page, 'h1'), patient).toMatch('order-1')
  },
)

test.runIf(canStartBrowser)('all that match a filter are changed after a confirmation that says how many', async () => {
  const { page, runtime } = await opened('#/jobs?type=email.send')
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('heading', { name: 'Discard 3 jobs?' }).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
  await page.getByText('3 discarded.').waitFor()
  expect(await runtime.counts()).toMatchObject({ done: 0, dead: 0, waiting: 1 })
})

test.runIf(canStartBrowser)(
  'a retry of 1,000 dead jobs goes on when the page is left, and who comes back sees how far it is',
  async () => {
    const world = await deadEmails()
    const { page, show, open } = await opened('#/dead', {}, 1280, async () => world.runtime)
    const strip = (of: Page) => of.getByRole('region', { name: 'Changes of many jobs' })
    await page.getByRole('button', { name: 'Retry all' }).click()
    await page.getByRole('heading', { name: 'Retry 1,000 jobs of email.send?' }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry 1,000' }).click()
    await page.getByText('Retry has begun. It goes on when this page is closed.').waitFor()
    const progress = strip(page).getByRole('progressbar', { name: /^Retry of type email.send, state dead/ })
    await expect.poll(() => strip(page).innerText(), patient).toMatch(/100 retried of 1,000/)
    await progress.waitFor()
    expect(await page.evaluate(`document.querySelector('progress').position`)).toBe(0.1)

    // On another screen it is shown, too.
    await show('#/workers')
    world.let(3)
    await expect.poll(() => strip(page).innerText(), patient).toMatch(/400 retried of 1,000/)

    await page.goto('about:blank')
    world.let(2)
    await expect.poll(async () => (await world.runtime.bulk.list())[0]?.counts, patient).toEqual({ retried: 600 })
    const later = await open('#/jobs')
    await expect.poll(() => strip(later).innerText(), patient).toMatch(/600 retried of 1,000[\s\S]*Stop/)
    await later.evaluate(axe.source)
    expect(
      await later.evaluate(`axe.run('.operations').then(({ violations }) => violations.map(({ id }) => id))`),
    ).toEqual([])

    world.let(4)
    await expect.poll(() => strip(later).innerText(), patient).toMatch(/done[\s\S]*1,000 retried of 1,000/)
    expect(await world.runtime.counts()).toMatchObject({ dead: 0, queued: 1_000 })
  },
)

test.runIf(canStartBrowser)('a change of many jobs is stopped by its button', async () => {
  const world = await deadEmails()
  const { page } = await opened('#/jobs?state=dead', {}, 1280, async () => world.runtime)
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Discard was stopped.').waitFor()
  world.let(1)
  await page.getByText('100 discarded').waitFor()
  expect(await world.runtime.counts()).toMatchObject({ dead: 900 })
  expect((await world.runtime.bulk.list())[0]?.state).toBe('stopped')
})

test.runIf(canStartBrowser)('the list of jobs stays still until one asks for what is new', async () => {
  const { page, runtime } = await opened('#/jobs')
  await page.getByText('up to date').waitFor()
  const rows = page.locator('tbody tr')
  expect(await rows.count()).toBe(4)
  await runtime.run(email, { to: 'max' })
  await page.getByRole('button', { name: '1 new' }).waitFor()
  expect(await rows.count()).toBe(4)
  await page.getByRole('button', { name: '1 new' }).click()
  await expect.poll(() => rows.count()).toBe(5)
})

test.runIf(canStartBrowser)(
  'new jobs are counted up to a bound, and where they cannot be told the list says so',
  async () => {
    const { page, show, runtime } = await opened('#/jobs')
    await page.getByText('up to date').waitFor()
    await runtime.queue('bulk').pause()
    await Promise.all(Array.from({ length: 1_100 }, (_, i) => runtime.enqueueByName('bulk', i)))
    await page.getByRole('button', { name: '1,000+ new' }).waitFor()
    await show('#/jobs?tag=vip')
    await page.getByText('up to date').waitFor()
    await runtime.enqueueByName('bulk', 0, { tags: ['vip'] })
    await page.getByRole('button', { name: 'load anew' }).click()
    await page.getByText('up to date').waitFor()
    expect(await page.locator('tbody tr').count()).toBe(1)
  },
)

test.runIf(canStartBrowser)('of trouble in many queues the worst is shown, and all if one asks for it', async () => {
  const { page, runtime } = await opened('#/')
  const types = Array.from({ length: 8 }, (_, i) => Array.from({ length: i + 1 }, () => `queue-${i}`)).flat()
  await Promise.all(types.map((type) => runtime.enqueueByName(type, 0)))
  const told = page.getByRole('region', { name: 'What is not as usual' }).getByRole('link')
  await page.getByRole('button', { name: 'Show 3 more' }).waitFor()
  expect(await told.count()).toBe(5)
  expect(await told.first().innerText()).toBe('queue-7 has 8 queued jobs and no worker that runs it')
  await page.getByRole('button', { name: 'Show 3 more' }).click()
  expect(await told.count()).toBe(8)
})

test.runIf(canStartBrowser)('who may only read has no buttons for changes', async () => {
  const { page } = await opened('#/job/dead-1', { authorize: () => 'read' })
  await page.getByText('read only').waitFor()
  await page.getByText('Timeline').waitFor()
  expect(await page.getByRole('button', { name: /Retry|Discard/ }).count()).toBe(0)
})

test.runIf(canStartBrowser)('text from jobs is text, whatever it holds', async () => {
  const { page, show, runtime } = await opened('#/')
  const evil = [
    '<img src=x onerror=alert(1)>',
    '"><script>alert(1)</script>',
    "javascript:alert('1')",
    '</svg><svg onload=alert(1)>',
    '{{constructor.constructor("alert(1)")()}}',
    '\u202Ereversed\u0000',
  ]
  for (const [i, to] of evil.entries()) {
    const tags = [to.replace('\0', '')]
    const job = await runtime.enqueue(email, { to }, { id: `evil-${i}-${to.replace('\0', '').slice(0, 150)}`, tags })
    await job.result()
    await show(`#/job/${encodeURIComponent(job.id)}`)
    await expect.poll(() => text(page, 'h1'), patient).toMatch(`evil-${i}-`)
    await page.getByText('Timeline').waitFor()
  }
  await show('#/jobs')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(10)
  expect(await page.locator('main img, main script, main [onload], main [onerror]').count()).toBe(0)
})

test.runIf(canStartBrowser)('a job whose name a URL would drop has a page, and its button changes it', async () => {
  const { page, runtime, show } = await opened('#/')
  await runtime.enqueue(email, { to: 'eve' }, { id: '..', delay: '1h' })
  await show('#/job/..')
  await page.getByText('Timeline').waitFor()
  await page.getByRole('button', { name: /^cancel/i }).click()
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^cancel/i })
    .last()
    .click()
  await expect.poll(async () => (await (await runtime.job('..'))?.record())?.state, patient).toBe('cancelled')
})

test.runIf(canStartBrowser)('on a phone nothing is wider than the window, however long names are', async () => {
  const store = memoryStore()
  const { page, show } = await opened('#/', {}, 390, () => jobs(store))
  const type = `a.type.${'of.a.team.with.long.names.'.repeat(3)}`
  await put(store, newJob('x'.repeat(100), { type, tags: ['t'.repeat(100)] }))
  const [worker] = await store.workers()
  await store.worker('another', { ...worker!, name: 'w'.repeat(80), host: 'h'.repeat(80), types: [type] })
  for (const hash of [
    '#/',
    '#/jobs',
    '#/job/order-1',
    `#/job/${'x'.repeat(100)}`,
    '#/queue/email.send',
    `#/queue/${type}`,
    '#/dead',
    '#/workers',
    '#/charts',
  ]) {
    await show(hash)
    await page.locator('h1').waitFor()
    await page.locator('.loading').waitFor({ state: 'detached' })
    expect(await page.evaluate('document.documentElement.scrollWidth'), hash).toBeLessThanOrEqual(390)
  }
})

test.runIf(canStartBrowser)('groups of failures are merged and split by buttons', async () => {
  const calls = defineJob<{ why: string }, void>({
    type: 'call',
    run: ({ why }) => {
      throw fatal(new Error(why))
    },
  })
  const start = async () => {
    const runtime = createRuntime({ jobs: [calls], logger: {} })
    onTestFinished(() => void runtime.stop({ mode: 'abort' }))
    await runtime.start()
    for (const why of ['no answer', 'refused', 'no money']) await runtime.run(calls, { why }).catch(() => {})
    return runtime
  }
  const { page } = await opened('#/dead', {}, 1280, start)
  const group = (message: string) => page.locator('.groups li', { hasText: message })
  await group('no answer').getByRole('button', { name: 'Merge' }).click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.locator('option').allTextContents()).toEqual(['Error no money', 'Error refused'])
  await dialog.getByRole('combobox').selectOption({ label: 'Error refused' })
  await dialog.getByRole('button', { name: 'Merge' }).click()
  await group('2 groups in one').waitFor()
  expect(await page.locator('.groups li').count()).toBe(2)
  expect(await group('refused').count()).toBe(0)
  await group('no answer').getByRole('link', { name: 'the 2 dead jobs' }).click()
  await expect.poll(() => page.locator('tbody tr').count()).toBe(2)
  await page.goBack()
  await group('no answer').getByRole('button', { name: 'Split' }).click()
  await dialog.getByRole('button', { name: 'Split' }).click()
  await expect.poll(() => page.locator('.groups li').count()).toBe(3)
})
