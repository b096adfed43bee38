/**
 * Fills a store with jobs of many types, states, tags and machines, in which what few jobs have stands far from both
 * ends.
 */
import { setup } from 'xstate'
import { constant, createRuntime, defineJob, fatal, type EnqueueOptions, type JobDefinition } from '../../src/index.ts'
import { verifyEqual } from '../harness/ledger.ts'
import { storeAt, type StoreLocation } from '../harness/stores.ts'
import { keepAll } from '../sqlite/fill.probe.ts'

export interface ScreensFillParams {
  readonly location: StoreLocation
  readonly jobs: number
}

interface Input {
  readonly i: number
  /** How its run ends; default: well. */
  readonly end?: 'dead' | 'retrying'
}

const reasons = ['mailbox is full', 'connection reset', 'no such customer', 'quota exceeded', 'certificate expired']

const plain = (type: string): JobDefinition<Input, void> =>
  defineJob<Input, void>({
    type,
    retry: { maxAttempts: 2, backoff: constant('30d') },
    run: async ({ i, end }) => {
      if (end === 'dead') throw fatal(new Error(`${reasons[i % reasons.length]} (call ${i})`))
      if (end === 'retrying') throw new Error('503 come back later')
    },
  })

const email = plain('email.send')
const image = plain('image.resize')
const report = plain('report.build')
const importing = plain('row.import')
const audit = plain('audit')
const order = defineJob({
  type: 'order',
  machine: setup({
    types: { context: {} as { readonly i: number }, input: {} as { readonly i: number } },
  }).createMachine({
    id: 'order',
    context: ({ input }) => input,
    initial: 'open',
    states: {
      open: { always: [{ guard: ({ context }) => context.i % 10 === 0, target: 'review' }, { target: 'payment' }] },
      payment: { tags: ['customer'], on: { PAY: 'review' }, after: { '30d': 'expired' } },
      review: { tags: ['person'], on: { APPROVE: 'shipped' } },
      shipped: { type: 'final' },
      expired: { type: 'final' },
    },
  }),
})

/** The definitions of the jobs in the store. */
export const screenJobs = [email, image, report, importing, audit, order] as const

/** Jobs in one call. */
const chunk = 500
/** Jobs that wait at once, on their way to their ends. */
const wave = 20_000

/** @throws NotVerified unless the store holds what it should */
export async function measure({ location, jobs: count }: ScreensFillParams): Promise<null> {
  const store = await storeAt(location)
  const runtime = createRuntime({
    jobs: screenJobs,
    store,
    concurrency: 100,
    retention: { done: keepAll.done, dead: keepAll.done, cancelled: keepAll.done },
    logger: {},
  })
  const part = (share: number): number => Math.ceil(count * share)
  const enqueue = async (
    job: JobDefinition<Input, unknown>,
    jobs: number,
    input: Omit<Input, 'i'> = {},
    optionsOf: (chunk: number) => EnqueueOptions = () => ({}),
  ): Promise<void> => {
    for (let done = 0; done < jobs; done += chunk) {
      const inputs = Array.from({ length: Math.min(chunk, jobs - done) }, (_, i) => ({ i: done + i, ...input }))
      await runtime.enqueueMany(job, inputs, optionsOf(done / chunk))
      if (runtime.concurrency > 0 && (done + chunk) % wave === 0) await quiet()
    }
  }
  const quiet = async (): Promise<void> => {
    for (;;) {
      const { queued, running } = await runtime.counts()
      if (queued + running === 0) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const tenant = (chunkNumber: number): EnqueueOptions => ({ tags: [`tenant-${chunkNumber % 200}`, 'customer'] })

  await runtime.start()
  await enqueue(audit, part(0.001), {}, () => ({ tags: ['audited'] }))
  await enqueue(importing, part(0.03), { end: 'dead' }, () => ({ tags: ['nightly'] }))
  await enqueue(order, part(0.05))
  await enqueue(report, part(0.01), {}, () => ({ delay: '30d' }))
  await runtime.cancel({ type: 'report.build', state: 'scheduled' })
  await enqueue(report, part(0.02), {}, () => ({ delay: '30d' }))
  await enqueue(importing, part(0.005), { end: 'retrying' })
  await quiet()
  await enqueue(image, part(0.25))
  await enqueue(email, part(0.2), {}, tenant)
  await enqueue(image, part(0.2))
  await quiet()
  runtime.concurrency = 0
  await enqueue(email, part(0.15))
  await enqueue(report, count - (await total()))
  verifyEqual('jobs', await total(), count)
  // An index may be filled behind: on Redis it takes a worker some minutes, and whoever searches goes on with it.
  while ((await store.terms?.({ text: 'any', limit: 1, countMax: 1 }))?.kinds.includes('tag') === false);
  await runtime.stop()
  return null

  async function total(): Promise<number> {
    const { types: _, ...counts } = await runtime.counts()
    return Object.values(counts).reduce((sum, jobs) => sum + jobs, 0)
  }
}
