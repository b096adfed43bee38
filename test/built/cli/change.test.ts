/** Commands that change jobs, each on a copy of the store. */
import { once } from 'node:events'
import { join } from 'node:path'
import { createClient, createRuntime, type BulkOperation } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { commandLine, moduleAt } from './command-line.ts'
import { order } from './jobs.ts'

const { onCopy, run, startOn, folder } = commandLine()
const jobsFile = moduleAt('jobs.ts')

test.concurrent('retry by ids says what became of each, and ends with 1 if one was not retried', async () => {
  const run = onCopy()
  expect(await run('retry', 'full-0')).toMatchObject({ code: 0, stdout: '1 retried\n' })
  const { code, stdout, stderr } = await run('retry', 'full-1', 'mail-0', 'nobody', '--json')
  expect(code).toBe(1)
  expect(stderr).toBe('Refused: what is neither dead nor cancelled, or whose unique key another job holds.\n')
  expect(JSON.parse(stdout)).toEqual({
    totals: { retried: 1, refused: 1, notFound: 1 },
    retried: ['full-1'],
    refused: ['mail-0'],
    notFound: ['nobody'],
  })
})

test.concurrent('cancel of all that match needs a confirmation, and goes in parts', async () => {
  const run = onCopy()
  const unasked = await run('cancel', '--type', 'bulk')
  expect(unasked).toMatchObject({ code: 2, stdout: '' })
  expect(unasked.stderr).toContain('to cancel 600 jobs needs a confirmation')
  expect(await run('cancel', '--type', 'bulk', '--dry-run')).toMatchObject({
    code: 0,
    stdout: 'would cancel 600 jobs\n',
  })
  const { code, stdout } = await run('cancel', '--type', 'bulk', '--yes', '--json', '--reason', 'not needed')
  expect(code).toBe(0)
  const report = JSON.parse(stdout) as { totals: object; cancelled: string[] }
  expect(report.totals).toEqual({ cancelled: 600, cancelling: 0, notFound: 0, finished: 0 })
  expect(new Set(report.cancelled).size).toBe(600)
  expect((await run('show', report.cancelled[0]!)).stdout).toContain('not needed')
  // A change is asked for with the number of those it changes, not of all that match.
  expect(await run('cancel', '--type', 'bulk', '--dry-run')).toMatchObject({ stdout: 'would cancel 0 jobs\n' })
  expect((await run('discard', '-s', 'cancelled', '-y')).stdout).toBe('600 discarded\n')
  const refused = { code: 1, stdout: '1 refused\n', stderr: 'Refused: what has not ended.\n' }
  expect(await run('discard', 'order-0', '-y')).toMatchObject(refused)
})

test.concurrent(
  'Ctrl-C ends a change of many jobs after the part that is being written; the command repeated changes the others',
  async () => {
    const path = join(folder(), 'many.db')
    const many = 5_000
    await using client = createClient({ store: sqliteStore({ path, durability: 'normal' }) })
    await Promise.all(Array.from({ length: many }, (_, i) => client.enqueueByName('many', i)))
    const cancelled = async (): Promise<number> => (await client.counts()).cancelled
    const child = startOn(path, 'cancel', '--type', 'many', '--yes')
    let stderr = ''
    child.stderr?.on('data', (text: Buffer) => (stderr += text.toString()))
    const exit = once(child, 'close')
    while ((await cancelled()) === 0 && child.exitCode === null);
    child.kill('SIGINT')
    expect((await exit)[0]).toBe(130)
    const [, count = ''] = /interrupted after ([\d\D]*?) cancelled/.exec(stderr) ?? []
    const done = Number(count.replaceAll(/\D/g, ''))
    expect(done).toBe(await cancelled())
    expect(done).toBeLessThan(many)
    expect(stderr).toContain('Repeat the command to continue')
    const again = startOn(path, 'cancel', '--type', 'many', '--yes', '--json')
    let stdout = ''
    again.stdout?.on('data', (text: Buffer) => (stdout += text.toString()))
    expect((await once(again, 'close'))[0]).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ totals: { cancelled: many - done } })
    expect(await cancelled()).toBe(many)
  },
)

test.concurrent('a change of all that match is listed, left to a runtime, gone on with and stopped', async () => {
  const run = onCopy()
  const listed = async (): Promise<BulkOperation[]> => {
    return (JSON.parse((await run('bulk', '--json')).stdout) as { operations: BulkOperation[] }).operations
  }
  expect((await run('bulk', 'ls')).stderr).toBe('No bulk operations.\n')
  const cancel = ['cancel', '--type', 'bulk', '--yes', '--detach']
  const detached = await run(...cancel, '--json')
  const { operation } = JSON.parse(detached.stdout) as { operation: BulkOperation }
  expect(operation).toMatchObject({ state: 'running', counts: { cancelled: 100 }, expected: 600 })
  expect(detached.stderr).toContain(`jobchart bulk resume ${operation.id} goes on`)
  expect(await listed()).toMatchObject([{ id: operation.id, state: 'running' }])
  expect((await run('bulk', 'resume', operation.id)).stdout).toBe('600 cancelled of 600\n')
  expect((await run('bulk', 'ls')).stdout).toMatch(/cancel +done +600 cancelled of 600 .* type=bulk/)

  expect((await run('retry', '--type', 'bulk', '--detach')).stdout).toMatch(/: 100 retried of 600\n$/)
  const [latest] = await listed()
  expect((await run('bulk', 'stop', latest!.id)).stdout).toBe('stopped: 100 retried of 600\n')
  const stopped = await run('bulk', 'resume', latest!.id)
  expect(stopped.code).toBe(130)
  expect(stopped.stderr).toContain('was stopped after 100 retried')
  expect(await run('bulk', 'stop', 'nobody')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('`jobchart bulk` lists'),
  })
  expect((await run('retry', 'full-0', '--detach')).code).toBe(2)
})

test.concurrent('a runtime goes on with a change of many jobs whose command was killed', async () => {
  const path = join(folder(), 'killed.db')
  const many = 3_000
  const store = sqliteStore({ path, durability: 'normal' })
  await using client = createClient({ store })
  await Promise.all(Array.from({ length: many }, (_, i) => client.enqueueByName('many', i)))
  const child = startOn(path, 'cancel', '--type', 'many', '--yes')
  const exit = once(child, 'close')
  while ((await client.counts()).cancelled === 0 && child.exitCode === null);
  child.kill('SIGKILL')
  expect(await exit).toEqual([null, 'SIGKILL'])
  const [killed] = await client.bulk.list()
  expect(killed).toMatchObject({ state: 'running', counts: { cancelled: (await client.counts()).cancelled } })
  // On its clock the lease of the command is over.
  const clock = { ...systemClock, now: () => systemClock.now() + 60_000 }
  await using runtime = createRuntime({ store: sqliteStore({ path, durability: 'normal' }), clock, jobs: [] })
  await runtime.start()
  await expect
    .poll(async () => (await client.bulk.list())[0])
    .toMatchObject({ state: 'done', counts: { cancelled: many } })
})

test.concurrent('nothing is changed without ids or options, or with both', async () => {
  const run = onCopy()
  for (const args of [['retry'], ['discard', '--yes'], ['cancel', 'a', '--type', 'bulk', '--yes']]) {
    const { code, stderr } = await run(...args)
    expect(code).toBe(2)
    expect(stderr).toContain('expected either ids, or options')
  }
})

test.concurrent('send asks the machine, or leaves it to the machine', async () => {
  const run = onCopy()
  expect((await run('send', 'order-0', 'APPROVE')).stderr).toContain('Pass --jobs FILE')
  const refused = await run('send', 'order-0', 'REFUSE', '--jobs', jobsFile)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toMatch(/error NOT_ACCEPTED.*\nhint: jobchart show order-0/)
  expect((await run('send', 'order-0', 'APPROVE', '{"by":"ada"}', '--jobs', jobsFile)).stdout).toBe(
    'sent APPROVE to order-0\n',
  )
  expect((await run('send', 'order-1', 'APPROVE', '--always', '--json')).stdout).toBe(
    '{"id":"order-1","sent":"APPROVE"}\n',
  )
  const { job } = JSON.parse((await run('show', 'order-0', '--json')).stdout)
  expect(job).toMatchObject({ state: 'queued', inbox: [{ message: { event: { type: 'APPROVE', by: 'ada' } } }] })
  expect((await run('send', 'order-2', 'APPROVE', '[1]', '--always')).code).toBe(2)
})

test.concurrent('an event that is sent to be kept is shown with its job until a state takes it', async () => {
  const path = join(folder(), 'kept.db')
  await using runtime = createRuntime({ store: sqliteStore({ path }), jobs: [order], logger: {} })
  await runtime.start()
  const job = await runtime.enqueue(order, undefined, { id: 'early' })
  await job.waitFor('review')
  const on = ['--store', `sqlite:${path}`]
  expect(await run('send', 'early', 'SHIPPED', '{"by":"sea"}', '--later', ...on)).toMatchObject({ code: 0 })
  await expect.poll(async () => (await job.record()).deferred).toEqual([1])
  const { stdout } = await run('show', 'early', ...on)
  expect(stdout).toMatch(/^ +deferred +1 event$/m)
  expect(stdout).toMatch(/Events that wait for a state\n +.*\{"by":"sea","type":"SHIPPED"\}/)
  await job.send({ type: 'APPROVE' })
  await job.result()
  expect((await run('show', 'early', ...on)).stdout).toContain('an event was dropped: the machine has ended: SHIPPED')
})

test.concurrent('queues and schedules are paused and resumed, and a schedule is triggered', async () => {
  const run = onCopy()
  expect((await run('resume', 'bulk')).stdout).toBe('bulk goes on: 600 jobs queued, 0 running\n')
  expect((await run('pause', 'bluk')).stderr).toContain('The store has no jobs of the type bluk')
  // The pause itself makes it no known type.
  expect((await run('resume', 'bluk')).stderr).toContain('The store has no jobs of the type bluk')
  const { queues } = JSON.parse((await run('pause', 'bulk', 'order', '--json')).stdout)
  expect(queues).toMatchObject([
    { type: 'bulk', paused: true },
    { type: 'order', paused: true },
  ])
  expect((await run('schedules', 'pause', 'nightly')).stdout).toBe('nightly: paused\n')
  expect((await run('schedules')).stdout).toMatch(/^nightly .* paused/m)
  const { job } = JSON.parse((await run('schedules', 'trigger', 'nightly', '--json')).stdout)
  expect(job).toMatch(/^nightly@/)
  expect(await run('schedules', 'resume', 'nobody')).toMatchObject({ code: 1, stdout: '' })
})
