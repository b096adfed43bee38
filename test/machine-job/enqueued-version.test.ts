/** A job begins with the version of its machine that it was enqueued with, or with a later one. */
import { createClient, defineJob, type JobDefinition } from 'jobchart'
import { createMachine } from 'xstate'
import { z } from 'zod'
import { expect, test } from 'vitest'
import { world, type World } from '../support/leaks.ts'

type Migrate = (snapshot: unknown, from: { readonly version: string }) => unknown

/** The state in which it waits is called after its version. */
const machineOf = (version: string) =>
  createMachine({
    id: 'order',
    context: { lines: ['one'] },
    initial: `v${version}`,
    states: { [`v${version}`]: { on: { GO: 'end' } }, end: { type: 'final' } },
  })

const orderOf = (version: string, migrate?: Migrate): JobDefinition =>
  defineJob({ type: 'order', machine: machineOf(version), version, ...(migrate && { migrate }) })

const clientOf = (at: World, ...jobs: readonly JobDefinition[]) =>
  createClient({ jobs, store: at.store, clock: at.clock, logger: at.logger })

/** A job that a client has enqueued, which is gone. */
async function enqueued(at: World, job: JobDefinition): Promise<string> {
  const client = clientOf(at, job)
  const { id } = await client.enqueue(job, undefined)
  await client.close()
  return id
}

const recordOf = async (at: World, id: string) => (await at.store.get([id]))[0]

const stateOf = async (at: World, id: string, job: JobDefinition): Promise<unknown> => {
  const client = clientOf(at, job)
  const value = (await (await client.job(id))?.snapshot())?.value
  await client.close()
  return value
}

test('an older worker leaves a job that a newer version enqueued to others, and its client can look at it', async () => {
  const at = world()
  const [old, current] = [orderOf('1'), orderOf('2')]
  const older = await at.runtime({ jobs: [old] })
  const client = clientOf(at, current)
  const job = await client.enqueue(current, undefined)
  await at.clock.advance('1s')
  expect((await job.snapshot()).value).toBe('v2')
  expect(await job.record()).toMatchObject({ version: '2', attempt: 0, checkpoint: null, state: 'scheduled' })
  expect((await job.record()).history.at(-1)?.reason).toContain('enqueued with version 2')
  at.expectLogged('error')
  await older.stop()
  await at.runtime({ jobs: [current] })
  await at.clock.settle()
  expect((await job.record()).checkpoint).not.toBe(null)
  expect((await job.snapshot()).value).toBe('v2')
  await client.close()
})

test('the input of a newer version is not judged by the schema of an older one', async () => {
  const at = world()
  const of = (version: string, input: z.ZodType<unknown>) =>
    defineJob({ type: 'order', machine: machineOf(version), version, input })
  const current = of('2', z.object({ lines: z.array(z.string()) }))
  const client = clientOf(at, current)
  const { id } = await client.enqueue(current, { lines: [] })
  await at.runtime({ jobs: [of('1', z.object({ line: z.string() }))] })
  await at.clock.advance('1s')
  expect((await recordOf(at, id))?.state).toBe('scheduled')
  at.expectLogged('error')
  await client.close()
})

test('a newer worker begins it if its `migrate` takes the older version, whatever the context of that looked like', async () => {
  const at = world()
  const id = await enqueued(at, orderOf('1'))
  const current = orderOf('2', (snapshot, from) => {
    if (from.version !== '1') throw new Error(`nobody knows how to come from ${from.version}`)
    return { line: (snapshot as { context: { old: { line: string } } }).context.old.line }
  })
  await at.runtime({ jobs: [current] })
  await at.clock.settle()
  expect(await stateOf(at, id, current)).toBe('v2')
})

test('a worker whose `migrate` refuses the version leaves the job to others', async () => {
  const at = world()
  const id = await enqueued(at, orderOf('3'))
  const second = orderOf('2', (snapshot, from) => {
    if (from.version !== '1') throw new Error(`nobody knows how to come from ${from.version}`)
    return snapshot
  })
  await at.runtime({ jobs: [second] })
  await at.clock.advance('1s')
  expect(await recordOf(at, id)).toMatchObject({ checkpoint: null, unsupported: { version: '3' } })
  at.expectLogged('error')
  await expect(stateOf(at, id, second)).rejects.toMatchObject({ code: 'UNSUPPORTED' })
})

test('a worker that lists both versions begins it with the last one', async () => {
  const at = world()
  const [old, current] = [orderOf('1'), orderOf('2')]
  const id = await enqueued(at, old)
  await at.runtime({ jobs: [old, current] })
  await at.clock.settle()
  expect(await stateOf(at, id, current)).toBe('v2')
})

test('a job that is sent through again from its start keeps to the rule', async () => {
  const at = world()
  const [old, current] = [orderOf('1'), orderOf('2')]
  const id = await enqueued(at, current)
  const runtime = await at.runtime({ jobs: [current] })
  await at.clock.settle()
  await runtime.cancel(id)
  await runtime.stop()
  const older = await at.runtime({ jobs: [old] })
  await older.retry(id, { from: 'start' })
  await at.clock.advance('1s')
  expect(await recordOf(at, id)).toMatchObject({ checkpoint: null, unsupported: { version: '2' } })
  at.expectLogged('error')
})

test('a new input brings its version', async () => {
  const at = world()
  const [old, current] = [orderOf('1'), orderOf('2')]
  const unique = { key: 'k', onConflict: 'replace' } as const
  const [before, after] = [clientOf(at, old), clientOf(at, current)]
  const { id } = await before.enqueue(old, undefined, { unique })
  await after.enqueue(current, undefined, { unique })
  expect((await recordOf(at, id))?.version).toBe('2')
  for (const client of [before, after]) await client.close()
})

test('a plain job has no version, and a job without one begins with the version that claims it', async () => {
  const at = world()
  const plain = defineJob({ type: 'plain', run: () => 1 })
  expect((await recordOf(at, await enqueued(at, plain)))?.version).toBe(null)
  const job = { id: 'x', type: 'order', input: undefined, priority: 0, maxAttempts: 1, tags: [], concurrencyKey: null }
  const times = { runAt: null, delayMs: 0, key: null, onConflict: 'keep' } as const
  await at.store.insert([{ jobs: [{ ...job, ...times }], capacity: null }])
  const old = orderOf('1')
  await at.runtime({ jobs: [old] })
  await at.clock.settle()
  expect(await stateOf(at, 'x', old)).toBe('v1')
})
