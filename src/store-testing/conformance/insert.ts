/** How jobs come in. */
import assert from 'node:assert/strict'
import type { Json } from '../../core/payload.ts'
import type { NewJob } from '../../store.ts'
import { newJob, idsOf, put, putAndEnd, recordOf, stateOf, take } from './acts.ts'
import type { Cases } from './subject.ts'

export const insertCases: Cases = {
  'a new job is queued, with all that was given': async ({ store }) => {
    const given = newJob('a', { input: { to: ['x', { y: null }] }, priority: 7, tags: ['red'], concurrencyKey: 'acme' })
    const [answer] = await put(store, given)
    assert.deepEqual([answer?.outcome, answer?.id, answer?.state, answer?.dueAt], ['inserted', 'a', 'queued', null])
    const record = await recordOf(store, 'a')
    const { id, type, input, priority, maxAttempts, tags, concurrencyKey, key } = given
    const { onConflict: _, runAt: _runAt, delayMs: _delayMs, ...same } = given
    assert.deepEqual({ id, type, input, priority, maxAttempts, tags, concurrencyKey, key }, same)
    for (const [name, value] of Object.entries(same)) assert.deepEqual(record[name as keyof typeof record], value)
    assert.deepEqual([record.state, record.attempt, record.generation, record.errors], ['queued', 0, 1, []])
    assert.equal(record.enqueuedAt, answer?.at)
    assert.deepEqual(record.history, [
      { seq: answer?.seq, at: answer?.at, event: 'ENQUEUE', from: null, to: 'queued', attempt: 0 },
    ])
  },
  'a job with a delay is scheduled for that time': async ({ store }) => {
    const before = store.now()
    const [answer] = await put(store, newJob('a', { delayMs: 60_000 }))
    assert.equal(answer?.state, 'scheduled')
    assert.ok((answer?.dueAt ?? 0) >= before + 60_000)
    assert.deepEqual(await take(store), [])
  },
  'a time that has passed means now': async ({ store }) => {
    const [answer] = await put(store, newJob('a', { runAt: 1 }))
    assert.deepEqual([answer?.state, answer?.dueAt], ['queued', null])
  },
  'a time to come is kept exactly': async ({ store }) => {
    const runAt = Math.floor(store.now()) + 60_000
    const [answer] = await put(store, newJob('a', { runAt }))
    assert.deepEqual([answer?.state, answer?.dueAt], ['scheduled', runAt])
  },
  'the same id twice is one job, even after its end': async ({ store }) => {
    await put(store, newJob('a', { input: 1 }))
    const [again] = await put(store, newJob('a', { input: 2 }))
    assert.deepEqual([again?.outcome, again?.id, again?.state, again?.seq], ['duplicate', 'a', 'queued', 0])
    assert.equal((await recordOf(store, 'a')).input, 1)
    await putAndEnd(store, 'b', 'done', { type: 'sms' })
    const [late] = await put(store, newJob('b', { type: 'sms' }))
    assert.deepEqual([late?.outcome, late?.state], ['duplicate', 'done'])
  },
  'a duplicate says whether the job that is there has the same input': async ({ store }) => {
    const input = { a: 1, b: [{ c: null, d: 'x' }], ['__proto__']: 1 }
    await put(store, newJob('a', { input, key: 'k' }), newJob('none', { input: undefined }))
    const same = async (fields: Partial<NewJob>) => (await put(store, newJob('a', fields)))[0]?.sameInput
    assert.equal(await same({ input: JSON.parse('{"__proto__":1,"b":[{"d":"x","c":null}],"a":1}') as Json }), true)
    const others: (Json | undefined)[] = [undefined, null, {}, [], 'a', { ...input, e: 1 }, { ...input, b: [] }]
    for (const other of others) assert.equal(await same({ input: other }), false, JSON.stringify(other))
    assert.equal((await put(store, newJob('b', { input: 2, key: 'k' })))[0]?.sameInput, false)
    assert.equal((await put(store, newJob('none', { input: undefined })))[0]?.sameInput, true)
  },
  'an id of another type refuses the whole request and names it': async ({ store }) => {
    await put(store, newJob('a', { type: 'sms' }))
    const answers = await put(store, newJob('b'), newJob('a'), newJob('c'))
    assert.deepEqual(
      answers.map(({ outcome, id }) => [outcome, id]),
      [
        ['id-taken', 'a'],
        ['id-taken', 'a'],
        ['id-taken', 'a'],
      ],
    )
    assert.deepEqual(idsOf(await store.list({})), ['a'])
    await put(store, newJob('b'))
    assert.deepEqual(idsOf(await store.list({ type: 'mail' })), ['b'], 'the first of its type after the refusal')
  },
  'a request beyond the capacity stores nothing': async ({ store }) => {
    const jobs = (...ids: string[]) => ids.map((id) => newJob(id))
    const [first, second, third] = await store.insert([
      { jobs: jobs('a', 'b'), capacity: 3 },
      { jobs: jobs('c', 'd'), capacity: 3 },
      { jobs: jobs('e'), capacity: 3 },
    ])
    const outcomes = [first, second, third].map((answers) => answers?.map(({ outcome }) => outcome))
    assert.deepEqual(outcomes, [['inserted', 'inserted'], ['full', 'full'], ['inserted']])
    assert.deepEqual(idsOf(await store.list({})), ['a', 'b', 'e'])
  },
  'a full store still knows a duplicate': async ({ store }) => {
    await put(store, newJob('a'))
    const [answers] = await store.insert([{ jobs: [newJob('a')], capacity: 1 }])
    assert.equal(answers?.[0]?.outcome, 'duplicate')
  },
  'running and ended jobs take none of the capacity, scheduled ones do': async ({ store }) => {
    await put(store, newJob('a'))
    await take(store)
    await put(store, newJob('b', { delayMs: 60_000 }))
    const [full] = await store.insert([{ jobs: [newJob('c')], capacity: 1 }])
    assert.equal(full?.[0]?.outcome, 'full')
    const [inserted] = await store.insert([{ jobs: [newJob('c')], capacity: 2 }])
    assert.equal(inserted?.[0]?.outcome, 'inserted')
    assert.equal(await stateOf(store, 'c'), 'queued')
  },
  'a request beyond the capacity of its queue stores nothing, and other types are not refused': async ({ store }) => {
    const queue = { type: 'mail', capacity: 2 }
    const request = (...jobs: NewJob[]) => ({ jobs, capacity: 4, queue })
    const sms = (id: string) => newJob(id, { type: 'sms' })
    const answers = await store.insert([
      request(newJob('a')),
      request(newJob('b'), newJob('c')),
      request(newJob('d')),
      request(newJob('e')),
      { jobs: [sms('f'), sms('g')], capacity: 4 },
      request(newJob('h')),
      request(newJob('a')),
      { jobs: [sms('i')], capacity: null, queue },
    ])
    const outcomes = answers.map(([first]) => [first?.outcome, first?.full])
    assert.deepEqual(outcomes, [
      ['inserted', undefined],
      ['full', 'queue'],
      ['inserted', undefined],
      ['full', 'queue'],
      ['inserted', undefined],
      ['full', 'store'],
      ['duplicate', undefined],
      ['inserted', undefined],
    ])
    await take(store, { max: 1 })
    const [room] = await store.insert([request(newJob('e'))])
    assert.equal(room?.[0]?.full, 'store')
    const [without] = await store.insert([{ jobs: [newJob('e')], capacity: null, queue }])
    assert.equal(without?.[0]?.outcome, 'inserted')
  },
  'of inserts into a queue at the same moment exactly as many succeed as there is room for': async ({ store }) => {
    const queue = { type: 'mail', capacity: 7 }
    const tryOne = async (i: number) => store.insert([{ jobs: [newJob(`job ${i}`)], capacity: null, queue }])
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => tryOne(i)))
    assert.equal(answers.flat(2).filter(({ outcome }) => outcome === 'inserted').length, 7)
  },
  'of inserts at the same moment exactly as many succeed as there is room for': async ({ store }) => {
    const tryOne = async (i: number) => store.insert([{ jobs: [newJob(`job ${i}`)], capacity: 7 }])
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => tryOne(i)))
    const outcomes = answers.flat(2).map(({ outcome }) => outcome)
    assert.equal(outcomes.filter((outcome) => outcome === 'inserted').length, 7)
    assert.equal((await store.counts()).queued, 7)
  },
}
