/** Lists: orders, fields, filters, and pages that are full although the store looks at few jobs in one call. */
import { createClient, defineJob, memoryStore, type JobSummary, type ListOptions } from 'jobchart'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { setup } from 'xstate'
import type { ListQuery, Store } from '../../../src/store.ts'
import { fileStore } from '../../support/file-store.ts'
import { world } from '../../support/leaks.ts'

const job = defineJob<string>({ type: 'job', retry: { maxAttempts: 1 }, run: () => ({ out: 'x'.repeat(100) }) })

const stores: readonly (readonly [string, () => Store])[] = [
  ['memory', () => memoryStore()],
  ['sqlite', fileStore],
]

describe.each(stores)('on %s', (_, create) => {
  test('a page is full although few jobs match, and no call of the store looks at all of them', async () => {
    const store = create()
    const calls: ListQuery[] = []
    const watched: Store = {
      ...store,
      list(query) {
        calls.push(query)
        return store.list(query)
      },
    }
    await using client = createClient({ store: watched, jobs: [job] })
    for (let i = 0; i < 12; i++) {
      const meta = { rare: i === 0 || i === 11 }
      await client.enqueueMany(job, Array<string>(1_000).fill(`${i}`), { meta })
    }
    const page = await client.list({ meta: { rare: true }, limit: 1_000, fields: ['input'] })
    expect([page.length, page[0], page.at(-1)]).toEqual([1_000, { input: '0' }, { input: '0' }])
    calls.length = 0
    const last = await client.list({
      meta: { rare: true },
      limit: 1_000,
      ...(page.next !== undefined && { after: page.next }),
    })
    expect([last.length, last[0]?.input, last.next]).toEqual([1_000, '11', undefined])
    expect(calls.length).toBeGreaterThan(1)
  })

  test('a summary has no payloads, logs, errors, messages and history', async () => {
    await using client = createClient({ store: create(), jobs: [job] })
    await client.enqueue(job, 'large', { tags: ['a'] })
    const [summary] = await client.list({ fields: 'summary' })
    expectTypeOf(summary).toEqualTypeOf<JobSummary | undefined>()
    expect(summary).toMatchObject({ type: 'job', state: 'queued', tags: ['a'], machineStates: [] })
    for (const field of ['input', 'output', 'error', 'errors', 'logs', 'checkpoint', 'inbox', 'history', 'checkin']) {
      expect(summary, field).not.toHaveProperty(field)
    }
    const [picked] = await client.list({ fields: ['id', 'input'] })
    expectTypeOf(picked?.input).not.toBeAny()
    expect(Object.keys(picked ?? {})).toEqual(['id', 'input'])
  })

  test('machine jobs are found by their state, their tags and their parent', async () => {
    const store = create()
    const { clock, runtime } = world({ store })
    const machine = setup({ types: { events: {} as { type: 'APPROVE' } } }).createMachine({
      initial: 'approval',
      states: {
        approval: { tags: 'waits', on: { APPROVE: 'paid' } },
        paid: { initial: 'shipping', states: { shipping: {} } },
      },
    })
    const order = defineJob({ type: 'order', machine })
    await store.open({ clock })
    const worker = await runtime({ jobs: [order], store })
    const [first, second] = await worker.enqueueMany(order, [undefined, undefined])
    const idsBy = async (options: ListOptions) =>
      (await worker.list({ ...options, fields: ['id'] })).map(({ id }) => id)
    await clock.settle()
    await expect.poll(() => idsBy({ machineState: 'approval' })).toEqual([first?.id, second?.id])
    expect(await idsBy({ machineTag: 'waits', order: 'newest' })).toEqual([second?.id, first?.id])
    await first?.send({ type: 'APPROVE' })
    await clock.settle()
    await expect.poll(() => idsBy({ machineState: 'paid.shipping' })).toEqual([first?.id])
    expect(await idsBy({ machineState: 'paid', type: 'order', state: 'waiting' })).toEqual([first?.id])
    expect(await idsBy({ machineTag: 'waits' })).toEqual([second?.id])
    expect((await first?.record())?.machineStates).toEqual(['paid', 'paid.shipping'])
    const report = await worker.cancel({ machineState: 'approval' })
    expect(report.cancelled).toEqual([second?.id])
  })
})

test('times of a filter may be Dates, and what is no filter is refused', async () => {
  await using client = createClient({ store: memoryStore(), jobs: [job] })
  const { id } = await client.enqueue(job, 'a')
  const hour = 3_600_000
  const now = client.store.now()
  expect(await client.list({ enqueuedAfter: new Date(now - hour), enqueuedBefore: now + hour })).toHaveLength(1)
  expect(await client.list({ enqueuedBefore: new Date(now - hour) })).toHaveLength(0)
  expect((await client.cancel({ enqueuedAfter: new Date(now - hour) })).cancelled).toEqual([id])
  for (const wrong of [
    { order: 'up' },
    { orderBy: 'started' },
    { fields: 'all' },
    { fields: ['id', 'nothing'] },
    { enqueuedAfter: 'yesterday' },
    { finishedBefore: new Date(Number.NaN) },
    { parent: 7 },
    { machineState: ['a'] },
  ]) {
    await expect(client.list(wrong as never), JSON.stringify(wrong)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  }
})
