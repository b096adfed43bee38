/** Settles: ends of one turn are one write, which is repeated until the store answers or the leases have expired. */
import { map, Subject } from 'rxjs'
import { expect, test, vi } from 'vitest'
import { JobchartError } from '../../src/core/errors.ts'
import type { Settlement } from '../../src/core/settlement.ts'
import type { AttemptEnd, AttemptSpan } from '../../src/core/telemetry.ts'
import type { SettleAnswer } from '../../src/store.ts'
import type { Run } from '../../src/worker/attempt.ts'
import { settleRuns } from '../../src/worker/settle-runs.ts'
import { marbles, settled, workerParts } from '../support/marbles.ts'

const unavailable = new JobchartError('STORE_UNAVAILABLE', 'gone')
const lost: SettleAnswer = { ...settled, outcome: 'lost' }
const refused: SettleAnswer = { ...settled, outcome: 'failed', error: { name: 'Error', message: 'too large' } as never }

function settling(answers: readonly (readonly SettleAnswer[] | Error)[]) {
  const parts = workerParts()
  let calls = 0
  let nowMs = 0
  const settle = vi.fn((settlements: readonly Settlement[]) => {
    const answer = answers[calls++] ?? settlements.map(() => settled)
    if (answer instanceof Error) throw answer
    return [...answer]
  })
  const store = { settle, get: () => Promise.resolve([]), now: () => 0, name: 'fake' }
  const health = { answered: vi.fn(), failed: vi.fn() }
  const time = { read: () => nowMs }
  const stage = settleRuns({ ...parts, store, health, time, random: () => 0.5 })
  const ended = (...ids: string[]): Run[] => {
    parts.workload.add(ids.length)
    return ids.map((id) => {
      const run = parts.runOf(id)
      run.start(() => {})
      return run
    })
  }
  return { ...parts, settle, health, stage, ended, elapse: (ms: number) => (nowMs = ms) }
}

test('the ends of one turn are written together, and nothing is in hand when they are', () => {
  const { stage, ended, settle, workload } = settling([])
  const [first, second] = [ended('a', 'b'), ended('c')]
  marbles(({ hot, expectObservable }) => {
    const written = hot('-f-s', { f: first, s: second }).pipe(
      stage,
      map(({ runs, answers }) => [runs.length, answers.length]),
    )
    expectObservable(written).toBe('-f-s', { f: [2, 2], s: [1, 1] })
  })
  expect(settle.mock.calls.map(([settlements]) => settlements.map(({ id, event }) => `${id} ${event}`))).toEqual([
    ['a COMPLETE', 'b COMPLETE'],
    ['c COMPLETE'],
  ])
  expect(workload.busy).toBe(false)
})

test('a write is repeated while the store is away, and the runs stay in hand', async () => {
  const { stage, ended, settle, workload, clock, logger, health } = settling([unavailable, unavailable])
  const runs = new Subject<readonly Run[]>()
  const written = vi.fn()
  runs.pipe(stage).subscribe(written)
  runs.next(ended('a'))
  await clock.advance(25)
  expect([settle.mock.calls.length, workload.busy, written.mock.calls.length]).toEqual([2, true, 0])
  await clock.advance(50)
  expect([settle.mock.calls.length, workload.busy, written.mock.calls.length]).toEqual([3, false, 1])
  expect(logger.warn.mock.calls.map(([message]) => String(message))).toEqual([
    expect.stringContaining('the store is unavailable'),
    'calls to the store succeed again',
  ])
  expect(health.failed).toHaveBeenCalledTimes(2)
})

test('while the store is away one warning tells of all ends, and one write repeats them', async () => {
  const { stage, ended, settle, workload, clock, logger } = settling([
    unavailable,
    unavailable,
    unavailable,
    unavailable,
  ])
  const runs = new Subject<readonly Run[]>()
  runs.pipe(stage).subscribe()
  for (const id of ['a', 'b', 'c']) runs.next(ended(id))
  await clock.advance('1s')
  expect(settle.mock.calls.map(([settlements]) => settlements.map(({ id }) => id).join(''))).toEqual([
    'a',
    'b',
    'c',
    'abc',
    'abc',
  ])
  // One tells that it is over.
  expect([workload.busy, logger.warn.mock.calls.length]).toEqual([false, 2])
})

test('an end that the store takes again brings those that wait with it', async () => {
  const { stage, ended, settle, workload } = settling([unavailable])
  const runs = new Subject<readonly Run[]>()
  runs.pipe(stage).subscribe()
  runs.next(ended('a'))
  runs.next(ended('b'))
  await Promise.resolve()
  expect(settle.mock.calls.map(([settlements]) => settlements.map(({ id }) => id).join(''))).toEqual(['a', 'b', 'a'])
  expect(workload.busy).toBe(false)
})

test('of ends that are repeated together those with expired leases are given up', async () => {
  const { stage, ended, settle, workload, clock, logger, elapse } = settling([unavailable, unavailable, unavailable])
  const runs = new Subject<readonly Run[]>()
  runs.pipe(stage).subscribe()
  const [a, b] = [ended('a'), ended('b')]
  for (const run of b) run.lease = { ...run.lease, fenceAt: Infinity }
  runs.next(a)
  runs.next(b)
  elapse(100)
  await clock.advance('1s')
  expect(settle.mock.calls.map(([settlements]) => settlements.map(({ id }) => id).join(''))).toEqual([
    'a',
    'b',
    'ab',
    'b',
  ])
  expect([workload.busy, logger.error.mock.calls.length]).toEqual([false, 1])
})

test('a write is given up when the leases have expired', async () => {
  const { stage, ended, settle, workload, clock, logger, elapse } = settling([unavailable, unavailable, unavailable])
  const runs = new Subject<readonly Run[]>()
  runs.pipe(stage).subscribe()
  runs.next(ended('a'))
  elapse(100)
  await clock.advance('1m')
  expect([settle.mock.calls.length, workload.busy, logger.error.mock.calls.length]).toEqual([2, false, 1])
})

test('an end that the store refuses makes the job dead; a lost one is logged', () => {
  const { stage, ended, settle, workload, logger } = settling([[refused, lost]])
  const runs = ended('a', 'b')
  marbles(({ hot, expectObservable }) => {
    const written = hot('-r', { r: runs }).pipe(
      stage,
      map(({ answers }) => answers.map(({ outcome }) => outcome).join()),
    )
    expectObservable(written).toBe('-(fs)', { f: 'failed,lost', s: 'settled' })
  })
  expect(settle.mock.calls[1]?.[0]).toEqual([expect.objectContaining({ id: 'a', event: 'FAIL' })])
  expect([workload.busy, logger.error.mock.calls.length, logger.warn.mock.calls.length]).toEqual([false, 1, 1])
})

test('a run whose lease was lost and that failed has nothing to write', async () => {
  const { stage, runOf, settle, workload } = settling([])
  workload.add(1)
  const run = runOf('a')
  run.ending = 'threw'
  run.abortReason = new JobchartError('LEASE_LOST', 'lost')
  marbles(({ hot, expectObservable }) => expectObservable(hot('-r', { r: [run] }).pipe(stage)).toBe(''))
  await Promise.resolve()
  expect([settle.mock.calls.length, workload.busy]).toEqual([0, false])
})

test('the span of an attempt ends with what was written, also if nothing is written any more', async () => {
  const cancelled: SettleAnswer = { ...settled, to: 'cancelled' }
  const { stage, ended, clock, elapse } = settling([
    [cancelled, lost, refused],
    [settled],
    unavailable,
    unavailable,
    unavailable,
  ])
  const runs = new Subject<readonly Run[]>()
  const subscription = runs.pipe(stage).subscribe()
  const ends: unknown[] = []
  const traced = (...ids: string[]): Run[] => {
    const made = ended(...ids)
    for (const run of made)
      run.span = { end: (end: AttemptEnd) => ends.push([run.claimed.id, end]) } as unknown as AttemptSpan
    return made
  }
  runs.next(traced('a', 'b', 'c'))
  await clock.advance(0)
  const written = (to: string): unknown => expect.objectContaining({ to })
  expect(ends.splice(0)).toEqual([
    ['a', written('cancelled')],
    ['b', 'lost'],
    ['c', written(settled.to)],
  ])
  runs.next(traced('d'))
  expect(ends).toEqual([])
  elapse(101)
  await clock.advance(25)
  expect(ends.splice(0)).toEqual([['d', 'lost']])
  elapse(0)
  runs.next(traced('e'))
  expect(ends).toEqual([])
  subscription.unsubscribe()
  expect(ends).toEqual([['e', 'lost']])
})
