/**
 * A file that a killed process has left, with jobs in every state: another process loses nothing of it, and brings
 * every job to its end.
 */
import { copyFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createRuntime, defineJob, type JobDefinition, type JobRecord, type JobState, type Runtime } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock } from '../../src/core/clock.ts'
import { runProgram } from '../harness/processes.ts'
import { orderJobs } from './sqlite/left/order.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { complaintsAbout } from './sqlite/consistency.ts'
import { storedJobs } from './sqlite/stored-job.ts'

let made = ''
const folder = temporaryFolder()
afterAll(() => folder.remove())

beforeAll(async () => {
  made = join(folder.path, 'made.db')
  const { exitCode, stderr } = await runProgram(new URL('sqlite/left/make.ts', import.meta.url), [made])
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
})

function leftFile(): string {
  const own = temporaryFolder()
  onTestFinished(() => own.remove())
  const path = join(own.path, 'jobs.db')
  copyFileSync(made, path)
  return path
}

const forEver = { age: '36500d', count: 1_000 } as const

/**
 * A runtime of today with the jobs that are in the files. A step that a file holds the result of must not run again.
 */
async function startOn(path: string): Promise<Runtime> {
  const mail = defineJob<{ does: string }, { sent: boolean; receipt: string }>({
    type: 'mail',
    async run(_input, ctx) {
      const { receipt } = await ctx.step('charge', () => {
        if (['running', 'retrying'].includes(ctx.id)) throw new Error('this step was finished by the version before')
        return { receipt: ctx.id }
      })
      return { sent: true, receipt }
    },
  })
  const sms = defineJob<{ to: string }, void>({ type: 'sms', run: async () => {} })
  const parked = defineJob<undefined, void>({ type: 'parked', run: async () => {} })
  const { order, ship } = orderJobs({
    pack: async (who) => `parcel of ${who}`,
    withdraw: async () => {},
    ship: async () => {},
  })
  const jobs: JobDefinition[] = [mail, sms, parked, order, ship]
  const retention = { done: forEver, dead: forEver, cancelled: forEver }
  const runtime = createRuntime({ jobs, store: sqliteStore({ path, durability: 'normal' }), retention })
  onTestFinished(async () => void (await runtime.stop({ mode: 'abort' })))
  await runtime.start()
  return runtime
}

async function recordsOf(runtime: Runtime): Promise<Record<string, JobRecord>> {
  return Object.fromEntries((await runtime.list({ limit: 1_000 })).map((record) => [record.id, record]))
}

/** Waits until every job has ended, and gives their states. */
async function endsOf(runtime: Runtime): Promise<Record<string, JobState>> {
  for (const { id } of await runtime.list({ limit: 1_000 })) {
    await (await runtime.job(id))?.result({ timeout: '30s' }).catch(() => {})
  }
  return Object.fromEntries(Object.entries(await recordsOf(runtime)).map(([id, { state }]) => [id, state]))
}

const plainEnds = {
  done: 'done',
  'sms-done': 'done',
  dead: 'dead',
  cancelled: 'cancelled',
  scheduled: 'done',
  retrying: 'done',
  running: 'done',
  cancelling: 'cancelled',
  queued: 'done',
  'queued-too': 'done',
  waiting: 'done',
}

const machineEnds = {
  'order-done': 'done',
  'order-dead': 'dead',
  'order-shipping': 'done',
  'order-packing': 'done',
  'order-withdrawing': 'cancelled',
  'order-placed': 'done',
  'order-paid': 'done',
  'order-new': 'done',
}

const everyState = 'scheduled queued running retrying waiting cancelling done dead cancelled'.split(' ')

test('all that is in the file is read', async () => {
  const path = leftFile()
  const before = new DatabaseSync(path, { readOnly: true })
  const states = storedJobs(before)
    .map(({ id, state }) => ({ id, state }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
  before.close()
  const store = sqliteStore({ path })
  await store.open({ clock: systemClock })
  const records = await store.list({ limit: 1_000 })
  expect(records.map(({ id, state }) => ({ id, state })).toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(states)
  expect(new Set(states.map(({ state }) => state))).toEqual(new Set(everyState))
  const running = records.find(({ id }) => id === 'running')
  expect(running).toMatchObject({
    input: { does: 'hang' },
    attempt: 1,
    checkin: { value: { done: 50 } },
    logs: [{ message: 'charged', fields: { receipt: 'running' } }],
    concurrencyKey: 'hang',
  })
  expect(records.find(({ id }) => id === 'queued')).toMatchObject({ priority: 5, tags: ['old', 'urgent'] })
  expect(records.find(({ id }) => id === 'scheduled')).toMatchObject({ key: 'daily' })
  expect(records.find(({ id }) => id === 'dead')?.errors).toMatchObject([{ attempt: 1 }])
  expect((await store.queue('sms')).paused).toBe(true)
  await store.close()
  expect(complaintsAbout(path)).toEqual([])
})

test('all jobs come to their ends, machines with timers, messages and children among them', async () => {
  const path = leftFile()
  const runtime = await startOn(path)
  for (const type of ['sms', 'ship', 'order']) await runtime.queue(type).resume()
  await (await runtime.job('order-new'))?.waitFor('placed', { timeout: '30s' })
  await runtime.send('order-new', { type: 'PAY' })
  expect(await endsOf(runtime)).toMatchObject({ ...plainEnds, ...machineEnds })
  const records = await recordsOf(runtime)
  const parcels = Object.keys(machineEnds).map((id) => [id, records[id]?.output])
  expect(Object.fromEntries(parcels)).toMatchObject({
    'order-done': { parcel: 'parcel of done' },
    'order-shipping': { parcel: 'parcel of shipping' },
    'order-packing': { parcel: 'parcel of packing' },
    // Its time was up while nobody ran; the payment of the other one had come before that.
    'order-placed': { parcel: null },
    'order-paid': { parcel: 'parcel of paid' },
    'order-new': { parcel: 'parcel of new' },
  })
  await runtime.retry('order-dead')
  expect((await endsOf(runtime))['order-dead']).toBe('done')
  await runtime.stop()
  expect(complaintsAbout(path)).toEqual([])
})
