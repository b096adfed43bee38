/** What no process can run is put off, longer each time, found by `list`, and taken at once by a process that can. */
import { defineJob, type JobDefinition, type Store } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { createMachine } from 'xstate'
import { expect, onTestFinished, test } from 'vitest'
import { world, type World } from '../support/leaks.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const orderOf = (version: string, type = 'order'): JobDefinition =>
  defineJob({
    type,
    machine: createMachine({
      id: 'order',
      initial: `v${version}`,
      states: { [`v${version}`]: { on: { GO: 'end' } }, end: { type: 'final' } },
    }),
    version,
  })

const [old, current] = [orderOf('1'), orderOf('2')]

/** Jobs of version 2 that wait, in a store on which nobody works. */
async function enqueued(at: World, job: JobDefinition, count = 1): Promise<string[]> {
  const idle = at.idle({ jobs: [job] })
  const handles = await idle.enqueueMany(job, Array.from({ length: count }))
  await idle.stop()
  return handles.map(({ id }) => id)
}

async function recordOf({ store }: World, id: string) {
  const [record] = await store.get([id])
  if (!record) throw new Error(`job ${id} is not there`)
  return record
}

/** Two worlds with clocks of their own, as two processes on one file. */
async function twoProcesses(): Promise<readonly [World, World]> {
  const folder = temporaryFolder()
  const stores: Store[] = []
  onTestFinished(async () => {
    for (const store of stores) await store.close()
    folder.remove()
  })
  const process = async (): Promise<World> => {
    const store = sqliteStore({ path: `${folder.path}/jobs.db`, durability: 'normal' })
    const at = world({ store })
    stores.push(store)
    await store.open({ clock: at.clock })
    return at
  }
  return [await process(), await process()]
}

test('a job that nobody can run is offered after 250 ms, and then after half as long again each time', async () => {
  const at = world()
  const [id = ''] = await enqueued(at, current)
  const runtime = await at.runtime({ jobs: [old] })
  const started = at.clock.now()
  await at.clock.settle()
  const tries: number[] = []
  for (let i = 0; i < 8; i++) {
    const { dueAt } = await recordOf(at, id)
    const delayMs = (dueAt ?? 0) - at.clock.now()
    tries.push(delayMs)
    await at.clock.advance(delayMs)
  }
  expect(tries).toEqual([250, 375, 563, 844, 1_266, 1_898, 2_848, 4_271])
  const { attempt, maxAttempts, history, logs, unsupported, errors } = await recordOf(at, id)
  expect({ attempt, maxAttempts, logs, errors }).toEqual({ attempt: 0, maxAttempts: 3, logs: [], errors: [] })
  expect(history.map(({ event, to }) => `${event} ${to}`)).toEqual([
    'ENQUEUE queued',
    'CLAIM running',
    'SNOOZE scheduled',
  ])
  expect(unsupported).toEqual({
    version: '2',
    reason: 'the job was enqueued with version 2 of machine order; this process knows version 1',
    tries: 9,
    since: started,
    seq: history[2]?.seq,
  })
  expect((await runtime.stats()).unsupportedVersions).toBe(9)
  at.expectLogged('error')
})

test('a process logs each type and version once', async () => {
  const at = world()
  const other = orderOf('7', 'other')
  await enqueued(at, current, 3)
  await enqueued(at, other)
  await at.runtime({ jobs: [old, orderOf('1', 'other')] })
  await at.clock.advance('10m')
  expect(
    at.logged.filter(({ level }) => level === 'error').map(({ fields }) => [fields?.['type'], fields?.['version']]),
  ).toEqual([
    ['order', '2'],
    ['other', '7'],
  ])
  at.expectLogged('error')
})

test('list finds what is put off, and no longer what has been taken or has ended', async () => {
  const at = world()
  const ids = await enqueued(at, current, 3)
  await enqueued(at, orderOf('1', 'plain'))
  const runtime = await at.runtime({ jobs: [old, orderOf('1', 'plain')] })
  await at.clock.settle()
  const found = async () => (await at.store.list({ unsupported: true, type: 'order' })).map(({ id }) => id)
  expect(await found()).toEqual(ids)
  await runtime.cancel(ids[1] ?? '')
  expect(await found()).toEqual([ids[0], ids[2]])
  at.expectLogged('error')
  await runtime.stop()
  await at.runtime({ jobs: [current] })
  await at.clock.settle()
  expect(await found()).toEqual([])
  expect((await recordOf(at, ids[2] ?? '')).history.map(({ event }) => event)).toEqual([
    ...['ENQUEUE', 'CLAIM', 'SNOOZE', 'DUE', 'CLAIM', 'PARK'],
  ])
})

test('a filter takes `unsupported: true` alone', async () => {
  const at = world()
  const runtime = at.idle({ jobs: [old] })
  await expect(runtime.list({ unsupported: false as never })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('a deployment beside an older process takes what that one has put off at once', async () => {
  const [early, late] = await twoProcesses()
  const ids = await enqueued(early, current, 5)
  const before = await early.runtime({ jobs: [old] })
  await early.clock.advance('20m')
  late.clock.jump(20 * 60_000)
  expect((await before.stats()).unsupportedVersions).toBeGreaterThan(5)
  early.expectLogged('error')
  await late.runtime({ jobs: [current] })
  await late.clock.advance('1s')
  for (const id of ids) expect(await recordOf(late, id)).toMatchObject({ state: 'waiting', unsupported: null })
})

test('what a misfit has put off goes on where it stood', async () => {
  const at = world()
  const [id = ''] = await enqueued(at, current)
  const first = await at.runtime({ jobs: [current] })
  await at.clock.settle()
  await first.stop()
  const misfit = defineJob({
    type: 'order',
    version: '2',
    machine: createMachine({ id: 'order', initial: 'a', states: { a: {} } }),
  })
  const second = await at.runtime({ jobs: [misfit] })
  await at.clock.advance('1h')
  expect((await recordOf(at, id)).unsupported).toMatchObject({
    version: '2',
    reason: expect.stringContaining('v2 is gone') as string,
  })
  expect((await recordOf(at, id)).history.length).toBeLessThan(10)
  expect(at.expectLogged('error')).toHaveLength(1)
  await second.stop()
  const third = await at.runtime({ jobs: [current] })
  await at.clock.settle()
  await third.send(id, { type: 'GO' })
  await at.clock.settle()
  expect((await recordOf(at, id)).state).toBe('done')
})
