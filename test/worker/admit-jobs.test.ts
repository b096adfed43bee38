/** Claimed jobs become runs: counted, found by cancels, and refused if they were cancelled meanwhile. */
import { concatMap, map } from 'rxjs'
import { expect, test, vi } from 'vitest'
import { JobCancelledError } from '../../src/core/errors.ts'
import type { ClaimAnswer } from '../../src/store.ts'
import { admitJobs } from '../../src/worker/admit-jobs.ts'
import { Runs } from '../../src/worker/runs.ts'
import { claimedJob, marbles, workerParts } from '../support/marbles.ts'

function admitting(listened: readonly string[] = []) {
  const parts = workerParts({ slots: 3 })
  const runs = new Runs()
  const rateWaits = { wakeAt: vi.fn() }
  const emit = vi.fn()
  const hub = { hasListeners: listened.length > 0, hasListener: (id: string) => listened.includes(id), emit }
  const jobs = new Map(parts.jobs.map((job) => [job.type, job]))
  parts.selector.wake('mail', 3)
  const picks = parts.selector.pick(3)
  if (picks === null) throw new Error('nothing to pick')
  const claim = parts.claims.begin(picks)
  const stage = admitJobs({ ...parts, jobs, runs, rateWaits, hub, worker: 'w' })
  const admit = (answer: ClaimAnswer, expected: string): void =>
    marbles(({ hot, expectObservable }) => {
      const lease = { confirmedAt: 0, fenceAt: 100 }
      const admitted = hot('-a', { a: [{ claim, answer, lease }] }).pipe(
        stage,
        concatMap((made) => made),
        map(({ claimed }) => claimed.id),
      )
      expectObservable(admitted).toBe(expected)
    })
  return { ...parts, runs, rateWaits, emit, claim, admit }
}

test('runs are in hand before any of them starts; permits that were not used are free again', () => {
  const { admit, runs, permits, workload, claims } = admitting()
  admit({ jobs: [claimedJob('a'), claimedJob('b')], shortfalls: [{ type: 'mail', reason: 'empty' }] }, '-(ab)')
  expect([runs.size, permits.taken, workload.busy]).toEqual([2, 2, true])
  claims.begun()
  expect(claims.size).toBe(1)
  claims.begun()
  expect(claims.size).toBe(0)
  workload.done(2)
  expect(workload.busy).toBe(false)
})

test('a claim that found no job has ended', async () => {
  const { admit, claims, permits, workload, changed } = admitting()
  const ended = claims.whenEnded()
  admit({ jobs: [], shortfalls: [{ type: 'mail', reason: 'empty' }] }, '')
  await ended
  expect([claims.size, permits.taken, workload.busy, changed.mock.calls.length]).toEqual([0, 0, false, 1])
})

test('a job that was cancelled, or whose type was paused, while it was claimed must not start', () => {
  const { admit, claims, runs } = admitting()
  claims.refuseTypes(['mail'], new JobCancelledError('all'))
  claims.refuseJob('a', new JobCancelledError('a'))
  admit({ jobs: [claimedJob('a'), claimedJob('b')], shortfalls: [] }, '-(ab)')
  // A cancel finds the runs themselves from now on.
  claims.refuseJob('b', new JobCancelledError('b'))
  expect(runs.all().map(({ abortReason }) => abortReason?.message)).toEqual(
    ['a', 'all'].map((id) => new JobCancelledError(id).message),
  )
})

test('a type at its rate limit is woken when its window has passed', () => {
  const { admit, rateWaits } = admitting()
  admit({ jobs: [], shortfalls: [{ type: 'mail', reason: 'limited', until: 70 }] }, '')
  expect(rateWaits.wakeAt.mock.calls).toEqual([['mail', 70]])
})

test('claims are events for those who listen, and jobs that cannot be read an error', () => {
  const { admit, emit, logger } = admitting(['b'])
  admit({ jobs: [claimedJob('a'), claimedJob('b')], shortfalls: [], unreadable: ['c'] }, '-(ab)')
  expect(emit.mock.calls).toEqual([[expect.objectContaining({ event: 'CLAIM', id: 'b', worker: 'w' })]])
  expect(logger.error).toHaveBeenCalledWith(expect.any(String), expect.objectContaining({ ids: ['c'] }))
})
