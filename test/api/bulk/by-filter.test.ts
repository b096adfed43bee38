/** Cancels, retries and discards by filter: bulk operations that answer with a report of the jobs. */
import {
  createClient,
  defineJob,
  JobchartError,
  memoryStore,
  type BulkOperation,
  type Client,
  type ClosableClient,
  type Store,
} from 'jobchart'
import { expect, onTestFinished, test } from 'vitest'
import type { BulkStore, Hint } from '../../../src/store.ts'
import { putDeadJobs } from '../../support/dead-jobs.ts'
import { world, type World } from '../../support/leaks.ts'

const mail = defineJob<{ n: number }, null>({ type: 'mail', retry: { maxAttempts: 1 }, run: async () => null })
const dead = { type: 'mail', state: 'dead' } as const

function clientOf({ store, clock, logger }: World, own: Store = store): ClosableClient {
  const client = createClient({ store: own, jobs: [mail], clock, logger })
  onTestFinished(() => client.close())
  return client
}

const withBulk = (store: Store, bulk: Partial<BulkStore>): Store => ({ ...store, bulk: { ...store.bulk, ...bulk } })
const listed = async (client: Client): Promise<[BulkOperation['state'], BulkOperation['counts']][]> =>
  (await client.bulk.list()).map(({ state, counts }) => [state, counts])

test('a call on up to a hundred jobs leaves no operation; of a larger one the list tells', async () => {
  const made = world()
  const client = clientOf(made)
  const ids = await putDeadJobs(made.store, 250)
  expect(await client.cancel({ type: 'none' })).toEqual({ cancelled: [], cancelling: [], notFound: [], finished: [] })
  const one = await client.enqueue(mail, { n: 1 }, { tags: ['one'] })
  expect((await client.cancel({ tag: 'one' })).cancelled).toEqual([one.id])
  expect((await client.discard({ tag: 'one' })).discarded).toEqual([one.id])
  expect(await listed(client)).toEqual([])
  expect(await client.retry(dead)).toEqual({ retried: ids, refused: [], notFound: [] })
  expect(await listed(client)).toEqual([['done', { retried: 250 }]])
})

test('each transition is an event of the process that has called', async () => {
  const made = world()
  const client = clientOf(made)
  const ids = await putDeadJobs(made.store, 120)
  const seen: string[] = []
  const subscription = client.events$.subscribe(({ event, id }) => seen.push(`${event} ${id}`))
  await client.retry(dead)
  await client.cancel({ type: 'mail' })
  subscription.unsubscribe()
  expect(seen).toEqual([...ids.map((id) => `RETRY ${id}`), ...ids.map((id) => `CANCEL ${id}`)])
})

test('a call whose process dies half-way is carried to its end by a runtime', async () => {
  const made = world()
  await putDeadJobs(made.store, 450)
  const never = new Promise<never>(() => {})
  let batches = 1
  const dying = withBulk(made.store, {
    advance: (request) => (++batches > 2 ? never : made.store.bulk.advance(request)),
  })
  void clientOf(made, dying).discard(dead)
  await made.clock.settle()
  const reader = clientOf(made)
  expect(await reader.counts()).toMatchObject({ dead: 250 })
  await made.runtime({ jobs: [mail], lease: '4s' })
  await made.clock.advance('20s')
  expect(await reader.counts()).toMatchObject({ dead: 0 })
  expect(await listed(reader)).toEqual([['done', { discarded: 450 }]])
})

test('what another process has done of it is in the totals, and not in the list of ids', async () => {
  const made = world()
  const ids = await putDeadJobs(made.store, 350)
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>()
  const stalling = withBulk(made.store, {
    async advance(request) {
      await resumed
      return made.store.bulk.advance(request)
    },
  })
  const call = clientOf(made, stalling).retry(dead)
  await made.clock.advance('11s')
  const other = clientOf(made)
  const [operation] = await other.bulk.list()
  await other.bulk.resume(operation?.id ?? '')
  resume()
  expect(await call).toEqual({
    retried: ids.slice(0, 100),
    refused: [],
    notFound: [],
    totals: { retried: 350, refused: 0, notFound: 0 },
  })
})

test('while too many operations run a call on more than a hundred jobs is refused, and a small one is not', async () => {
  const made = world()
  const client = clientOf(made)
  await putDeadJobs(made.store, 250)
  await client.enqueueMany(
    mail,
    Array.from({ length: 300 }, (_, n) => ({ n })),
  )
  const change = { kind: 'cancel', reason: null, graceMs: 0 } as const
  const terms = {
    change,
    filter: { state: 'queued' },
    expected: null,
    batchSize: 1,
    token: 't',
    leaseMs: 60_000,
  } as const
  for (let n = 0; n < 100; n++) await made.store.bulk.start({ id: `${n}`, ...terms })
  expect(await made.store.bulk.list('running')).toHaveLength(100)
  await expect(client.discard(dead)).rejects.toMatchObject({ code: 'CAPACITY', hint: expect.stringMatching(/Nothing/) })
  expect(await client.counts()).toMatchObject({ dead: 250 })
  const handle = await client.enqueue(mail, { n: 0 }, { tags: ['small'] })
  expect((await client.cancel({ tag: 'small' })).cancelled).toEqual([handle.id])
})

test('a call whose operation is stopped, or fails in another process, says so', async () => {
  const made = world()
  const client = clientOf(made)
  await putDeadJobs(made.store, 350)
  const ended = (error: null | { name: string; message: string }): Store =>
    withBulk(made.store, {
      async advance(request) {
        await made.store.bulk.stop({ id: request.id, error })
        return made.store.bulk.advance(request)
      },
    })
  await expect(clientOf(made, ended(null)).retry(dead)).rejects.toMatchObject({
    code: 'ABORTED',
    message: expect.stringMatching(/was stopped after 100 retried/),
  })
  await expect(clientOf(made, ended({ name: 'Error', message: 'a bad row' })).retry(dead)).rejects.toMatchObject({
    code: 'STORE_REFUSED',
    message: expect.stringMatching(/failed after 100 retried: a bad row/),
  })
  expect(await client.counts()).toMatchObject({ queued: 200, dead: 150 })
})

test('what the store throws is its refusal; a store that is unavailable leaves the operation to a runtime', async () => {
  const made = world()
  await putDeadJobs(made.store, 250)
  const refusing = withBulk(made.store, { start: () => Promise.reject(new TypeError('cannot be read')) })
  await expect(clientOf(made, refusing).cancel({ type: 'mail' })).rejects.toMatchObject({
    code: 'STORE_REFUSED',
    cause: expect.objectContaining({ message: 'cannot be read' }),
  })
  const gone = new JobchartError('STORE_UNAVAILABLE', 'gone')
  const unavailable = withBulk(made.store, { advance: () => Promise.reject(gone) })
  const client = clientOf(made, unavailable)
  await expect(client.discard(dead)).rejects.toBe(gone)
  expect(await listed(client)).toEqual([['running', { discarded: 100 }]])
})

test('a client that is closed ends the wait, and the operation goes on in another process', async () => {
  const made = world()
  await putDeadJobs(made.store, 350)
  const closing = withBulk(made.store, {
    advance(request) {
      void client.close()
      return made.store.bulk.advance(request)
    },
  })
  const client = clientOf(made, closing)
  const call = client.discard(dead).catch((error: unknown) => error)
  expect(await call).toMatchObject({ code: 'STOPPED', hint: expect.stringMatching(/goes on/) })
  const reader = clientOf(made)
  expect(await listed(reader)).toEqual([['running', { discarded: 200 }]])
  await made.runtime({ jobs: [mail] })
  await made.clock.advance('1m')
  expect(await reader.counts()).toMatchObject({ dead: 0 })
})

test('what no operation can keep is refused', async () => {
  const client = clientOf(world())
  const invalid = { code: 'INVALID_OPTION' }
  await expect(client.retry(dead, { dropInbox: [1] })).rejects.toMatchObject(invalid)
  await expect(client.retry(dead, { input: 1 })).rejects.toMatchObject(invalid)
  const type = Array.from({ length: 200 }, (_, i) => `${i}`.padStart(150, 'x'))
  for (const call of [client.cancel({ type }), client.retry({ type }), client.discard({ type })]) {
    await expect(call).rejects.toMatchObject({ ...invalid, message: expect.stringMatching(/16384 bytes/) })
  }
})

// ── in the process that runs the jobs ──────────────────────────────────────────────────────────────────────────────

/** A store whose answers come a turn later, and whose hints nobody gets: only answers tell. */
function remote(store: Store): Store {
  const later = async <T>(ask: () => T): Promise<Awaited<T>> => {
    await null
    return ask() as Awaited<T>
  }
  return {
    ...store,
    claim: (request) => later(() => store.claim(request)),
    bulk: {
      ...store.bulk,
      start: (request) => later(() => store.bulk.start(request)),
      advance: (request) => later(() => store.bulk.advance(request)),
    },
    watch: (listener) =>
      store.watch((hint: Hint) => {
        if (hint.kind !== 'cancelled') listener(hint)
      }),
  }
}

test('runs are aborted by the answer, with the reason of the cancel: no hint is needed', async () => {
  const made = world({ store: remote(memoryStore()) })
  const reasons: unknown[] = []
  const endless = defineJob<number, void>({
    type: 'mail',
    run: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push((signal.reason as Error).message)
          reject(signal.reason as Error)
        })
      }),
  })
  const worker = await made.runtime({ jobs: [endless], concurrency: 150 })
  await worker.enqueueMany(endless, Array<number>(150).fill(0))
  await made.clock.settle()
  const { cancelling } = await worker.cancel({ type: 'mail' }, { reason: 'account closed' })
  expect([cancelling.length, reasons.length]).toEqual([150, 150])
  expect(reasons.every((reason) => String(reason).endsWith('account closed'))).toBe(true)
})
