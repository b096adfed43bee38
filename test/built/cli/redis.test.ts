/** Every command on a Redis store, by a user who has the rights that the guide names, and no others. */
import { once } from 'node:events'
import { createClient } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { beforeAll, expect } from 'vitest'
import { exitCodes } from '../../../src/cli/exit-codes.ts'
import { canStartRedis, redisTest as test, serverOfFile } from '../../support/redis-server.ts'
import { addressFor } from '../../support/redis-user.ts'
import { moduleAt, runCommand, runProcess, startCommand, writeStore, type Ended } from './command-line.ts'

const server = serverOfFile()
const jobsFile = moduleAt('jobs.ts')
let url = ''
const address = (prefix: string): string => `${url}/0?prefix=${prefix}`
const store = (prefix: string) => redisStore({ url: server().url, prefix })
const here = process.cwd()

const on =
  (prefix: string) =>
  (...args: string[]): Promise<Ended> =>
    runCommand(here, { JOBCHART_STORE: address(prefix) }, ...args)
const run = on('shop')
const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await run(...args, '--json')
  expect({ code, stderr }, args[0]).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

beforeAll(async () => {
  if (!canStartRedis) return
  url = await addressFor(server(), 'jobs', 'shop', 'changed', 'live', 'logged', 'damaged')
  await writeStore(store('shop'))
})

test('commands that look have what the store has', async () => {
  const page = await json('ls', '-s', 'dead', '-s', 'waiting', '--order', 'oldest')
  expect(page.jobs.map(({ id }: { id: string }) => id)).toEqual(['order-0', 'order-1', 'order-2', 'full-0', 'full-1'])
  expect((await run('ls', '--ids', '--all', '-t', 'bulk')).stdout.trim().split('\n')).toHaveLength(600)
  expect((await run('show', 'order-0', '--jobs', jobsFile)).stdout).toContain('Takes now: APPROVE')
  const stats = await json('stats')
  expect(stats.counts).toMatchObject({ queued: 600, waiting: 3, done: 3, dead: 2 })
  expect(stats.queues[0]).toMatchObject({ type: 'bulk', paused: true, workers: 0 })
  expect(await json('top')).toMatchObject({ perSecond: { done: expect.any(Number) }, workers: [] })
  expect(await json('workers')).toMatchObject({ workers: [] })
  expect((await json('failures')).groups).toMatchObject([{ message: 'the mailbox is full', count: 2 }])
  expect((await json('schedules')).schedules).toMatchObject([{ name: 'nightly', nextRuns: expect.any(Array) }])
  expect((await json('check', moduleAt('jobs.ts'))).ok).toBe(true)
  const tail = await run('tail', '--no-follow', '--json', '-n', '2', '--event', 'fail')
  expect(tail.stdout.trim().split('\n')).toHaveLength(2)
  expect((await run('draw', `${jobsFile}#order`)).stdout).toContain('review')
  expect((await run('completion', 'bash')).stdout).toContain('doctor')
})

test('commands that change jobs change them', async () => {
  const prefix = 'changed'
  await writeStore(store(prefix))
  const change = on(prefix)
  expect((await change('retry', 'full-0')).stdout).toBe('1 retried\n')
  expect((await change('cancel', '--type', 'bulk', '--yes')).stdout).toContain('600 cancelled')
  expect((await change('discard', '-s', 'cancelled', '-y')).stdout).toBe('600 discarded\n')
  expect((await change('send', 'order-0', 'APPROVE', '--jobs', jobsFile)).stdout).toBe('sent APPROVE to order-0\n')
  expect((await change('resume', 'bulk')).stdout).toContain('bulk goes on')
  expect((await change('pause', 'order')).code).toBe(0)
  expect((await change('schedules', 'pause', 'nightly')).stdout).toBe('nightly: paused\n')
  expect((await change('schedules', 'trigger', 'nightly', '--json')).stdout).toMatch(/nightly@/)
  expect((await change('migrate')).stdout).toMatch(/, prefix changed: Redis has nothing to migrate\n$/)
  await using client = createClient({ store: store(prefix) })
  expect(await client.counts()).toMatchObject({ queued: 3, waiting: 2, done: 3, dead: 1, cancelled: 0 })
})

test('tail shows what another process does, and the dashboard serves it, until they are told to end', async () => {
  const tail = startCommand(here, {}, 'tail', '--json', '-n', '0', '--store', address('live'))
  const dashboard = startCommand(here, {}, 'dashboard', '--json', '--store', address('live'))
  const lines: string[] = []
  tail.stdout?.on('data', (text: Buffer) => lines.push(text.toString()))
  const [text] = (await once(dashboard.stdout!, 'data')) as [Buffer]
  const { url } = JSON.parse(text.toString()) as { url: string }
  await using client = createClient({ store: store('live') })
  // The first may come before tail has read where the log ends.
  for (let i = 0; lines.length === 0; i++) {
    await client.enqueueByName('mail', i)
    await Promise.race([once(tail.stdout!, 'data'), new Promise((resolve) => setTimeout(resolve, 100))])
  }
  expect(JSON.parse(lines.join('').split('\n')[0]!)).toMatchObject({ type: 'mail', event: 'ENQUEUE' })
  expect(await (await fetch(`${url}api/v1/overview`)).text()).toContain('"type":"mail"')
  for (const child of [tail, dashboard]) {
    child.kill('SIGINT')
    expect((await once(child, 'exit'))[0]).toBe(0)
  }
})

test('doctor looks at the server, and warns of one that keeps writes in memory alone', async () => {
  const { ok, findings } = await json('doctor')
  expect(ok).toBe(true)
  expect(findings).toContainEqual({
    level: 'ok',
    about: 'server',
    what: expect.stringMatching(/^127\.0\.0\.1:\d+, prefix shop: Redis \d/) as string,
  })
  expect(findings).toContainEqual(expect.objectContaining({ level: 'warning', about: 'server' }))
})

test('doctor ends with 1 where the server removes jobs or has no room, and warns where it would with a limit', async () => {
  const policy = (name: string, maxmemory: string): Promise<unknown> =>
    server().command('CONFIG', 'SET', 'maxmemory-policy', name, 'maxmemory', maxmemory)
  await policy('allkeys-lru', '100mb')
  const evicting = await run('doctor')
  await policy('allkeys-lru', '0')
  const unlimited = await run('doctor')
  await policy('noeviction', '1')
  const full = await run('doctor')
  await policy('noeviction', '0')
  expect([full.code, full.stdout]).toEqual([exitCodes.finding, expect.stringContaining('new jobs are refused')])
  expect([evicting.code, evicting.stdout]).toEqual([exitCodes.finding, expect.stringContaining('(allkeys-lru)')])
  expect([unlimited.code, unlimited.stdout]).toEqual([0, expect.stringContaining('once a maxmemory is set')])
})

test('doctor lists jobs that cannot be read, a discard removes one, and a repair corrects the counts', async () => {
  const damaged = on('damaged')
  await using client = createClient({ store: store('damaged') })
  for (const id of ['good', 'bad']) await client.enqueueByName('mail', null, { id })
  await server().command('HSET', '{damaged}:jobs', 'bad', 'garbage')
  expect((await damaged('ls', '--ids')).stdout).toBe('good\n')
  const found = await damaged('doctor')
  expect([found.code, found.stdout]).toEqual([exitCodes.finding, expect.stringContaining('1 job cannot be read: bad')])
  expect((await damaged('discard', 'bad', '-y')).stdout).toBe('1 discarded\n')
  // What it was is not known, so that a count is wrong.
  expect((await client.counts()).queued).toBe(2)
  const repaired = await damaged('doctor', '--repair')
  // No worker runs the job that is left.
  expect(repaired.stdout).not.toContain('cannot be read')
  expect([repaired.code, repaired.stdout]).toEqual([
    exitCodes.finding,
    expect.stringContaining('rebuilt from 1 job; 2 counts were wrong'),
  ])
  expect((await client.counts()).queued).toBe(1)
})

test('no command shortens the log of the application', async () => {
  const own = redisStore({ url: server().url, prefix: 'logged', transitionsMax: 100_000 })
  await using client = createClient({ store: own })
  for (let i = 0; i < 12; i++) {
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => client.enqueueByName('mail', n)))
  }
  const [first] = (await client.store.transitions(null, 1)).transitions
  expect((await on('logged')('cancel', '--type', 'mail', '--yes')).code).toBe(0)
  expect((await client.store.transitions(null, 1)).transitions).toEqual([first])
})

test('what keeps a command from the server is said, without the password', async () => {
  const lsOn = (store: string) => runCommand(here, {}, 'ls', '--store', store)
  const away = await lsOn('redis://ada:secret@127.0.0.1:1/0')
  expect(away).toMatchObject({ code: exitCodes.store, stdout: '' })
  expect(away.stderr).toMatch(/^error STORE_UNAVAILABLE: Redis at 127\.0\.0\.1:1: /)
  const wrong = ['redis:localhost', 'redis://ada:secret@host:port', 'redis://ada:secret@localhost?prefx=a']
  for (const address of wrong) {
    const refused = await lsOn(address)
    expect(refused.code).toBe(exitCodes.usage)
    expect(refused.stderr).toContain('prefix=shop')
    expect(refused.stderr + away.stderr).not.toContain('secret')
  }
  // As where neither driver is installed.
  const hook = `import { registerHooks } from 'node:module'
    registerHooks({ resolve(name, context, next) {
      if (!/^(@redis.client|ioredis)$/.test(name)) return next(name, context)
      throw Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' })
    } })`
  const options = `--import=data:text/javascript,${encodeURIComponent(hook)}`
  const without = await runProcess(here, { NODE_OPTIONS: options }, 'ls', '--store', address('shop'))
  expect(without.code).toBe(exitCodes.store)
  expect(without.stderr).toBe(
    'error UNSUPPORTED: redisStore needs a driver\nhint: npm install @redis/client, or ioredis.\n',
  )
})
