/** Activity over time: every transition is counted once, by the write that makes it. */
import assert from 'node:assert/strict'
import type { Transition } from '../../core/record.ts'
import type { ActivityBucket, ActivityFigure, Store } from '../../store.ts'
import { countsItsLog } from '../activity-of-log.ts'
import { boom, cancel, lease, newJob, put, putAndEnd, putAndTake, take, takeOne } from './acts.ts'
import { withoutCursor } from './side-by-side.ts'
import type { Cases } from './subject.ts'

const minute = 60_000
const hour = 60 * minute

async function logOf(store: Store): Promise<Transition[]> {
  const { transitions, lost } = await store.transitions(null, 1_000)
  assert.equal(lost, false)
  return transitions.map(withoutCursor)
}

/** The sums of figures over all minutes, without those that are 0. */
async function sums(store: Store, type = 'mail'): Promise<Partial<Record<ActivityFigure, number>>> {
  const [activity] = await store.activity({ period: 'minute', from: 0, queues: [type] })
  const total: Partial<Record<ActivityFigure, number>> = {}
  for (const { at: _, ...figures } of activity?.buckets ?? []) {
    for (const [name, figure] of Object.entries(figures) as [ActivityFigure, number][]) {
      if (figure !== 0) total[name] = (total[name] ?? 0) + figure
    }
  }
  return total
}

const startsOf = (buckets: readonly ActivityBucket[] | undefined): number[] => buckets?.map(({ at }) => at) ?? []

export const activityCases: Cases = {
  'every transition is counted in the minute and the hour of its time': async ({ store, advance }) => {
    await put(store, newJob('a'), newJob('b'), newJob('c', { delayMs: 5_000 }), newJob('d', { type: 'sms' }))
    await advance(1_000)
    const [a, b] = await take(store, { max: 2, leaseMs: 90_000, onDead: 'mail:dead' })
    assert.ok(a !== undefined && b !== undefined)
    await advance(2_000)
    await store.settle([{ ...lease(a), event: 'FAIL', to: 'retrying', delayMs: 1_000, error: boom }])
    await advance(minute)
    await store.promote(10)
    await cancel(store, ['b', 'd'])
    await store.settle([{ ...lease(b), event: 'COMPLETE', to: 'done' }])
    const again = await takeOne(store, { max: 1, maxAttempts: 2, onDead: 'mail:dead', leaseMs: 1_000 })
    await advance(hour)
    await store.rescue(10)
    await store.retry(['b', again.id])
    await putAndEnd(store, 'e', 'done', { type: 'sms' })
    const log = await logOf(store)
    assert.ok(log.some(({ type, event }) => type === 'mail:dead' && event === 'ENQUEUE'))
    await countsItsLog(store, log)
  },
  'an attempt counts its wait and its run': async ({ store, advance }) => {
    await put(store, newJob('a'))
    await advance(1_000)
    const first = await takeOne(store)
    await advance(3_000)
    await store.settle([{ ...lease(first), event: 'FAIL', to: 'retrying', delayMs: 5_000, error: boom }])
    await advance(10_000)
    await store.promote(10)
    await advance(500)
    const second = await takeOne(store)
    await advance(200)
    await store.settle([{ ...lease(second), event: 'COMPLETE', to: 'done' }])
    const { queuedMs = 0, runMs = 0, ...counts } = await sums(store)
    assert.deepEqual(counts, { enqueued: 1, started: 2, done: 1, failed: 1 })
    assert.ok(queuedMs >= 1_500 && queuedMs < 5_000, `queued for ${queuedMs} ms`)
    assert.ok(runMs >= 3_200 && runMs < 10_000, `ran ${runMs} ms`)
  },
  'what is not written is not counted': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await put(store, newJob('a'))
    await store.insert([{ jobs: [newJob('b')], capacity: 0 }])
    const end = { ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error: boom } as const
    await store.settle([{ ...end, token: 'of another' }])
    await store.settle([end])
    await store.settle([end])
    await store.cancel([{ ids: ['a'], reason: null, graceMs: 0 }])
    const { queuedMs: _, runMs: __, ...counts } = await sums(store)
    assert.deepEqual(counts, { enqueued: 1, started: 1, failed: 1, dead: 1 })
    const [group, ...others] = await store.failures({})
    assert.deepEqual([group?.count, group?.dead, others], [1, 1, []])
  },
  'an attempt that ends after its job was cancelled has not failed': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    await cancel(store, ['a'])
    await store.settle([{ ...lease(job), event: 'FAIL', to: 'cancelled', error: boom }])
    const { queuedMs: _, ...counts } = await sums(store)
    assert.deepEqual(counts, { enqueued: 1, started: 1, cancelled: 1 })
    assert.deepEqual(await store.failures({}), [])
  },
  'activity is of each queue, of some queues, or of all together': async ({ store }) => {
    const asked = { period: 'hour', from: 0 } as const
    assert.deepEqual(await store.activity({ ...asked, queues: 'each' }), [])
    assert.deepEqual(await store.activity({ ...asked, queues: 'total' }), [{ type: null, buckets: [] }])
    await put(store, newJob('a'), newJob('b', { type: 'sms:x' }), newJob('c', { type: 'sms:x' }))
    await store.queue('fax', { paused: true })
    const enqueued = async (queues: Parameters<Store['activity']>[0]['queues']) => {
      const activity = await store.activity({ ...asked, queues })
      const figures = activity.map(({ type, buckets }) => [type, buckets.reduce((sum, each) => sum + each.enqueued, 0)])
      return figures.toSorted((x, y) => (String(x) < String(y) ? -1 : 1))
    }
    assert.deepEqual(await enqueued('each'), [
      ['fax', 0],
      ['mail', 1],
      ['sms:x', 2],
    ])
    assert.deepEqual(await enqueued(['sms:x', 'never seen']), [
      ['never seen', 0],
      ['sms:x', 2],
    ])
    assert.deepEqual(await enqueued('total'), [[null, 3]])
  },
  'the minutes of two hours are kept, and the hours of seven days': async ({ store, advance }) => {
    const starts = async (period: 'minute' | 'hour', from = 0): Promise<number[]> => {
      const [activity] = await store.activity({ period, from, queues: ['mail'] })
      return startsOf(activity?.buckets)
    }
    const began = store.now()
    await put(store, newJob('a'))
    const [first = 0] = await starts('minute')
    assert.ok(first % minute === 0 && first <= store.now() && first > began - minute)
    await advance(hour)
    await put(store, newJob('b'))
    assert.equal((await starts('minute')).length, 2)
    assert.equal((await starts('minute', began + minute)).length, 1)
    assert.deepEqual((await starts('minute', first + minute - 1))[0], first)
    await advance(hour)
    await put(store, newJob('c'))
    assert.equal((await starts('minute')).length, 2)
    await advance(7 * 24 * hour - 3 * hour)
    assert.deepEqual([(await starts('minute')).length, (await starts('hour')).length], [0, 3])
    await put(store, newJob('d'))
    await advance(2 * hour)
    await put(store, newJob('e'))
    const hours = await starts('hour')
    assert.ok(hours.every((at) => at % hour === 0 && at > store.now() - 7 * 24 * hour))
    assert.equal(hours.length, 3)
  },
}
