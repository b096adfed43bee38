/** What an operator is warned of, once each: a forgotten start, limits that differ, a clock that is ahead. */
import { createClient, defineJob, type Store } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { world, type World } from '../../support/leaks.ts'

const job = defineJob<undefined, void>({ type: 'job', run: async () => {} })
const warnings = ({ logged }: World) => logged.filter(({ level }) => level === 'warn')

test('a forgotten start is told once, after some seconds with jobs waiting', async () => {
  const at = world()
  const runtime = at.idle({ jobs: [job] })
  await runtime.enqueue(job)
  await at.clock.advance('2900ms')
  expect(warnings(at)).toEqual([])
  await at.clock.advance('1s')
  await runtime.enqueue(job)
  await at.clock.advance('1h')
  expect(warnings(at)).toEqual([
    {
      level: 'warn',
      message: 'jobs are queued, but this runtime was not started',
      fields: { type: 'job', hint: expect.stringContaining('runtime.start()') },
    },
  ])
})

test('nothing is told of a start that comes, of jobs that another runtime takes, of jobs for later, or of a client', async () => {
  const at = world()
  const late = at.idle({ jobs: [job] })
  await late.enqueue(job)
  await at.clock.advance('2s')
  await late.start()
  const producer = at.idle({ jobs: [job] })
  await producer.enqueue(job)
  const client = createClient({ jobs: [job], store: at.store, clock: at.clock, logger: at.logger })
  await client.enqueue(job)
  await at.clock.advance('1m')
  await late.stop()
  const other = at.idle({ jobs: [job] })
  await other.enqueue(job, undefined, { delay: '1h' })
  await at.clock.advance('1m')
  expect(warnings(at)).toEqual([])
  // The reminder is set again by what comes later.
  await other.enqueue(job)
  await at.clock.advance('1m')
  expect(warnings(at)).toHaveLength(1)
  await client.close()
})

const limitsOf = {
  none: {},
  'another concurrency': { concurrency: 5 },
  'another perKey': { concurrencyKey: () => 'a', perKey: 2 },
  'another rate': { rateLimit: { limit: 1, per: '1m' } },
} as const
test.each(Object.entries(limitsOf))('workers with different limits (%s) are named, once', async (_name, limits) => {
  const at = world()
  const here = defineJob<undefined, void>({ type: 'job', concurrency: 2, run: async () => {} })
  const there = defineJob<undefined, void>({ type: 'job', ...limits, run: async () => {} })
  const alike = defineJob<undefined, void>({ type: 'alike', concurrency: 3, run: async () => {} })
  const own = defineJob<undefined, void>({ type: 'own', concurrency: 4, run: async () => {} })
  await at.runtime({ jobs: [here, alike], name: 'first' })
  await at.runtime({ jobs: [alike, there, own], name: 'second' })
  await at.clock.advance('5m')
  expect(warnings(at)).toEqual([
    {
      level: 'warn',
      message: 'workers second and first have different limits for job type job',
      fields: {
        own: expect.objectContaining({ worker: expect.any(String) }),
        other: expect.objectContaining({ concurrency: 2 }),
        hint: expect.any(String),
      },
    },
  ])
})

/** Two worlds with clocks of their own, and runtimes of them on one file. */
function twoProcesses(): { readonly early: World; readonly ahead: World } {
  const folder = temporaryFolder()
  const stores: Store[] = []
  onTestFinished(async () => {
    for (const store of stores) await store.close()
    folder.remove()
  })
  const process = (): World => {
    const store = sqliteStore({ path: `${folder.path}/jobs.db`, durability: 'normal' })
    stores.push(store)
    return world({ store })
  }
  return { early: process(), ahead: process() }
}

/** Opens the stores for longer than the runtimes: what is left is looked at after their stop. */
const open = async (...worlds: readonly World[]): Promise<void> => {
  for (const { store, clock } of worlds) await store.open({ clock })
}

test('a worker whose clock is ahead is told of, once, whichever of the two has started first', async () => {
  for (const aheadFirst of [true, false]) {
    const { early, ahead } = twoProcesses()
    ahead.clock.jump(4_000)
    await open(early, ahead)
    const start = (at: World, name: string) => at.runtime({ jobs: [job], name, lease: '3s' })
    if (aheadFirst) await start(ahead, 'ahead')
    await start(early, 'early')
    if (!aheadFirst) await start(ahead, 'ahead')
    for (let second = 0; second < 20; second++) {
      await ahead.clock.advance('1s')
      await early.clock.advance('1s')
    }
    expect(warnings(ahead)).toEqual([])
    expect(warnings(early).map(({ message }) => message)).toEqual([
      'the clock of worker ahead is ahead of the clock of early',
    ])
    expect(warnings(early)[0]?.fields?.['aheadMs']).toBeGreaterThan(1_000)
  }
})

test('clocks that differ by less than a second are not told of', async () => {
  const { early, ahead } = twoProcesses()
  ahead.clock.jump(900)
  await open(early, ahead)
  await ahead.runtime({ jobs: [job], lease: '3s' })
  await early.runtime({ jobs: [job], lease: '3s' })
  for (let step = 0; step < 40; step++) {
    await early.clock.advance(50)
    await ahead.clock.advance(50)
  }
  expect([...warnings(early), ...warnings(ahead)]).toEqual([])
})
