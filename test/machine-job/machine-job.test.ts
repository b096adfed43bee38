/** A machine as a job: it waits without a slot, takes events, keeps its timers, and goes on in another process. */
import { createRuntime, defineJob, memoryStore } from 'jobchart'
import { createTestRuntime, VirtualClock } from 'jobchart/testing'
import { assign, fromPromise, setup } from 'xstate'
import { expect, onTestFinished, test } from 'vitest'

interface OrderContext {
  readonly total: number
  readonly receipt?: string
}

function orderMachine(charges: string[]) {
  return setup({
    types: {
      context: {} as OrderContext,
      input: {} as { total: number },
      output: {} as { receipt: string | undefined },
      events: {} as { type: 'APPROVE' } | { type: 'REJECT'; why: string },
    },
    actors: {
      charge: fromPromise<string, { total: number }>(async ({ input, self }) => {
        charges.push(self.sessionId)
        return `receipt for ${input.total}`
      }),
    },
  }).createMachine({
    id: 'order',
    context: ({ input }) => ({ total: input.total }),
    initial: 'charging',
    states: {
      charging: {
        invoke: {
          src: 'charge',
          input: ({ context }) => ({ total: context.total }),
          onDone: { target: 'approval', actions: assign({ receipt: ({ event }) => event.output }) },
        },
      },
      approval: {
        tags: ['waits-for-a-person'],
        on: { APPROVE: 'shipping', REJECT: 'refused' },
        after: { 172_800_000: 'refused' },
      },
      shipping: { after: { 5_000: 'shipped' } },
      shipped: { type: 'final' },
      refused: { type: 'final' },
    },
    output: ({ context }) => ({ receipt: context.receipt }),
  })
}

test('a machine waits without a slot, takes an event, keeps its timer, and ends with its output', async () => {
  const charges: string[] = []
  const order = defineJob({ type: 'order', machine: orderMachine(charges) })
  const { runtime, clock } = await createTestRuntime({ jobs: [order], concurrency: 1 })
  onTestFinished(async () => void (await runtime.stop()))
  const job = await runtime.enqueue(order, { total: 7 })
  const view = await job.waitFor('waits-for-a-person')
  expect(view.value).toBe('approval')
  expect(view.context).toEqual({ total: 7, receipt: 'receipt for 7' })
  expect((await job.record()).state).toBe('waiting')
  expect((await runtime.stats()).taken).toBe(0)
  expect(charges).toEqual([`${job.id}/0.order.charging/1`])
  expect(await job.can({ type: 'APPROVE' })).toBe(true)
  await job.send({ type: 'APPROVE' })
  expect(await job.can({ type: 'APPROVE' })).toBe(false)
  await expect(job.send({ type: 'REJECT', why: 'late' })).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  await job.waitFor('shipping')
  const { dueAt } = await job.record()
  expect(dueAt).toBe(clock.now() + 5_000)
  await clock.advance(5_000)
  expect(await job.result()).toEqual({ receipt: 'receipt for 7' })
  expect(charges).toHaveLength(1)
})

test('what crashed goes on elsewhere from its checkpoint, with the same key', async () => {
  const clock = new VirtualClock()
  const store = memoryStore({ clock })
  const charges: string[] = []
  const hanging = setup({
    actors: {
      first: fromPromise<string>(async ({ self }) => {
        charges.push(self.sessionId)
        return 'one'
      }),
      second: fromPromise<string>(({ self, signal }) => {
        charges.push(self.sessionId)
        if (charges.length > 2) return Promise.resolve('two')
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      }),
    },
  }).createMachine({
    id: 'two',
    initial: 'a',
    states: {
      a: { invoke: { src: 'first', onDone: 'b' } },
      b: { invoke: { src: 'second', onDone: 'c' } },
      c: { type: 'final' },
    },
  })
  const job = defineJob({ type: 'two', machine: hanging })
  const dying = createRuntime({ jobs: [job], store, clock, lease: '10s' })
  await dying.start()
  const handle = await dying.enqueue(job)
  await handle.waitFor('b')
  // It is gone without a word: the lease runs out.
  await dying.stop({ mode: 'abort', grace: 0, timeout: 0 })
  const next = createRuntime({ jobs: [job], store, clock })
  onTestFinished(async () => void (await next.stop()))
  await next.start()
  const again = await next.job(handle.id)
  const ended = again?.result()
  await clock.advance(60_000)
  await ended
  expect(charges).toEqual([`${handle.id}/0.two.a/1`, `${handle.id}/0.two.b/1`, `${handle.id}/0.two.b/1`])
})
