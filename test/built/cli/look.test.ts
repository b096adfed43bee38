/** Commands that only look at a store. */
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, createRuntime, defineJob, fatal, type MergedFailureGroup } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, test } from 'vitest'
import { commandLine, moduleAt } from './command-line.ts'
import { order } from './jobs.ts'

const { run, start, startInto, folder } = commandLine()
const jobsFile = moduleAt('jobs.ts')

const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await run(...args, '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

test.concurrent(
  'ls gives a page of jobs as a table, as JSON and as ids, and says where the next page begins',
  async () => {
    const { code, stdout, stderr } = await run('ls', '-t', 'email.send', '--order', 'oldest', '-n', '3')
    expect(code).toBe(0)
    expect(stdout.split('\n')[0]).toMatch(/^ID +TYPE +STATE +ATTEMPT/)
    expect(stdout).toMatch(/^mail-0 +email\.send +done +1\/3 +\d+ m?s ago/m)
    expect(stderr).toMatch(/^More: --after /)
    const page = await json('ls', '-s', 'dead', '-s', 'waiting', '--order', 'oldest')
    expect(page.jobs.map(({ id }: { id: string }) => id)).toEqual(['order-0', 'order-1', 'order-2', 'full-0', 'full-1'])
    expect(page.jobs[0]).toMatchObject({ type: 'order', state: 'waiting', machineStates: ['review'], attempt: 0 })
    expect(page.next).toBe(null)
    const { stdout: ids } = await run('ls', '--ids', '--all', '-t', 'bulk')
    expect(ids.trim().split('\n')).toHaveLength(600)
  },
)

test.concurrent('ls filters by tag, machine state, machine tag and time, and orders by due time', async () => {
  const ids = async (...args: string[]): Promise<string[]> =>
    (await json('ls', '--order', 'oldest', ...args)).jobs.map(({ id }: { id: string }) => id)
  expect(await ids('--tag', 'news')).toEqual(['mail-0', 'mail-1', 'mail-2'])
  expect(await ids('--machine-state', 'review', '--machine-tag', 'human')).toEqual(['order-0', 'order-1', 'order-2'])
  expect(await ids('--state', 'dead', '--finished-after', '1h')).toEqual(['full-0', 'full-1'])
  expect(await ids('--state', 'dead', '--finished-before', '1h')).toEqual([])
  expect(await ids('--order-by', 'due', '--order', 'newest')).toEqual(['order-2', 'order-1', 'order-0'])
  const soonest = await json('ls', '--order-by', 'due')
  expect(soonest.jobs.map(({ id }: { id: string }) => id)).toEqual(['order-0', 'order-1', 'order-2'])
})

test.concurrent('find gives hits with their jobs and a command for each, or what is near', async () => {
  const { stdout, stderr } = await run('find', 'mail-0')
  expect(stdout).toMatch(/^WHAT +FOUND/)
  expect(stdout).toMatch(/^job +mail-0 +1 +show mail-0$/m)
  expect(stderr).toBe('')
  expect((await run('find', 'news')).stdout).toMatch(/^tag +news +3 +ls --tag news$/m)
  expect((await run('find', 'FULL')).stdout).toMatch(/^failure +Error: the mailbox is full/m)
  expect((await run('find', 'review')).stdout).toMatch(
    /^state of machine +review +order +3 +ls --machine-state review$/m,
  )
  expect((await run('find', 'night')).stdout).toMatch(/^schedule +nightly +email\.send +schedules$/m)
  const lower = await run('find', 'Mail-0')
  expect(lower.stderr).toContain('Nothing begins with or has Mail-0.\nAs mail-0:')
  expect(lower.stdout).toMatch(/^job +mail-0 +1 +show mail-0$/m)
  const near = await run('find', 'order-77')
  expect(near.stderr).toContain('Nothing begins with or has order-77.\nNear it, what begins with or has order-:')
  expect(near.stdout).toMatch(/^job +order-0/m)
  expect(near.stderr).toMatch(/Searched by job, key, .*, failure: every job\.\nSearched by name: workers, schedules\./)
  const nothing = await run('find', '%')
  expect([nothing.code, nothing.stdout]).toEqual([0, ''])
  expect(nothing.stderr).toMatch(/^Nothing begins with or has '%'\.\nSearched by job, key, .*: every job\.\n/)
  expect((await run('show', 'ordr 1')).stderr).toMatch(/hint: .* What is near: jobchart find 'ordr 1'$/m)
  const { hits, near: start } = await json('find', 'order-77', '--limit', '1')
  expect([hits.length, start]).toEqual([1, 'order-'])
})

test.concurrent(
  'show has the error, the logs and the history; with the definition also the chart and the events',
  async () => {
    const { stdout } = await run('show', 'full-0')
    for (const text of [
      'email.send full-0  dead',
      'Error: the mailbox is full',
      'hint: Empty it.',
      'to 0',
      'FAIL',
      '"isFull": true',
    ]) {
      expect(stdout).toContain(text)
    }
    const { stdout: machine } = await run('show', 'order-0', '--jobs', jobsFile)
    expect(machine).toContain('▸ ● review #human')
    expect(machine).toContain('Takes now: APPROVE')
    expect(await json('show', 'order-0', '--jobs', jobsFile)).toMatchObject({
      job: { id: 'order-0', state: 'waiting', history: expect.any(Array) },
      machine: { version: '1', value: 'review', events: [{ type: 'APPROVE', accepted: true }] },
    })
    expect((await json('show', 'order-0')).machine).toBe(null)
  },
)

test.concurrent(
  'show and tail have workers by their names, and by their ids once the store has them no more',
  async () => {
    const path = join(folder(), 'workers.db')
    const mail = defineJob({ type: 'mail', run: () => 1 })
    const runtime = createRuntime({ store: sqliteStore({ path }), jobs: [mail], name: 'eu-1', logger: {} })
    await runtime.start()
    await (await runtime.enqueue(mail, undefined, { id: 'first' })).result()
    const on = ['--store', path]
    const { stdout } = await run('show', 'first', ...on)
    expect(stdout).toMatch(/^ {2}worker +eu-1$/m)
    expect(stdout).toMatch(/ CLAIM +running +1 +eu-1$/m)
    expect((await run('tail', '--no-follow', '-e', 'claim', ...on)).stdout).toMatch(
      /mail {2}first {2}attempt 1, eu-1\n$/,
    )
    const { job } = await json('show', 'first', ...on)
    await runtime.stop()
    expect((await run('show', 'first', ...on)).stdout).toContain(` ${job.worker}\n`)
  },
)

test.concurrent('stats, top, workers and schedules have what the store has', async () => {
  const stats = await json('stats')
  expect(stats.counts).toMatchObject({ queued: 600, waiting: 3, done: 3, dead: 2 })
  expect(stats.queues.map(({ type }: { type: string }) => type)).toEqual(['bulk', 'email.send', 'order'])
  expect(stats.queues[0]).toMatchObject({ paused: true, workers: 0, queuedSince: expect.any(Number) })
  expect((await run('stats')).stdout).toMatch(/^bulk \(paused\) +600 /m)
  expect(await json('top')).toMatchObject({ perSecond: { done: expect.any(Number) }, workers: [] })
  expect((await run('top')).stdout).toMatch(/done \d+\/\w+ .* 0 of 0 slots/)
  expect(stats.perSecond).toMatchObject({ enqueued: expect.any(Number), meanRunMs: expect.any(Number) })
  expect(stats.queues[0].rates.lastFiveMinutes.enqueued).toBeGreaterThan(0)
  expect((await run('stats')).stdout).toMatch(/^last minute: \d.* enqueued +\d.* done +\d.* failed/m)
  expect(await json('workers')).toMatchObject({ workers: [] })
  const { schedules } = await json('schedules', '--next', '2')
  expect(schedules).toMatchObject([
    { name: 'nightly', spec: '0 3 * * *', nextRuns: [expect.any(Number), expect.any(Number)] },
  ])
  expect((await run('schedules')).stdout).toMatch(/^nightly +0 3 \* \* \* UTC +email\.send +in /m)
})

test.concurrent('heat has the times in states and the transitions of machines', async () => {
  expect((await run('heat', 'order')).stderr).toBe('No machine of order has moved in this time.\n')
  expect((await run('heat', 'ordre')).stderr).toContain('The store has no jobs of the type ordre.')
  const path = join(folder(), 'heat.db')
  await using runtime = createRuntime({ store: sqliteStore({ path }), jobs: [order], logger: {} })
  await runtime.start()
  const job = await runtime.enqueue(order, undefined, { id: 'first' })
  await job.waitFor('review')
  await job.send({ type: 'APPROVE' })
  await job.result()
  const on = ['--store', `sqlite:${path}`]
  const { stdout, stderr } = await run('heat', 'order', ...on)
  expect(stdout).toMatch(/^STATE +LEFT +MEDIAN +P95 +P99\nreview +1 +\d/)
  expect(stdout).toMatch(/^order\.review APPROVE +1 +first$/m)
  expect(stderr).toBe('')
  expect((await run('heat', 'order', '--machine-version', '7', ...on)).stderr).toContain('No machine')
  expect((await run('heat', 'order', '-p', 'month', ...on)).code).toBe(2)
  expect(JSON.parse((await run('heat', 'order', '--json', '-p', 'week', ...on)).stdout)).toMatchObject({
    type: 'order',
    period: 'week',
    versions: ['1'],
  })
})

test.concurrent('failures has failed attempts by error, and ls finds the jobs of a group', async () => {
  const { groups } = await json('failures')
  expect(groups).toMatchObject([
    { type: 'email.send', name: 'Error', message: 'the mailbox is full', dead: 2, count: 2 },
  ])
  expect((await run('failures')).stdout).toMatch(/^ +2 +2 +email\.send +Error: the mailbox/m)
  expect((await run('failures', '-t', 'order')).stderr).toContain('No attempt has failed.')
  const { jobs } = await json('ls', '-s', 'dead', '--failure', groups[0].fingerprint, '--order', 'oldest')
  expect(jobs.map(({ id }: { id: string }) => id)).toEqual(['full-0', 'full-1'])
})

test.concurrent('failures --merge tells groups as one, and --split takes them apart', async () => {
  const path = join(folder(), 'merged.db')
  const jobs = ['no answer', 'refused'].map((message) =>
    defineJob({
      type: 'call',
      run: () => {
        throw fatal(new Error(message))
      },
    }),
  )
  for (const job of jobs) {
    const runtime = createRuntime({ jobs: [job], store: sqliteStore({ path }), logger: {} })
    await runtime.start()
    await runtime.run(job, undefined).catch(() => {})
    await runtime.stop()
  }
  const on = ['--store', `sqlite:${path}`]
  const told = async (...options: string[]) =>
    (JSON.parse((await run('failures', ...options, '--json', ...on)).stdout) as { groups: MergedFailureGroup[] }).groups
  const [refused, unanswered] = (await told()).map(({ fingerprint }) => fingerprint)
  if (refused === undefined || unanswered === undefined) throw new Error('two groups were expected')
  const [both, ...others] = await told('-t', 'call', '--merge', unanswered, refused)
  expect([both?.message, both?.dead, both?.fingerprints, others]).toEqual(['no answer', 2, [unanswered, refused], []])
  const listed = await run('ls', '--failure', unanswered, '--failure', refused, '--json', ...on)
  expect((JSON.parse(listed.stdout) as { jobs: unknown[] }).jobs).toHaveLength(2)
  expect((await run('find', 'refused', ...on)).stdout).not.toContain(`--failure ${refused}`)
  expect((await run('failures', '--split', refused, ...on)).code).toBe(2)
  expect(await told('-t', 'call', '--split', refused)).toHaveLength(2)
})

test.concurrent(
  'tail begins with the past, prints a line of JSON per transition, and ends with its reader',
  async () => {
    const { stdout } = await run('tail', '--no-follow', '--json', '-n', '2', '--event', 'fail')
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; to: string })
    expect(lines.map(({ id, to }) => [id, to])).toEqual([
      ['full-0', 'dead'],
      ['full-1', 'dead'],
    ])
    // More than a pipe holds, so that the command meets the closed end.
    const child = start('tail', '--json', '-n', '10000')
    let said = ''
    child.stderr?.on('data', (text: Buffer) => (said += text.toString()))
    child.stdout?.once('data', () => child.stdout?.destroy())
    const [code] = (await once(child, 'exit')) as [number | null]
    expect({ code, said }).toEqual({ code: 0, said: '' })
  },
)

test.concurrent.each([
  ['ls', '--json'],
  ['--version', '--json'],
  ['ls', '--help', '--json'],
  ['--help', '--json'],
])('an output that cannot be written is an error with its exit code, and no finding: %s %s %s', async (...args) => {
  const full = openSync('/dev/full', 'w')
  const child = startInto(full, ...args)
  let said = ''
  child.stderr?.on('data', (text: Buffer) => (said += text.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  closeSync(full)
  expect(code).toBe(2)
  expect(JSON.parse(said)).toMatchObject({
    error: { code: 'INVALID_OPTION', message: expect.stringContaining('the output cannot be written: ENOSPC') },
  })
})

test.concurrent('dashboard serves the page on a loopback port until it is told to end', async () => {
  const child = start('dashboard', '--json', '--title', 'tested', '--jobs', jobsFile)
  const [text] = (await once(child.stdout!, 'data')) as [Buffer]
  const { url } = JSON.parse(text.toString()) as { url: string }
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/token=[\w-]{32}\/$/)
  expect(await (await fetch(`${url}api/v1`)).json()).toMatchObject({ title: 'tested', role: 'admin' })
  expect(await (await fetch(`${url}api/v1/charts`)).text()).toContain('"type":"order"')
  child.kill('SIGINT')
  expect((await once(child, 'exit'))[0]).toBe(0)
})

/** Characters that a terminal obeys, in a job of which all that a user may choose has them. */
const obeyed = 'a\u009b31m\u202e\u007f'

test.concurrent.for([
  ['ls'],
  ['ls', '--json'],
  ['show', obeyed],
  ['show', obeyed, '--json'],
  ['stats'],
  ['top', '--once'],
  ['find', 'a'],
  ['tail', '--no-follow'],
  ['show', `nobody ${obeyed}`],
  ['ls', `--wrong=${obeyed}`, '--json'],
])('nothing that comes from a job or an argument is obeyed by the terminal: %j', async (args) => {
  const path = join(folder(), `${args.join(' ').replaceAll(/\W/g, '-')}.db`)
  expect((await run('migrate', '--store', path)).code).toBe(0)
  await using client = createClient({ store: sqliteStore({ path }) })
  await client.enqueueByName(obeyed, obeyed, { id: obeyed, tags: [obeyed], meta: { by: obeyed } })
  const { stdout, stderr } = await run(...args, '--store', path)
  expect(stdout + stderr).toContain(String.raw`31m\u202e`)
  expect(stdout + stderr).not.toMatch(/[\u007f-\u009f\u202e]/)
  if (args[0] === 'ls' && args.length === 2) expect(JSON.parse(stdout)).toMatchObject({ jobs: [{ id: obeyed }] })
})
