/** What users read when something is refused: what is wrong, where, and what to do instead. */
import { createClient, defineJob, type JobchartError, type RunContext } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const job = defineJob<unknown, unknown>({ type: 'job', run: async () => {} })
const cycle: Record<string, unknown> = { id: 1 }
cycle['list'] = [{ parent: cycle }]
const within: Record<string, unknown> = { a: { b: {} } }
;(within['a'] as Record<string, unknown>)['b'] = { back: within['a'] }
const deep = (levels: number): unknown => (levels === 0 ? 0 : { next: deep(levels - 1) })

const inputs: Record<string, [input: unknown, message: string, hint: string]> = {
  'a Date': [
    { at: new Date(0) },
    'input of job job at at: the Date 1970-01-01T00:00:00.000Z is not plain data',
    'date.toISOString()',
  ],
  'an invalid Date': [
    { at: new Date(Number.NaN) },
    'input of job job at at: an invalid Date is not plain data',
    'JSON',
  ],
  'a cycle': [cycle, 'input of job job at list[0].parent: a cycle, it refers back to the whole value', 'an id instead'],
  'a cycle within': [within, 'input of job job at a.b.back: a cycle, it refers back to a', 'an id instead'],
  'what is too deep': [deep(101), `at ${'next.'.repeat(40)}…: nested deeper than 100 levels`, 'Flatten'],
  'what is too large': ['x'.repeat(2 ** 20), 'input of job job: larger than 1048576 bytes of JSON', 'a reference'],
}
test.each(Object.entries(inputs))('an input that is, or holds, %s', async (_name, [input, message, hint]) => {
  const { runtime } = world()
  const error = await (await runtime({ jobs: [job] })).enqueue(job, input).catch((e: unknown) => e as JobchartError)
  expect(error).toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining(message),
    hint: expect.stringContaining(hint),
  })
})

const outputs: Record<string, [run: (input: unknown, ctx: RunContext) => unknown, message: string]> = {
  output: [
    () => ({ at: new Date(0) }),
    'output of job write at at: the Date 1970-01-01T00:00:00.000Z is not plain data',
  ],
  'check-in': [(_input, { checkin }) => checkin(1n as never), 'check-in of job write: 1n is not JSON'],
  step: [(_input, { step }) => step('charge', () => new Map()), 'result of step charge: a Map is not plain data'],
  log: [(_input, { log }) => log('x', { at: Number.NaN }), 'fields of ctx.log of job write at at: NaN is not JSON'],
  'log without text': [(_input, { log }) => log(7 as never), 'message of ctx.log: expected text, got 7'],
}
test.each(Object.entries(outputs))('%s: what a handler gives is named', async (_name, [run, message]) => {
  const { clock, runtime } = world()
  const write = defineJob<undefined, unknown>({ type: 'write', retry: { maxAttempts: 1 }, run })
  const handle = await (await runtime({ jobs: [write] })).enqueue(write)
  await clock.settle()
  expect((await handle.record()).error?.message).toBe(message)
})

test('a definition that is none, is not listed, or is another one of its type', async () => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const refused = (code: string, message: string, hint: string) => ({
    code,
    message,
    hint: expect.stringContaining(hint) as string,
  })
  await expect(worker.enqueue(undefined as never, 1)).rejects.toMatchObject(
    refused('INVALID_OPTION', 'job: expected a job definition made by defineJob, got undefined', 'enqueue(sendEmail'),
  )
  await expect(worker.enqueue('job' as never, 1)).rejects.toMatchObject(
    refused('INVALID_OPTION', 'job: expected a job definition made by defineJob, got "job"', 'enqueue(sendEmail'),
  )
  const other = defineJob<unknown, void>({ type: 'other', run: async () => {} })
  await expect(worker.enqueue(other, 1)).rejects.toMatchObject(
    refused('UNKNOWN_TYPE', 'job type "other" is not listed in the `jobs` of this runtime or client', 'createRuntime'),
  )
  const twin = defineJob<unknown, void>({ type: 'job', weight: 7, run: async () => {} })
  await expect(worker.enqueue(twin, 1)).rejects.toMatchObject(
    refused(
      'UNKNOWN_TYPE',
      '`jobs` lists another definition of job type "job" than the one passed: they differ in weight',
      'once per type',
    ),
  )
})

test('a plain job says what it cannot do, and what to use instead', async () => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 1, { id: 'a', delay: '1h' })
  const asked: Record<string, () => Promise<unknown>> = {
    'show a snapshot': () => handle.snapshot(),
    'list checkpoints': () => handle.checkpoints(),
    'be forked': () => handle.fork(1),
    'take events': () => handle.send({ type: 'GO' }),
    'reach a state of one': () => handle.waitFor('x'),
  }
  for (const [what, call] of Object.entries(asked)) {
    await expect(call()).rejects.toMatchObject({
      code: 'NOT_ACCEPTED',
      message: `job a (job) has no machine, so it cannot ${what}`,
      hint: expect.stringContaining('record()'),
    })
  }
})

const limitsNamed: Record<string, [options: unknown, message: string]> = {
  'a duration that is too long': [{ delay: '36501d' }, 'delay: expected a duration from 0 to 100 years, got "36501d"'],
  'too many tags': [{ tags: Array(21).fill('a') }, 'tags: expected a list of at most 20 tags, got an array'],
  'a priority that is too high': [
    { priority: 2 ** 31 },
    'priority: expected a whole number from -2,147,483,647 to 2,147,483,647, got 2147483648',
  ],
  'half a surrogate pair': [{ id: 'a\ud800' }, 'id: expected text without half a surrogate pair'],
  'delay beside runAt': [{ delay: '5m', runAt: 1 }, 'delay: expected no delay beside runAt, got "5m"'],
}
test.each(Object.entries(limitsNamed))('%s: the limit is named', async (_name, [options, message]) => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [job] })
  await expect(worker.enqueue(job, 1, options as never)).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining(message),
    hint: expect.any(String),
  })
})

test('waits that end without a result say so, with a hint', async () => {
  const { clock, store, runtime } = world()
  const client = createClient({ jobs: [job], store, clock, capacity: 1 })
  const handle = await client.enqueue(job, 1, { id: 'a' })
  const waits = [
    handle.result({ timeout: '1s' }),
    handle.result({ signal: AbortSignal.abort('enough') }),
    client.enqueue(job, 2, { timeout: '1s' }),
    client.enqueueMany(job, [1, 2]),
  ].map((wait) => wait.then(null, (error: JobchartError) => [error.code, error.message, typeof error.hint]))
  await clock.advance('1s')
  expect(await Promise.all(waits)).toEqual([
    ['TIMEOUT', 'job a did not end within 1000 ms', 'string'],
    ['ABORTED', 'waiting for the result was aborted', 'string'],
    ['TIMEOUT', 'no room for the job within 1000 ms', 'string'],
    ['CAPACITY', '2 jobs in one call never fit into a `capacity` of 1', 'string'],
  ])
  const worker = await runtime({ jobs: [job] })
  await worker.stop()
  await expect(worker.pause()).rejects.toMatchObject({
    message: 'the runtime cannot pause while it is stopped',
    hint: expect.any(String),
  })
  await client.close()
})
