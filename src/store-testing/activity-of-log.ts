/**
 * The activity of queues as the transition log tells it: counted anew, entry by entry, without the code that stores
 * count with.
 */
import assert from 'node:assert/strict'
import type { Transition } from '../core/record.ts'
import type { ActivityBucket, ActivityPeriod, Store } from '../store.ts'

const periodMs = { minute: 60_000, hour: 3_600_000 }
/** How many periods are kept. */
const kept = { minute: 120, hour: 168 }

type Figures = { -readonly [Figure in keyof ActivityBucket]: number }

const zeros = { enqueued: 0, started: 0, done: 0, failed: 0, dead: 0, cancelled: 0, queuedMs: 0, runMs: 0 }

/**
 * Is the activity that a store answers what its log tells, of each queue and of all together?
 * @param log all transitions that the store has written
 */
export async function countsItsLog(store: Store, log: readonly Transition[]): Promise<void> {
  const types = [...new Set(log.map(({ type }) => type))]
  for (const period of ['minute', 'hour'] as const) {
    const all = { period, from: 0 } as const
    const told = await store.activity({ ...all, queues: types })
    const now = store.now()
    for (const type of types) {
      const buckets = told.find((each) => each.type === type)?.buckets
      assert.deepEqual(buckets, activityOfLog(log, { type, period, now }), `activity of ${type} by ${period}`)
    }
    const [total, ...others] = await store.activity({ ...all, queues: 'total' })
    assert.deepEqual(total?.buckets, activityOfLog(log, { type: null, period, now }), `activity by ${period}`)
    assert.deepEqual([total?.type, others], [null, []])
  }
}

/**
 * The buckets that a store must answer, oldest first.
 * @param log all transitions that the store has written
 * @param type null: of all queues together
 */
function activityOfLog(
  log: readonly Transition[],
  { type, period, now }: { readonly type: string | null; readonly period: ActivityPeriod; readonly now: number },
): ActivityBucket[] {
  const startOf = (at: number): number => Math.floor(at / periodMs[period]) * periodMs[period]
  const buckets = new Map<number, Figures>()
  for (const [i, transition] of log.entries()) {
    if (type !== null && transition.type !== type) continue
    const at = startOf(transition.at)
    const before = log.slice(0, i).filter(({ id, event }) => id === transition.id && event !== 'CHECKPOINT')
    const figures = buckets.get(at) ?? { at, ...zeros }
    if (count(figures, transition, before)) buckets.set(at, figures)
  }
  const oldest = startOf(now) - (kept[period] - 1) * periodMs[period]
  return [...buckets.values()].filter(({ at }) => at >= oldest).toSorted((a, b) => a.at - b.at)
}

/** Adds a transition. @returns whether it counts as anything */
function count(figures: Figures, { event, to, at }: Transition, before: readonly Transition[]): boolean {
  const sinceClaim = at - (before.findLast((each) => each.event === 'CLAIM')?.at ?? at)
  const hasFailed = (event === 'FAIL' || event === 'EXPIRE') && to !== 'cancelled'
  if (event === 'ENQUEUE') figures.enqueued++
  else if (event === 'CLAIM') {
    figures.started++
    figures.queuedMs += at - (before.at(-1)?.at ?? at)
  } else if (event === 'COMPLETE' && to === 'done') figures.done++
  else if (hasFailed) figures.failed++
  else if (to === 'cancelled') figures.cancelled++
  else return false
  if (to === 'dead') figures.dead++
  if (to === 'done' || hasFailed) figures.runMs += sinceClaim
  return true
}
