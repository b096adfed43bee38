/** Cancels, retries and discards of many jobs: in parts, each of which is short, and each job once. */
import { createClient, defineJob, memoryStore, type Store } from 'jobchart'
import { describe, expect, test } from 'vitest'
import type { Answer, BulkAnswer } from '../../../src/store.ts'
import { fileStore } from '../../support/file-store.ts'

const job = defineJob<number>({ type: 'job', run: () => {} })
const stores: readonly (readonly [string, () => Store])[] = [
  ['memory', () => memoryStore()],
  ['sqlite', fileStore],
]

/** The store, and what is called with each answer of a cancel, before the caller gets it. */
function watched(store: Store, cancelled: (jobs: readonly string[]) => Promise<void> | void): Store {
  const seen = async (ask: () => Answer<BulkAnswer>): Promise<BulkAnswer> => {
    const answer = await ask()
    if (answer.jobs.cancelled !== undefined) await cancelled(answer.jobs.cancelled)
    return answer
  }
  return {
    ...store,
    bulk: {
      ...store.bulk,
      start: (request) => seen(() => store.bulk.start(request)),
      advance: (request) => seen(() => store.bulk.advance(request)),
    },
    async cancel(requests) {
      const answers = await store.cancel(requests)
      for (const { cancelled: ids } of answers) await cancelled(ids)
      return answers
    },
  }
}

describe.each(stores)('on %s', (_, create) => {
  test('all jobs of a filter are cancelled, retried and discarded, 100 in one call of the store', async () => {
    const sizes: number[] = []
    const store = watched(create(), (ids) => void sizes.push(ids.length))
    await using client = createClient({ store, jobs: [job] })
    const handles = await client.enqueueMany(job, Array<number>(250).fill(0), { tags: ['all'] })
    const ids = handles.map(({ id }) => id)
    const { cancelled, totals } = await client.cancel({ tag: 'all' })
    expect([cancelled, totals, sizes]).toEqual([ids, undefined, [100, 100, 50]])
    expect((await client.retry({ tag: 'all' })).retried).toEqual(ids)
    expect((await client.cancel(ids)).cancelled).toHaveLength(250)
    expect(sizes.slice(3)).toEqual([100, 100, 50])
    expect((await client.discard({ state: 'cancelled' })).discarded).toEqual(ids)
  })

  test('what is enqueued while a filter is worked through is left alone', async () => {
    const store = watched(create(), async () => {
      await client.enqueueMany(job, Array<number>(300).fill(1), { tags: ['late'] })
    })
    const client = createClient({ store, jobs: [job] })
    await client.enqueueMany(job, Array<number>(250).fill(0))
    expect((await client.cancel({ type: 'job' })).cancelled).toHaveLength(250)
    expect(await client.counts()).toMatchObject({ cancelled: 250, queued: 900 })
    await client.close()
  })
})

test('the event loop has its turns while many jobs are cancelled, and the report is cut at 10,000 ids', async () => {
  await using client = createClient({ store: memoryStore(), jobs: [job] })
  for (let i = 0; i < 3; i++) await client.enqueueMany(job, Array<number>(5_000).fill(i))
  let turns = 0
  let working = true
  const turn = (): void => {
    turns++
    if (working) setImmediate(turn)
  }
  turn()
  const report = await client.cancel({ type: 'job' })
  working = false
  expect(turns).toBeGreaterThanOrEqual(15_000 / 100 - 1)
  expect(report.cancelled).toHaveLength(10_000)
  expect(report.totals).toEqual({ cancelled: 15_000, cancelling: 0, notFound: 0, finished: 0 })
})
