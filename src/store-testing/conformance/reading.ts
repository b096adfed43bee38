/** Reading, page by page. */
import assert from 'node:assert/strict'
import { JobchartError } from '../../core/errors.ts'
import { idsOf, newJob, put, putAndEnd, putAndTake, recordOf } from './acts.ts'
import { everyPage } from './side-by-side.ts'
import type { Cases } from './subject.ts'

export const readingCases: Cases = {
  'get answers in the order of the ids, null for none': async ({ store }) => {
    await put(store, newJob('a'), newJob('b'))
    const records = await store.get(['b', 'nobody', 'a'])
    assert.deepEqual(
      records.map((record) => record?.id),
      ['b', undefined, 'a'],
    )
  },
  'a record that is handed out is a copy': async ({ store }) => {
    await put(store, newJob('a', { input: { list: [1] }, tags: ['red'] }))
    const record = await recordOf(store, 'a')
    ;(record.input as { list: number[] }).list.push(2)
    ;(record.tags as string[]).push('blue')
    const again = await recordOf(store, 'a')
    assert.deepEqual([again.input, again.tags], [{ list: [1] }, ['red']])
  },
  'payloads come back as they went in, a member named __proto__ included': async ({ store }) => {
    const text =
      '{"__proto__":{"polluted":true},"text":"\\u0000\\u2028😀\\"","deep":[[{"n":-1.5e-7}]],"null":null,"empty":{}}'
    await put(store, newJob('a', { input: JSON.parse(text) }), newJob('b', { input: undefined }))
    assert.equal(JSON.stringify((await recordOf(store, 'a')).input), JSON.stringify(JSON.parse(text)))
    assert.equal((await recordOf(store, 'b')).input, undefined)
    assert.equal('polluted' in {}, false)
  },
  'a list is oldest first, in pages that lead on to each other': async ({ store }) => {
    const ids = Array.from({ length: 7 }, (_, i) => `job ${i}`)
    await put(store, ...ids.map((id, i) => newJob(id, { priority: i })))
    const first = await store.list({ limit: 3 })
    assert.deepEqual([idsOf(first), typeof first.next], [ids.slice(0, 3), 'string'])
    assert.deepEqual(idsOf(await everyPage(store, {}, 3)), ids)
    assert.deepEqual(idsOf(await everyPage(store, {}, 7)), ids)
    assert.equal((await store.list({ limit: 7 })).next, undefined)
    assert.deepEqual(idsOf(await store.list({ after: 'job 4' })), ['job 5', 'job 6'])
  },
  'a page leads on when the job it ended with is gone': async ({ store }) => {
    for (const id of ['a', 'b', 'c', 'd']) await putAndEnd(store, id, 'done')
    const { next } = await store.list({ limit: 2 })
    await store.discard({ ids: ['b', 'c'] })
    assert.ok(next !== undefined)
    assert.deepEqual(idsOf(await store.list({ after: next })), ['d'])
  },
  'a cursor from nowhere is refused': async ({ store }) => {
    const refused = (error: unknown) => error instanceof JobchartError && error.code === 'INVALID_OPTION'
    await assert.rejects(store.list({ after: 'no such job' }), refused)
  },
  'filters are all of the given fields, and any of a list': async ({ store }) => {
    await put(
      store,
      newJob('a', { tags: ['red', 'blue'], concurrencyKey: 'x', key: 'k' }),
      newJob('b', { tags: ['red'], type: 'sms' }),
      newJob('c', { delayMs: 1_000, tags: ['blue'] }),
    )
    await putAndTake(store, 'd', { type: 'fax', concurrencyKey: 'x' })
    const found = async (filter: Parameters<typeof store.list>[0]) => idsOf(await store.list(filter)).join('')
    assert.equal(await found({}), 'abcd')
    assert.equal(await found({ type: 'mail' }), 'ac')
    assert.equal(await found({ type: ['sms', 'fax', 'none'] }), 'bd')
    assert.equal(await found({ state: 'running' }), 'd')
    assert.equal(await found({ state: ['scheduled', 'running'], type: ['mail', 'fax'] }), 'cd')
    assert.equal(await found({ tag: 'blue' }), 'ac')
    assert.equal(await found({ tag: 'red', type: 'sms' }), 'b')
    assert.equal(await found({ concurrencyKey: 'x' }), 'ad')
    assert.equal(await found({ key: 'k', concurrencyKey: 'x' }), 'a')
    assert.equal(await found({ state: [] }), '')
    assert.equal(await found({ tag: 'none' }), '')
  },
  'counts are of all jobs and of each type': async ({ store }) => {
    await putAndEnd(store, 'a', 'done')
    await put(store, newJob('b'), newJob('c'), newJob('d', { type: 'sms', delayMs: 1_000 }))
    const { queued, scheduled, done, dead, types } = await store.counts()
    assert.deepEqual([queued, scheduled, done, dead], [2, 1, 1, 0])
    assert.deepEqual([types['mail']?.queued, types['mail']?.done, types['sms']?.scheduled], [2, 1, 1])
    assert.deepEqual((await store.queue('mail')).counts, types['mail'])
  },
  'a queue nobody knows is empty and not paused': async ({ store }) => {
    const { type, paused, counts } = await store.queue('never seen')
    assert.deepEqual([type, paused, counts.queued], ['never seen', false, 0])
  },
}
