/** Selection: by weight, within slots, never more claims in flight than are allowed. */
import { defineJob } from 'jobchart'
import { map, tap } from 'rxjs'
import { expect, test } from 'vitest'
import { JobchartError } from '../../src/core/errors.ts'
import type { Claim } from '../../src/worker/claims.ts'
import { selectPicks, wakeQueues } from '../../src/worker/select-picks.ts'
import { marbles, workerParts } from '../support/marbles.ts'

const typed = (type: string, weight = 1) => defineJob({ type, weight, run: () => {} })
const demand = map(({ picks }: Claim) => picks.demand.map(({ type, max }) => `${type} ${max}`).join())
const mayPick = { halted: () => null }

test('picks share the free slots by weight, and hold their permits before anything is claimed', () => {
  const parts = workerParts({ slots: 8, jobs: [typed('mail'), typed('call', 3)] })
  for (const type of ['mail', 'call']) parts.selector.wake(type)
  marbles(({ hot, expectObservable }) => {
    const claims = hot<void>('-f').pipe(
      selectPicks({ ...parts, ...mayPick }),
      tap(() => expect(parts.permits.free).toBe(0)),
      demand,
    )
    expectObservable(claims).toBe('-c', { c: 'mail 2,call 6' })
  })
})

test('no more is picked than jobs may be there, and one claim at a time', () => {
  const parts = workerParts()
  marbles(({ hot, expectObservable }) => {
    const wakes = hot('w', { w: [{ type: 'mail', atMost: 3 }] }).pipe(wakeQueues(parts))
    expectObservable(wakes).toBe('')
    const claims = hot<void>('-f-f').pipe(selectPicks({ ...parts, ...mayPick }), demand)
    expectObservable(claims).toBe('-c', { c: 'mail 3' })
  })
  expect(parts.permits.taken).toBe(3)
})

test('with a server and many slots two claims take half of them each', () => {
  const parts = workerParts({ slots: 100, isDivided: true })
  parts.selector.wake('mail')
  marbles(({ hot, expectObservable }) => {
    const claims = hot<void>('-fff').pipe(selectPicks({ ...parts, ...mayPick }), demand)
    expectObservable(claims).toBe('-cc', { c: 'mail 50' })
  })
  expect(parts.permits.free).toBe(0)
})

test('with a server and fewer slots a claim takes all of them', () => {
  const parts = workerParts({ slots: 99, isDivided: true })
  parts.selector.wake('mail')
  marbles(({ hot, expectObservable }) => {
    const claims = hot<void>('-ff').pipe(selectPicks({ ...parts, ...mayPick }), demand)
    expectObservable(claims).toBe('-c', { c: 'mail 99' })
  })
})

test.each([
  ['no slot is free', { slots: 0 }, mayPick, true],
  ['no queue may have work', {}, mayPick, false],
  ['the runtime is halted', {}, { halted: () => new JobchartError('STOPPED', 'paused') }, true],
])('nothing is picked while %s', (_why, options, halts, isWoken) => {
  const parts = workerParts(options)
  if (isWoken) parts.selector.wake('mail')
  marbles(({ hot, expectObservable }) => {
    expectObservable(hot<void>('-f').pipe(selectPicks({ ...parts, ...halts }))).toBe('')
  })
  expect(parts.permits.taken).toBe(0)
})

test('jobs that are being inserted are picked at once, unless the last claim of their queue found none', () => {
  const parts = workerParts()
  const expected = { w: [{ type: 'mail', atMost: 1, isExpected: true }] }
  const wakes = (): void =>
    marbles(({ hot, expectObservable }) => expectObservable(hot('w', expected).pipe(wakeQueues(parts))).toBe(''))
  wakes()
  const picks = parts.selector.pick(1)
  expect(picks?.jobs).toBe(1)
  if (picks !== null) parts.selector.applyClaim(picks, { jobs: [], shortfalls: [{ type: 'mail', reason: 'empty' }] })
  wakes()
  expect(parts.selector.idle).toBe(true)
})
