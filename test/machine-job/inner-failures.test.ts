/**
 * What fails within a machine is seen where failures are looked for: in groups, rates and figures; and how machines end
 * is counted.
 */
import { constant, createRuntime, defineJob, durable, memoryStore, type Store } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { fromPromise, setup } from 'xstate'
import { temporaryFolder } from '../support/temporary-folder.ts'

class CardDeclined extends Error {}

const machine = setup({
  types: { input: {} as { card: string }, context: {} as { card: string }, output: {} as { status: string } },
  actors: {
    charge: durable<void, string>(
      async ({ input, attempt }) => {
        if (input === 'empty') throw new CardDeclined(`card ${input} has no money`)
        if (attempt < 3) throw new Error(`the bank did not answer for card ${attempt}`)
      },
      { retry: { maxAttempts: 3, backoff: constant('1ms'), retryIf: (error) => !(error instanceof CardDeclined) } },
    ),
    notify: fromPromise(async () => {
      throw Object.assign(new Error('no mail today'), { status: 503 })
    }),
  },
}).createMachine({
  context: ({ input }) => input,
  initial: 'paying',
  states: {
    paying: {
      invoke: { src: 'charge', input: ({ context }) => context.card, onDone: 'telling', onError: 'declined' },
    },
    telling: { invoke: { src: 'notify', onDone: 'paid', onError: 'paid' } },
    paid: { type: 'final' },
    declined: { type: 'final' },
  },
  output: ({ context }) => ({ status: context.card === 'empty' ? 'no money' : 'fine' }),
})
const order = defineJob({ type: 'order', machine })

function fileInFolder(): Store {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return sqliteStore({ path: `${folder.path}/jobs.db`, durability: 'normal' })
}

const stores: readonly (readonly [string, () => Store])[] = [
  ['memory', () => memoryStore()],
  ['a file', () => fileInFolder()],
]

test.each(stores)('failed promises of a machine are in groups, figures and rates, on %s', async (_name, makeStore) => {
  const runtime = createRuntime({ jobs: [order], store: makeStore(), logger: {} })
  onTestFinished(async () => void (await runtime.stop({ mode: 'abort' })))
  await runtime.start()
  expect(await runtime.run(order, { card: 'good' })).toEqual({ status: 'fine' })
  expect(await runtime.run(order, { card: 'empty' })).toEqual({ status: 'no money' })
  const groups = await runtime.failures({ type: 'order' })
  expect(groups.map(({ name, code, message, count, dead }) => [name, code, message, count, dead])).toEqual([
    ['CardDeclined', null, 'card empty has no money', 1, 0],
    ['Error', '503', 'no mail today', 1, 0],
    ['Error', null, 'the bank did not answer for card …', 2, 0],
  ])
  const { rates } = await runtime.queue('order').stats()
  expect(rates.lastMinute.failed).toBeCloseTo(4 / 60, 5)
  expect((await runtime.store.machineCounts('order')).outcomes).toEqual({ 'paid (fine)': 1, 'declined (no money)': 1 })
})

test('an error that no state handles is the failure of the job, and counted once', async () => {
  const unhandled = setup({
    actors: { work: fromPromise(async () => Promise.reject(new Error('not handled'))) },
  }).createMachine({ initial: 'a', states: { a: { invoke: { src: 'work' } } } })
  const job = defineJob({ type: 'unhandled', machine: unhandled, retry: { maxAttempts: 1 } })
  const runtime = createRuntime({ jobs: [job], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  await expect(runtime.run(job, undefined)).rejects.toThrow('not handled')
  expect(await runtime.failures({})).toMatchObject([{ message: 'not handled', count: 1, dead: 1 }])
})
