/** Bulk operations. */
import assert from 'node:assert/strict'
import { caps } from '../../core/caps.ts'
import type { BulkAnswer, BulkChange, BulkOperation, StartBulk, Store } from '../../store.ts'
import { boom, idsOf, lease, newJob, put, putAndEnd, putAndTake, recordOf, stateOf, take } from './acts.ts'
import type { Cases } from './subject.ts'

const retry: BulkChange = { kind: 'retry', fromStart: false, dropInbox: 0 }
const leaseMs = 10_000

const request = (id: string, fields: Partial<StartBulk> = {}): StartBulk => ({
  id,
  change: retry,
  filter: { state: 'dead' },
  expected: null,
  batchSize: 2,
  token: 't1',
  leaseMs,
  ...fields,
})

async function putDead(store: Store, ...ids: readonly string[]): Promise<void> {
  await put(store, ...ids.map((id) => newJob(id)))
  await killAll(store)
}

/** Claims all queued jobs and lets them die. @returns their ids */
async function killAll(store: Store): Promise<string[]> {
  const jobs = await take(store, { max: 1_000 })
  await store.settle(jobs.map((job) => ({ ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error: boom })))
  return idsOf(jobs)
}

function operationOf({ operation }: BulkAnswer): BulkOperation {
  assert.ok(operation !== null, 'the operation is there')
  return operation
}

/** Calls `advance` until the operation has ended. */
async function finish(store: Store, id: string, token = 't1'): Promise<BulkAnswer[]> {
  const answers: BulkAnswer[] = []
  for (;;) {
    assert.ok(answers.length < 100, 'the operation ends')
    const answer = await store.bulk.advance({ id, token, leaseMs })
    answers.push(answer)
    if (answer.operation?.state !== 'running') return answers
    assert.equal(answer.outcome, 'advanced')
  }
}

export const bulkCases: Cases = {
  'an operation is done in batches, and keeps its progress with each': async ({ store }) => {
    await putDead(store, 'a', 'b', 'c', 'd', 'e')
    await putAndEnd(store, 'other', 'dead', { type: 'sms' })
    const first = await store.bulk.start(request('bulk', { filter: { type: 'mail', state: 'dead' }, expected: 5 }))
    assert.deepEqual([first.outcome, first.jobs], ['advanced', { retried: ['a', 'b'], refused: [] }])
    assert.deepEqual(
      first.transitions.map(({ id, event, to }) => [id, event, to]),
      ['a', 'b'].map((id) => [id, 'RETRY', 'queued']),
    )
    const { cursor, requestedAt, leaseUntil, ...rest } = operationOf(first)
    assert.deepEqual(rest, {
      id: 'bulk',
      change: retry,
      filter: { type: 'mail', state: 'dead' },
      state: 'running',
      counts: { retried: 2 },
      expected: 5,
      batchSize: 2,
      endedAt: null,
      error: null,
      token: 't1',
    })
    assert.ok(typeof cursor === 'string' && leaseUntil - requestedAt === leaseMs)
    assert.deepEqual(await store.bulk.list(), [operationOf(first)])
    const answers = await finish(store, 'bulk')
    assert.deepEqual(
      answers.map(({ jobs }) => jobs.retried),
      [['c', 'd'], ['e']],
    )
    const [done] = await store.bulk.list()
    assert.deepEqual([done?.state, done?.counts, done?.cursor], ['done', { retried: 5 }, null])
    assert.ok(done?.endedAt !== null && done?.endedAt !== undefined && done.endedAt >= requestedAt)
    assert.equal(await stateOf(store, 'other'), 'dead')
  },
  'an operation on few jobs ends with its start, and one on no jobs too': async ({ store }) => {
    await putDead(store, 'a', 'b')
    const few = await store.bulk.start(request('few'))
    assert.deepEqual([operationOf(few).state, operationOf(few).counts], ['done', { retried: 2 }])
    const none = await store.bulk.start(request('none'))
    assert.deepEqual([none.outcome, operationOf(none).state, operationOf(none).counts], ['advanced', 'done', {}])
    assert.deepEqual(await store.bulk.list('running'), [])
  },
  'an operation that is to be kept only unfinished leaves nothing if its first batch is its last one': async ({
    store,
  }) => {
    await putDead(store, 'a', 'b')
    const short = await store.bulk.start(request('short', { keep: 'unfinished' }))
    const { state, counts, cursor } = operationOf(short)
    assert.deepEqual(
      [short.outcome, short.jobs.retried, state, counts, cursor],
      ['advanced', ['a', 'b'], 'done', { retried: 2 }, null],
    )
    assert.deepEqual(await store.bulk.list(), [])
    assert.equal((await store.bulk.advance({ id: 'short', token: 't1', leaseMs })).outcome, 'notFound')
    await putDead(store, 'c', 'd', 'e')
    const long = await store.bulk.start(request('long', { keep: 'unfinished' }))
    assert.deepEqual(await store.bulk.list(), [operationOf(long)])
    await finish(store, 'long')
    assert.deepEqual(
      (await store.bulk.list()).map((each) => [each.id, each.state]),
      [['long', 'done']],
    )
  },
  'jobs that were enqueued, or that have ended, after the start are not changed': async ({ store }) => {
    await putDead(store, 'a', 'b', 'c', 'd')
    const running = await putAndTake(store, 'later dead')
    await store.bulk.start(request('bulk'))
    await store.settle([{ ...lease(running), event: 'FAIL', to: 'dead', fatal: true, error: boom }])
    // The jobs that it has retried die anew.
    assert.deepEqual(await killAll(store), ['a', 'b'])
    await putDead(store, 'later')
    const answers = await finish(store, 'bulk')
    assert.deepEqual(
      answers.flatMap(({ jobs }) => jobs.retried),
      ['c', 'd'],
    )
    for (const id of ['a', 'b', 'later dead', 'later']) assert.equal(await stateOf(store, id), 'dead')
  },
  'a start that is repeated starts nothing, also when the operation has ended': async ({ store }) => {
    await putDead(store, 'a', 'b', 'c')
    const first = await store.bulk.start(request('bulk'))
    const again = await store.bulk.start(request('bulk', { token: 't2', filter: { state: 'cancelled' } }))
    assert.deepEqual([again.outcome, again.jobs, again.operation], ['known', {}, first.operation])
    await finish(store, 'bulk')
    await putDead(store, 'd')
    const late = await store.bulk.start(request('bulk'))
    assert.deepEqual([late.outcome, operationOf(late).state, await stateOf(store, 'd')], ['known', 'done', 'dead'])
  },
  'while its lease runs an operation is left to its token; then another goes on where it stands': async ({
    store,
    advance,
  }) => {
    await putDead(store, 'a', 'b', 'c', 'd', 'e')
    const first = await store.bulk.start(request('bulk'))
    const left = await store.bulk.advance({ id: 'bulk', token: 't2', leaseMs })
    assert.deepEqual([left.outcome, left.operation, left.transitions], ['leasedElsewhere', first.operation, []])
    await advance(leaseMs)
    const taken = await store.bulk.advance({ id: 'bulk', token: 't2', leaseMs })
    assert.deepEqual([taken.outcome, taken.jobs.retried], ['advanced', ['c', 'd']])
    const { token, leaseUntil } = operationOf(taken)
    assert.ok(token === 't2' && leaseUntil > operationOf(first).leaseUntil)
    assert.equal((await store.bulk.advance({ id: 'bulk', token: 't1', leaseMs })).outcome, 'leasedElsewhere')
    await finish(store, 'bulk', 't2')
    assert.deepEqual((await store.bulk.list())[0]?.counts, { retried: 5 })
  },
  'a rescue finds the operations that run and whose lease has run out, those requested first before others': async ({
    store,
    advance,
  }) => {
    await putDead(store, ...Array.from({ length: 9 }, (_, i) => `job ${i}`))
    await store.bulk.start(request('ended', { batchSize: 1 }))
    await store.bulk.stop({ id: 'ended', error: null })
    await store.bulk.start(request('short', { leaseMs: 1_000 }))
    await advance(500)
    await store.bulk.start(request('free', { leaseMs: 0 }))
    await store.bulk.start(request('long', { leaseMs: 60_000 }))
    assert.deepEqual((await store.rescue(10)).bulk, ['free'])
    await advance(1_000)
    assert.deepEqual((await store.rescue(10)).bulk, ['short', 'free'])
    await finish(store, 'free')
    assert.deepEqual((await store.rescue(10)).bulk, ['short'])
    await finish(store, 'short')
    assert.equal((await store.rescue(10)).bulk, undefined)
  },
  'an operation that was started without a lease is for anyone to go on with': async ({ store }) => {
    await putDead(store, 'a', 'b', 'c')
    await store.bulk.start(request('bulk', { leaseMs: 0 }))
    assert.deepEqual((await store.bulk.advance({ id: 'bulk', token: 't2', leaseMs })).jobs.retried, ['c'])
  },
  'two that advance an operation at once do different batches': async ({ store }) => {
    await putDead(store, 'a', 'b', 'c', 'd', 'e', 'f', 'g')
    await store.bulk.start(request('bulk'))
    const next = { id: 'bulk', token: 't1', leaseMs }
    const answers = await Promise.all([store.bulk.advance(next), store.bulk.advance(next), store.bulk.advance(next)])
    assert.deepEqual(
      answers.flatMap(({ jobs }) => jobs.retried),
      ['c', 'd', 'e', 'f', 'g'],
    )
    assert.deepEqual((await store.bulk.list())[0]?.counts, { retried: 7 })
  },
  'an operation that was stopped changes nothing more; what it has done stays': async ({ store }) => {
    await putDead(store, 'a', 'b', 'c')
    await store.bulk.start(request('bulk'))
    const stopped = await store.bulk.stop({ id: 'bulk', error: null })
    assert.deepEqual([stopped?.state, stopped?.counts, stopped?.error], ['stopped', { retried: 2 }, null])
    const answer = await store.bulk.advance({ id: 'bulk', token: 't1', leaseMs })
    assert.deepEqual([answer.outcome, answer.jobs, answer.operation], ['ended', {}, stopped])
    assert.deepEqual([await stateOf(store, 'b'), await stateOf(store, 'c')], ['queued', 'dead'])
    assert.deepEqual(await store.bulk.stop({ id: 'bulk', error: boom }), stopped)
    assert.equal(await store.bulk.stop({ id: 'nobody', error: null }), null)
    assert.equal((await store.bulk.advance({ id: 'nobody', token: 't1', leaseMs })).outcome, 'notFound')
  },
  'an operation that cannot go on has failed, with the reason': async ({ store }) => {
    await putDead(store, 'a', 'b', 'c')
    await store.bulk.start(request('bulk'))
    const failed = await store.bulk.stop({ id: 'bulk', error: boom })
    assert.deepEqual([failed?.state, failed?.error?.message], ['failed', boom.message])
    assert.deepEqual(await store.bulk.list(), [failed])
  },
  'a cancel by an operation cancels and marks like any other': async ({ store }) => {
    await putAndTake(store, 'running')
    await put(store, newJob('a', { priority: 1 }), newJob('b', { priority: 2 }), newJob('c'))
    const change: BulkChange = { kind: 'cancel', reason: 'enough', graceMs: 5_000 }
    const first = await store.bulk.start(request('bulk', { change, filter: { type: 'mail' }, batchSize: 3 }))
    assert.deepEqual(first.jobs, { cancelled: ['b', 'a'], cancelling: ['running'] })
    const [last] = await finish(store, 'bulk')
    assert.deepEqual([last?.jobs.cancelled, last?.operation?.counts], [['c'], { cancelled: 3, cancelling: 1 }])
    assert.equal((await recordOf(store, 'running')).cancelReason, 'enough')
    assert.deepEqual(await take(store), [])
  },
  'an operation on many jobs continues after its last batch, and leaves alone what is enqueued meanwhile': async ({
    store,
  }) => {
    const ids = Array.from({ length: 600 }, (_, i) => `job ${i}`)
    await put(store, ...ids.map((id) => newJob(id)), newJob('other', { type: 'sms' }))
    const change: BulkChange = { kind: 'cancel', reason: null, graceMs: 0 }
    const size = { batchSize: caps.selection, filter: { type: 'mail' } }
    const all: string[] = []
    const later: string[] = []
    for (let answer = await store.bulk.start(request('bulk', { change, ...size })); ;) {
      const { cancelled = [] } = answer.jobs
      assert.ok(cancelled.length <= caps.selection)
      all.push(...cancelled)
      if (answer.operation?.state !== 'running') break
      const [added] = await put(store, newJob(`later ${later.length}`))
      later.push(added?.id ?? '')
      answer = await store.bulk.advance({ id: 'bulk', token: 't1', leaseMs })
    }
    assert.deepEqual(all, ids)
    assert.deepEqual(idsOf(await store.list({ state: 'queued' })), ['other', ...later])
  },
  'a discard by an operation removes jobs that have ended, and no others': async ({ store }) => {
    await putDead(store, 'a', 'b', 'c')
    await put(store, newJob('queued'))
    await store.bulk.start(request('bulk', { change: { kind: 'discard' }, filter: { type: 'mail' } }))
    await finish(store, 'bulk')
    assert.deepEqual((await store.bulk.list())[0]?.counts, { discarded: 3 })
    assert.deepEqual(await store.get(['a', 'b', 'c']), [null, null, null])
    assert.equal(await stateOf(store, 'queued'), 'queued')
  },
  'a retry whose unique key is taken is counted as refused': async ({ store }) => {
    await putAndEnd(store, 'a', 'dead', { key: 'k' })
    await put(store, newJob('holder', { key: 'k' }))
    const answer = await store.bulk.start(request('bulk'))
    assert.deepEqual([answer.jobs, operationOf(answer).counts], [{ retried: [], refused: ['a'] }, { refused: 1 }])
  },
  'of the operations that have ended, the last ones are kept': async ({ store, advance }) => {
    const named = (i: number): string => `bulk ${String(i).padStart(3, '0')}`
    for (let i = 0; i < caps.bulkEnded + 2; i++) {
      await store.bulk.start(request(named(i)))
      if (i === 1) await advance(1_000)
    }
    const kept = new Set((await store.bulk.list()).map(({ id }) => id))
    assert.equal(kept.size, caps.bulkEnded)
    assert.ok(!kept.has(named(0)) && !kept.has(named(1)) && kept.has(named(2)))
  },
  'more operations than the cap do not run at once': async ({ store }) => {
    await putDead(store, ...Array.from({ length: caps.bulkRunning + 2 }, (_, i) => `job ${i}`))
    for (let i = 0; i < caps.bulkRunning; i++) await store.bulk.start(request(`bulk ${i}`, { batchSize: 1 }))
    const full = await store.bulk.start(request('one more'))
    assert.deepEqual([full.outcome, full.operation, full.jobs], ['full', null, {}])
    const long = await store.bulk.start(request('long', { keep: 'unfinished', batchSize: 1 }))
    assert.deepEqual([long.outcome, long.operation, long.jobs], ['full', null, {}])
    const short = await store.bulk.start(request('short', { keep: 'unfinished' }))
    assert.deepEqual([short.outcome, operationOf(short).state], ['advanced', 'done'])
    await store.bulk.stop({ id: 'bulk 0', error: null })
    assert.equal((await store.bulk.start(request('one more'))).outcome, 'advanced')
    assert.equal((await store.bulk.list('running')).length, caps.bulkRunning - 1)
  },
}
