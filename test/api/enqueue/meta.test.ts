/** Data of the enqueuer: it travels with the job and its events, and finds it. */
import { createClient, defineJob, memoryStore, type JobEvent, type JobRecord, type Store } from 'jobchart'
import { describe, expect, test } from 'vitest'
import { fileStore } from '../../support/file-store.ts'
import { world } from '../../support/leaks.ts'

const stores: readonly (readonly [string, () => Store])[] = [
  ['memory', () => memoryStore()],
  ['sqlite', fileStore],
]

describe.each(stores)('on %s', (_, create) => {
  test('meta is seen by the handler, in the record, in events of the run, and by filters', async () => {
    const store = create()
    const { clock, runtime } = world({ store })
    await store.open({ clock })
    const seen: JobRecord['meta'][] = []
    const mail = defineJob<string>({
      type: 'mail',
      run: (_input, ctx) => {
        seen.push(ctx.job.meta)
        ctx.log('a line')
      },
    })
    const worker = await runtime({ jobs: [mail] })
    const events: JobEvent[] = []
    worker.events$.subscribe((event) => events.push(event))
    const meta = { tenant: 'a', trace: { parent: '00-1' } }
    const handle = await worker.enqueue(mail, 'x', { meta })
    const plain = await worker.enqueue(mail, 'y', { meta: {} })
    await Promise.all([handle.result(), plain.result(), clock.settle()])
    expect(seen).toEqual([meta, {}])
    expect((await handle.record()).meta).toEqual(meta)
    const told = events.filter(({ id }) => id === handle.id)
    expect(told.map(({ event }) => event)).toEqual(['ENQUEUE', 'CLAIM', 'LOG', 'COMPLETE'])
    for (const event of told) expect(event.meta, event.event).toEqual(meta)
    for (const event of events.filter(({ id }) => id === plain.id)) expect(event).not.toHaveProperty('meta')
    const found = await worker.list({ meta: { tenant: 'a' }, fields: ['id', 'meta'] })
    expect([...found]).toEqual([{ id: handle.id, meta }])
    expect((await worker.discard({ meta: { tenant: 'a' } })).discarded).toEqual([handle.id])
  })

  test('a replaced job has the new meta', async () => {
    const job = defineJob<number>({ type: 'job', run: () => {} })
    await using client = createClient({ store: create(), jobs: [job] })
    const unique = { key: 'k', onConflict: 'replace' } as const
    const first = await client.enqueue(job, 1, { unique, meta: { n: 1 } })
    await client.enqueue(job, 2, { unique, meta: { n: 2 } })
    expect((await first.record()).meta).toEqual({ n: 2 })
    await client.enqueue(job, 3, { unique })
    expect((await first.record()).meta).toEqual({})
  })
})

test('what is no small plain object of JSON is refused, and so is a filter that can match nothing', async () => {
  const job = defineJob<number>({ type: 'job', run: () => {} })
  await using client = createClient({ store: memoryStore(), jobs: [job] })
  for (const meta of ['text', [1], null, { at: new Date() }, { n: Number.NaN }, { text: 'x'.repeat(16_384) }]) {
    await expect(client.enqueue(job, 1, { meta: meta as never })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  }
  for (const meta of ['a', {}, { nested: {} }, { n: Number.NaN }, { nothing: null }]) {
    await expect(client.list({ meta: meta as never })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  }
  expect(await client.list()).toHaveLength(0)
})
