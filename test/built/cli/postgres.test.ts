/** The command line on a PostgreSQL store. */
import { createClient } from 'jobchart'
import { postgresStore } from 'jobchart/postgres'
import { beforeAll, expect } from 'vitest'
import { exitCodes } from '../../../src/cli/exit-codes.ts'
import { canStartPostgres, postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'
import { moduleAt, runCommand, writeStore, type Ended } from './command-line.ts'

const server = postgresOfFile()
const jobsFile = moduleAt('jobs.ts')
const store = (schema: string) => postgresStore({ url: server().url, schema })

const on =
  (schema: string) =>
  (...args: string[]): Promise<Ended> =>
    runCommand(process.cwd(), { JOBCHART_STORE: `${server().url}?schema=${schema}` }, ...args)
const run = on('shop')

beforeAll(async () => {
  if (canStartPostgres) await writeStore(store('shop'))
})

test('commands that look have what the store has, and commands that change jobs change them', async () => {
  const page = JSON.parse((await run('ls', '-s', 'dead', '-s', 'waiting', '--order', 'oldest', '--json')).stdout)
  expect(page.jobs.map(({ id }: { id: string }) => id)).toEqual(['order-0', 'order-1', 'order-2', 'full-0', 'full-1'])
  expect((await run('ls', '--ids', '--all', '-t', 'bulk')).stdout.trim().split('\n')).toHaveLength(600)
  expect((await run('show', 'order-0', '--jobs', jobsFile)).stdout).toContain('Takes now: APPROVE')
  expect((await run('retry', 'full-0')).stdout).toBe('1 retried\n')
  expect((await run('cancel', '--type', 'bulk', '--yes')).stdout).toContain('600 cancelled')
  expect((await run('send', 'order-0', 'APPROVE', '--jobs', jobsFile)).stdout).toBe('sent APPROVE to order-0\n')
  await using client = createClient({ store: store('shop') })
  expect(await client.counts()).toMatchObject({ waiting: 2, done: 3, dead: 1, cancelled: 600 })
})

test('migrate makes a schema, or prints how; other commands refuse one that is not there', async () => {
  const fresh = on('fresh')
  const refused = await fresh('stats')
  expect([refused.code, refused.stderr]).toEqual([exitCodes.store, expect.stringContaining('has no jobs of jobchart')])
  expect((await fresh('migrate', '--sql')).stdout).toMatch(/^BEGIN;\nCREATE SCHEMA IF NOT EXISTS "fresh";/)
  expect((await fresh('migrate', '--dry-run')).stdout).toContain('would be made')
  expect((await fresh('migrate')).stdout).toContain('was made')
  expect((await fresh('migrate')).stdout).toContain('the version of this jobchart')
  expect((await fresh('stats')).code).toBe(0)
})

test('doctor looks at the server, and warns of one that does not keep what it commits', async () => {
  const { code, stdout } = await on('fresh')('doctor')
  const told = /, schema fresh: PostgreSQL \d+[^]*before they are on the disk/
  expect([code, stdout]).toEqual([exitCodes.done, expect.stringMatching(told)])
})

test('doctor names what somebody has removed from the schema, also if a store does not open on it', async () => {
  const torn = on('torn')
  expect((await torn('migrate')).code).toBe(0)
  await server().query('DROP INDEX torn.jobs_due; ALTER TABLE torn.terms DROP CONSTRAINT terms_pkey')
  const slow = await torn('doctor')
  expect([slow.code, slow.stdout]).toEqual([
    exitCodes.finding,
    expect.stringContaining('the schema lacks what jobchart has made there: index jobs_due, index terms_pkey\n'),
  ])
  await server().query('DROP FUNCTION torn.figures_after; DROP SEQUENCE torn.intents')
  const broken = await torn('doctor', '--repair')
  expect(broken.code).toBe(exitCodes.finding)
  expect(broken.stdout).toMatch(/index jobs_due, index terms_pkey, function figures_after, sequence intents\n/)
  expect(broken.stdout).toContain('figures_after(unknown) does not exist')
})

test('doctor lists jobs that cannot be read, a discard removes one, and a repair brings back what can be read again', async () => {
  const damaged = on('damaged')
  await using client = createClient({ store: store('damaged') })
  for (const id of ['good', 'bad', 'worse']) await client.enqueueByName('mail', null, { id })
  await server().query(`UPDATE damaged.jobs SET doc = doc || '.' WHERE id <> 'good'`)
  expect((await damaged('ls', '--ids')).stdout).toBe('good\n')
  const found = await damaged('doctor')
  expect([found.code, found.stdout]).toEqual([
    exitCodes.finding,
    expect.stringContaining('2 jobs cannot be read: bad, worse'),
  ])
  expect((await damaged('discard', 'worse', '-y')).stdout).toBe('1 discarded\n')
  await server().query('UPDATE damaged.aside SET doc = left(doc, -1)')
  const repaired = await damaged('doctor', '--repair')
  expect(repaired.stdout).toContain('rebuilt from 2 jobs; 0 counts were wrong, 1 job brought back: bad')
  expect(repaired.stdout).not.toContain('cannot be read')
  expect((await client.counts()).queued).toBe(2)
})
