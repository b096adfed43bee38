/** The data set has what its readers look for, and is the same each time. */
import { createClient, memoryStore, type Client } from 'jobchart'
import { expect, test } from 'vitest'
import { eyesEnd, makeEyes } from './data.ts'
import { eyesJobs } from './jobs.ts'

/** A client at the time of the end. */
async function made(seed: number): Promise<Client> {
  const store = memoryStore()
  await store.open({ clock: atEnd })
  await makeEyes(store, { jobs: 1_000, seed })
  return createClient({ jobs: eyesJobs, store, clock: atEnd, logger: {} })
}

const atEnd = {
  now: () => eyesEnd,
  monotonic: () => performance.now(),
  timer: (run: () => void, ms: number) => {
    const handle = setTimeout(run, ms)
    return { cancel: () => clearTimeout(handle) }
  },
  nextTurn: (run: () => void) => void setImmediate(run),
}

test('the data set has jobs in every state but two, families, failures, schedules and workers', async () => {
  const client = await made(3)
  const { types, ...counts } = await client.counts()
  const states = Object.entries(counts).filter(([, count]) => count > 0)
  expect(states.map(([state]) => state).toSorted()).toEqual([
    'dead',
    'done',
    'queued',
    'retrying',
    'running',
    'scheduled',
    'waiting',
  ])
  expect(types['ledger.export']?.queued).toBeGreaterThan(0)
  expect(await client.list({ meta: { customer: 'cus_9' }, type: 'order' })).not.toHaveLength(0)
  expect(await client.list({ unsupported: true })).toHaveLength(3)
  expect(await client.list({ parent: 'catalog-1' })).not.toHaveLength(0)
  expect((await client.failures()).length).toBeGreaterThan(2)
  const schedules = await client.schedules()
  expect(schedules.map(({ missed }) => missed)).toContain(1)
  expect(schedules).toHaveLength(5)
  expect(await client.workers()).toHaveLength(4)
})

test('the same seed gives the same jobs', async () => {
  const [one, other, another] = await Promise.all([made(3), made(3), made(4)])
  const counts = await Promise.all([one, other, another].map((each) => each.counts()))
  expect(counts[1]).toEqual(counts[0])
  expect(counts[2]).not.toEqual(counts[0])
  const newest = (client: Client) => client.list({ type: 'email.send', limit: 50, order: 'newest' })
  expect((await newest(other)).map(({ id, meta, tags, input }) => [id, meta, tags, input])).toEqual(
    (await newest(one)).map(({ id, meta, tags, input }) => [id, meta, tags, input]),
  )
})
