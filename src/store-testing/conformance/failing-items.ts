/** An item of a call that cannot be written: it fails alone, and nothing of it is stored. */
import assert from 'node:assert/strict'
import type { NewJob, Store } from '../../store.ts'
import {
  boom,
  cancel,
  idsOf,
  lease,
  newJob,
  put,
  putAndTake,
  recordOf,
  plainCheckpoint,
  stateOf,
  take,
} from './acts.ts'
import type { Cases } from './subject.ts'

/** A job that cannot be stored: reading one of its fields throws. */
const unreadable = (id: string, fields: Partial<NewJob> = {}): NewJob =>
  Object.defineProperty(newJob(id, fields), 'input', {
    enumerable: true,
    get: () => {
      throw new TypeError('this input cannot be read')
    },
  })

const outcomes = (answers: readonly { readonly outcome: string }[]): string[] => answers.map(({ outcome }) => outcome)

/** Everything that can be read from a store. */
const seen = async (store: Store): Promise<unknown> => ({
  jobs: await store.list({}),
  counts: await store.counts(),
  log: (await store.transitions(null, 100)).transitions,
})

export const failingItemCases: Cases = {
  'if one job of a request cannot be stored, none of this request is, and other requests are stored': async ({
    store,
  }) => {
    await put(store, newJob('holder', { key: 'k' }))
    const running = await putAndTake(store, 'running', { type: 'sms', key: 'k' })
    const supersede = { key: 'k', onConflict: 'supersede' } as const
    const before = await seen(store)
    const half = [newJob('b', supersede), newJob('c', { type: 'sms', ...supersede }), unreadable('d'), newJob('e')]
    const [refused] = await store.insert([{ jobs: half, capacity: null }])
    assert.deepEqual(outcomes(refused ?? []), ['failed', 'failed', 'failed', 'failed'])
    assert.deepEqual(
      refused?.map(({ id, error }) => [id, error?.message]),
      ['b', 'c', 'd', 'e'].map((id) => [id, 'this input cannot be read']),
    )
    assert.deepEqual(await seen(store), before)
    const answers = await store.insert([
      { jobs: [newJob('f')], capacity: null },
      { jobs: [unreadable('g', supersede)], capacity: null },
      { jobs: [newJob('h'), newJob('i')], capacity: null },
    ])
    assert.deepEqual(answers.map(outcomes), [['inserted'], ['failed'], ['inserted', 'inserted']])
    assert.deepEqual(idsOf(await store.list({ type: 'mail' })), ['holder', 'f', 'h', 'i'])
    const [settled] = await store.settle([{ ...lease(running), event: 'COMPLETE', to: 'done' }])
    assert.equal(settled?.to, 'done', 'nobody was cancelled')
  },
  'a settlement that cannot be written fails alone': async ({ store }) => {
    await put(store, newJob('a'), newJob('b', { key: 'k' }), newJob('c'))
    const [a, b, c] = (await take(store, { max: 3 })).map(lease)
    assert.ok(a !== undefined && b !== undefined && c !== undefined)
    const before = await recordOf(store, 'b')
    const traces = { checkin: { at: 1, value: 'lost' }, logs: [{ at: 1, attempt: 1, message: 'lost' }] }
    const wrong = {
      ...b,
      event: 'FAIL',
      to: 'retrying',
      error: boom,
      checkpoint: plainCheckpoint(7),
      ...traces,
    } as const
    const complete = { event: 'COMPLETE', to: 'done', output: 1 } as const
    const answers = await store.settle([{ ...a, ...complete }, wrong, { ...c, ...complete }])
    assert.deepEqual(outcomes(answers), ['settled', 'failed', 'settled'])
    assert.match(answers[1]?.error?.message ?? '', /checkpoint 7/)
    assert.deepEqual(await recordOf(store, 'b'), before)
    assert.deepEqual([await stateOf(store, 'a'), await stateOf(store, 'c')], ['done', 'done'])
    // The store takes the event for what a caller made up.
    const unknown = { ...b, event: 'VANISH' as 'FAIL', to: 'dead', error: boom, ...traces } as const
    assert.deepEqual(outcomes(await store.settle([unknown])), ['failed'])
    assert.deepEqual(await recordOf(store, 'b'), before)
    const [settled] = await store.settle([{ ...b, ...complete }])
    assert.deepEqual([settled?.outcome, (await store.counts()).done], ['settled', 3])
  },
  'a checkpoint that does not follow the last one fails alone': async ({ store }) => {
    const [a, b] = [await putAndTake(store, 'a'), await putAndTake(store, 'b', { type: 'sms' })]
    const answers = await store.checkpoint([
      { ...lease(a), checkpoint: plainCheckpoint(2) },
      { ...lease(b), checkpoint: plainCheckpoint(1) },
      { ...lease(a), checkpoint: plainCheckpoint(1) },
    ])
    assert.deepEqual(outcomes(answers), ['failed', 'kept', 'kept'])
    assert.deepEqual((await store.checkpoints('a')).length, 1)
  },
  'a call after one that failed works with the state that was written': async ({ store }) => {
    const job = await putAndTake(store, 'a', { key: 'k' })
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done', checkpoint: plainCheckpoint(3) }])
    await cancel(store, ['a'])
    await put(store, newJob('b', { key: 'k' }), newJob('c'))
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    assert.deepEqual(idsOf(await take(store)), ['c', 'b'])
    const seqs = (await store.transitions(null, 100)).transitions.map(({ seq }) => seq)
    assert.equal(new Set(seqs).size, seqs.length)
  },
}
