/** Processes without definitions: they enqueue, list, pause, cancel, retry, discard and send by names and ids. */
import { createClient, defineJob, type Client } from 'jobchart'
import { expect, onTestFinished, test } from 'vitest'
import { setup } from 'xstate'
import { z } from 'zod'
import { world, type World } from '../../support/leaks.ts'

const mail = defineJob({ type: 'mail', input: z.object({ to: z.string() }), run: ({ to }) => `sent to ${to}` })

function clientOf({ store, clock, logger }: World): Client {
  const client = createClient({ store, clock, logger })
  onTestFinished(() => client.close())
  return client
}

test('a job is enqueued by the name of its type, and validated by the worker', async () => {
  const made = world()
  const client = clientOf(made)
  const good = await client.enqueueByName('mail', { to: 'ada' }, { tags: ['t'], meta: { n: 1 } })
  const bad = await client.enqueueByName('mail', { cc: 'ada' })
  expect(await good.record()).toMatchObject({ type: 'mail', maxAttempts: 3, tags: ['t'], meta: { n: 1 } })
  await made.runtime({ jobs: [mail] })
  const results = Promise.allSettled([good.result(), bad.result()])
  await made.clock.advance('1m')
  expect(await results).toMatchObject([
    { status: 'fulfilled', value: 'sent to ada' },
    { status: 'rejected', reason: { code: 'DEAD', cause: { code: 'INVALID_INPUT' } } },
  ])
  expect((await bad.record()).attempt).toBe(1)
})

test('it is unique as its options say, and a type that is known is enqueued as its definition says', async () => {
  const made = world()
  const client = clientOf(made)
  const first = await client.enqueueByName('mail', { to: 'ada' }, { unique: true })
  expect((await client.enqueueByName('mail', { to: 'ada' }, { unique: true })).id).toBe(first.id)
  expect((await client.enqueueByName('mail', { to: 'ada' })).id).not.toBe(first.id)
  const knowing = createClient({ store: made.store, clock: made.clock, jobs: [mail] })
  await expect(knowing.enqueueByName('mail', 'no')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect((await (await knowing.enqueueByName('mail', { to: 'x' })).record()).state).toBe('queued')
  await knowing.close()
})

test('what is no type, no input or no option is refused, and so is a call after the close', async () => {
  const client = createClient({ store: world().store })
  await expect(client.enqueueByName('')).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await expect(client.enqueueByName('mail', 1n)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await expect(client.enqueueByName('mail', 1, { every: 1 } as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  expect(() => client.queue('')).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  await client.close()
  await expect(client.enqueueByName('mail', 1)).rejects.toMatchObject({ code: 'STOPPED' })
})

test('the figures of a queue have a weight and a share of 0 for a client that knows no jobs', async () => {
  const client = createClient({ store: world().store })
  expect(await client.queue('mail').stats()).toMatchObject({
    given: 0,
    share: 0,
    weight: 0,
    expectedShare: 0,
  })
})

test('a client without definitions pauses queues, shows, cancels, retries, discards and sends', async () => {
  const made = world()
  const client = clientOf(made)
  const machine = setup({ types: { events: {} as { type: 'GO' } } }).createMachine({
    initial: 'idle',
    states: { idle: { on: { GO: 'over' } }, over: { type: 'final' } },
  })
  const order = defineJob({ type: 'order', machine })
  await client.queue('mail').pause()
  const handle = await client.enqueueByName('mail', { to: 'ada' })
  const worker = await made.runtime({ jobs: [mail, order] })
  await made.clock.advance('1s')
  expect((await client.job(handle.id))?.type).toBe('mail')
  expect((await handle.cancel()).cancelled).toEqual([handle.id])
  await handle.retry()
  expect(await client.queue('mail').stats()).toMatchObject({ paused: true, weight: 0, counts: { queued: 1 } })
  await client.queue('mail').resume()
  await made.clock.advance('1s')
  expect(await handle.result()).toBe('sent to ada')
  expect((await client.discard(handle.id)).discarded).toEqual([handle.id])
  const { id } = await worker.enqueue(order)
  await made.clock.advance('1s')
  await client.send(id, { type: 'GO' }, { accept: 'always' })
  await made.clock.advance('1s')
  expect((await client.list({ type: 'order' }))[0]?.state).toBe('done')
})

test('queues are listed by name when they are empty: those of the store, of this process, and of running workers', async () => {
  const made = world()
  const client = clientOf(made)
  expect(await client.queues()).toEqual([])
  await made.runtime({ jobs: [mail] })
  await client.enqueueByName('zoo', 1)
  await client.queue('any').pause()
  const queues = await client.queues()
  expect(queues.map(({ type, paused, counts }) => [type, paused, counts.queued])).toEqual([
    ['any', true, 0],
    ['mail', false, 0],
    ['zoo', false, 1],
  ])
  expect({ ...queues[1], keys: [] }).toEqual(await client.queue('mail').stats())
})
