/** The transition log. */
import assert from 'node:assert/strict'
import { JobchartError } from '../../core/errors.ts'
import { cancel, lease, newJob, put, putAndTake, recordOf } from './acts.ts'
import { obeysTheChart, withoutCursor } from './side-by-side.ts'
import type { Cases } from './subject.ts'

export const logCases: Cases = {
  'every transition is in the log once, in order, as the history has it': async ({ store, advance }) => {
    const job = await putAndTake(store, 'a')
    await advance(1_000)
    await store.settle([{ ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 1_000 }])
    await advance(1_000)
    await store.promote(10)
    await cancel(store, ['a'], 'enough')
    await store.retry(['a'])
    const { transitions, lost } = await store.transitions(null, 100)
    assert.equal(lost, false)
    assert.deepEqual(
      transitions.map(({ event }) => event),
      ['ENQUEUE', 'CLAIM', 'FAIL', 'DUE', 'CANCEL', 'RETRY'],
    )
    obeysTheChart(transitions)
    const { history } = await recordOf(store, 'a')
    assert.deepEqual(
      transitions.map(withoutCursor),
      history.map((entry) => Object.assign({ id: 'a', type: 'mail' }, entry)),
    )
    assert.deepEqual(
      transitions.map(({ worker, reason, attempt }) => [worker, reason, attempt]),
      [
        [undefined, undefined, 0],
        ['w1', undefined, 1],
        ['w1', undefined, 1],
        [undefined, undefined, 1],
        [undefined, 'enough', 1],
        [undefined, undefined, 0],
      ],
    )
  },
  'the log is read in pages, and on from where a reader stopped': async ({ store }) => {
    await put(store, ...Array.from({ length: 5 }, (_, i) => newJob(`job ${i}`)))
    const first = await store.transitions(null, 3)
    assert.deepEqual([first.transitions.length, first.next], [3, first.transitions.at(-1)?.cursor])
    const second = await store.transitions(first.next, 100)
    assert.equal(second.transitions.length, 2)
    assert.deepEqual((await store.transitions(first.transitions[1]?.cursor ?? null, 1)).transitions, [
      first.transitions[2],
    ])
    const third = await store.transitions(second.next, 100)
    assert.deepEqual([third.transitions, third.next, third.lost], [[], second.next, false])
    await put(store, newJob('late'))
    const [late] = (await store.transitions(third.next, 100)).transitions
    assert.equal(late?.id, 'late')
  },
  'a reader that is ahead of the log, because an older state was restored, is told so, and reads from the start':
    async ({ store }) => {
      await put(store, newJob('a'), newJob('b'))
      const kept = await store.transitions(null, 10)
      assert.deepEqual(await store.transitions('1000', 10), { ...kept, lost: true })
      assert.deepEqual((await store.transitions('1000', 1)).next, kept.transitions[0]?.cursor)
    },
  'a log without entries has no cursor, and a cursor from nowhere is refused': async ({ store }) => {
    assert.deepEqual(await store.transitions(null, 10), { transitions: [], next: null, lost: false })
    const refused = (error: unknown) => error instanceof JobchartError && error.code === 'INVALID_OPTION'
    await assert.rejects(store.transitions('no cursor', 10), refused)
  },
  'counts answer the cursor that they go with: the entries after it are those that the counts lack': async ({
    store,
  }) => {
    const none = await store.counts()
    const names = Array.from({ length: 6 }, (_, i) => `job ${i}`)
    const writes = names.flatMap((name) => [put(store, newJob(name)), null])
    const counted = await Promise.all(writes.map((write) => write ?? store.counts()))
    const all = [none, ...counted.filter((answer) => 'types' in answer), await store.counts()]
    for (const { queued, cursor } of all) {
      const { transitions, lost } = await store.transitions(cursor, 100)
      assert.deepEqual([queued + transitions.length, lost], [names.length, false])
    }
    assert.deepEqual([none.queued, all.at(-1)?.queued], [0, names.length])
    assert.equal(Object.keys(none).includes('cursor'), false)
  },
  'a list answers a cursor that it goes with: what it lacks is after it': async ({ store }) => {
    const none = await store.list({})
    await put(store, newJob('a'), newJob('b'))
    const first = await store.list({ limit: 1 })
    await cancel(store, ['a'])
    const second = await store.list({ limit: 1, after: first.next ?? '' })
    const after = async ({ cursor }: { readonly cursor: string }) =>
      (await store.transitions(cursor, 100)).transitions.map(({ id, event }) => `${event} ${id}`)
    assert.deepEqual(await after(none), ['ENQUEUE a', 'ENQUEUE b', 'CANCEL a'])
    assert.deepEqual([await after(first), await after(second)], [['CANCEL a'], []])
    assert.equal(Object.keys(none).includes('cursor'), false)
  },
  'a discarded job stays in the log': async ({ store }) => {
    await put(store, newJob('a'))
    await cancel(store, ['a'])
    await store.discard(['a'])
    const { transitions } = await store.transitions(null, 100)
    assert.deepEqual(
      transitions.map(({ id, to }) => [id, to]),
      [
        ['a', 'queued'],
        ['a', 'cancelled'],
      ],
    )
  },
}
