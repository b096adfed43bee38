/** Values that programs without types pass: refused at the call, by the name of the option. */
import { createClient, createRuntime, defineJob, enqueueTo, fromJob, runJob } from 'jobchart'
import { toGraph } from 'jobchart/chart'
import { createTestRuntime, VirtualClock } from 'jobchart/testing'
import { expect, onTestFinished, test } from 'vitest'

const echo = defineJob<number, number>({ type: 'echo', run: (n) => n })
const other = defineJob<number, number>({ type: 'other', run: (n) => n })
const client = createClient({ jobs: [echo] })
const never = (value: unknown): never => value as never

const refusal = async (call: () => unknown): Promise<unknown> => {
  try {
    return await call()
  } catch (error) {
    return error
  }
}

const refused = (message: string) => ({ code: 'INVALID_OPTION', message: expect.stringContaining(message) })

test.each([
  ['a promise', Promise.resolve({}), 'a Promise'],
  ['a Date', new Date(0), 'the Date'],
  ['a Map', new Map(), 'a Map'],
  ['a Set', new Set(), 'a Set'],
])('%s is no object of options', async (_, value, shown) => {
  const calls: readonly [() => unknown, string][] = [
    [() => createClient(never(value)), 'options of createClient: expected an object'],
    [() => createRuntime({ jobs: [echo], retention: never(value) }), 'retention: expected an object'],
    [() => client.enqueue(echo, 1, never(value)), 'options of enqueue: expected an object'],
    [() => client.list(never(value)), 'filter: expected an object'],
    [() => toGraph(never(value)), 'machine: expected an XState machine'],
  ]
  for (const [call, message] of calls) {
    expect(await refusal(call)).toMatchObject(refused(message))
    expect(await refusal(call)).toMatchObject(refused(`got ${shown}`))
  }
  expect(await client.list()).toEqual([])
})

test('an instance of a class, and an object without a prototype, may be options', async () => {
  class Options {
    readonly tags = ['a']
  }
  const job = await client.enqueue(echo, 1, new Options())
  expect((await job.record()).tags).toEqual(['a'])
  await client.enqueue(echo, 1, Object.assign(Object.create(null) as object, { tags: ['b'] }))
  expect(await client.list({ tag: 'b' })).toHaveLength(1)
})

test('times that no Date can have are refused by a filter, which a server could not compare', async () => {
  for (const time of [1e300, -1e300, NaN, new Date(NaN), never('2026')]) {
    const call = (): unknown => client.list({ enqueuedAfter: time })
    expect(await refusal(call)).toMatchObject(refused('enqueuedAfter: expected a Date, or ms since the epoch'))
  }
})

test('operators refuse a job that their client does not list, instead of each value', async () => {
  expect(await refusal(() => enqueueTo(client, other))).toMatchObject({ code: 'UNKNOWN_TYPE' })
  expect(await refusal(() => runJob(client, other))).toMatchObject({ code: 'UNKNOWN_TYPE' })
  const noJob = refused('job: expected a job definition')
  expect(await refusal(() => enqueueTo(client, never(5)))).toMatchObject(noJob)
  expect(await refusal(() => runJob(client, never(5)))).toMatchObject(noJob)
})

test('fromJob refuses what is no definition', async () => {
  expect(await refusal(() => fromJob(never(undefined)))).toMatchObject(refused('job: expected a job definition'))
})

test('waits and iterations refuse options that make no sense', async () => {
  const job = await client.enqueue(echo, 1)
  expect(await refusal(() => job.stored(never(5)))).toMatchObject(refused('options of stored: expected an object'))
  expect(await refusal(() => job.events(never(5)))).toMatchObject(refused('options of iterate: expected an object'))
})

test('virtual time begins at a time, and a test runtime has options', async () => {
  for (const start of [NaN, 1e300, never('now')]) {
    expect(await refusal(() => new VirtualClock({ start }))).toMatchObject(
      refused('start: expected ms since the epoch'),
    )
  }
  expect(await refusal(() => new VirtualClock(never(5)))).toMatchObject(refused('options of VirtualClock'))
  expect(await refusal(() => createTestRuntime(never(undefined)))).toMatchObject(
    refused('options of createTestRuntime'),
  )
  const { runtime } = await createTestRuntime({ jobs: [echo], clock: new VirtualClock({ start: 5 }) })
  onTestFinished(async () => void (await runtime.stop()))
  expect(await runtime.run(echo, 7)).toBe(7)
})
