/** Cancels: one write for those that wait, higher priority first; nothing starts until it is answered. */
import { BehaviorSubject, map, Subject } from 'rxjs'
import { expect, test, vi } from 'vitest'
import { JobchartError } from '../../src/core/errors.ts'
import type { BulkAnswer, CancelAnswer, CancelRequest } from '../../src/store.ts'
import { cancelJobs } from '../../src/worker/cancel-jobs.ts'
import type { CancelBatch, CancelByIds, CancelCommand } from '../../src/worker/commands.ts'
import { Runs } from '../../src/worker/runs.ts'
import { claimedJob, marbles, workerParts } from '../support/marbles.ts'

const cancelled = (request: CancelRequest): CancelAnswer => ({
  cancelled: [],
  cancelling: request.ids,
  notFound: [],
  finished: [],
  transitions: request.ids.map((id) => ({
    id,
    type: 'mail',
    event: 'CANCEL',
    from: 'running',
    to: 'cancelling',
    seq: 1,
    at: 0,
    attempt: 1,
  })),
})

function cancelling(answer: (requests: readonly CancelRequest[]) => CancelAnswer[] | Promise<CancelAnswer[]>) {
  const parts = workerParts()
  const runs = new Runs()
  const store = { cancel: vi.fn(answer), name: 'fake' }
  const inFlight = new BehaviorSubject(false)
  const stage = cancelJobs({ ...parts, store, runs, cancelling: inFlight, graceMs: 5_000 })
  const [resolve, reject] = [vi.fn(), vi.fn()]
  const command = (id: string, priority = 0): CancelByIds => ({
    request: { ids: [id], reason: 'enough', graceMs: 1_000 },
    priority,
    resolve,
    reject,
  })
  return { ...parts, runs, store, inFlight, stage, command, resolve, reject }
}

test('those that wait are one write, by priority; runs are aborted before the cancel resolves', () => {
  const { stage, command, runs, runOf, store, resolve, inFlight, changed } = cancelling((all) => all.map(cancelled))
  const run = runOf('a')
  runs.add(run)
  const aborted: unknown[] = []
  resolve.mockImplementation(() => aborted.push(run.abortReason?.code))
  const states: boolean[] = []
  inFlight.subscribe((state) => states.push(state))
  marbles(({ hot, expectObservable }) => {
    const events = hot('-c', { c: [command('a'), command('b', 2), command('c', 1)] }).pipe(
      stage,
      map(({ id }) => id),
    )
    expectObservable(events).toBe('-(bca)')
  })
  expect(store.cancel.mock.calls.map(([requests]) => requests.flatMap(({ ids }) => ids))).toEqual([['b', 'c', 'a']])
  expect(states).toEqual([false, true, false])
  expect(aborted).toEqual([undefined, undefined, 'CANCELLED'])
  expect([resolve.mock.calls.length, changed.mock.calls.length]).toEqual([3, 1])
})

test('a cancelled job that a claim in flight may bring is refused', () => {
  const { stage, command, selector, claims } = cancelling((all) => all.map(cancelled))
  selector.wake('mail', 1)
  const picks = selector.pick(1)
  if (picks === null) throw new Error('nothing to pick')
  const claim = claims.begin(picks)
  marbles(
    ({ hot }) =>
      void hot('-c', { c: [command('a')] })
        .pipe(stage)
        .subscribe(),
  )
  expect(claim.refusal(claimedJob('a'))?.code).toBe('CANCELLED')
  expect(claim.refusal(claimedJob('b'))).toBeNull()
})

/** Cancels of a store that answers when the test says so. */
function answeredLater() {
  const calls: PromiseWithResolvers<CancelAnswer[]>[] = []
  const parts = cancelling(() => {
    const call = Promise.withResolvers<CancelAnswer[]>()
    calls.push(call)
    return call.promise
  })
  const commands = new Subject<readonly CancelCommand[]>()
  commands.pipe(parts.stage).subscribe()
  return { ...parts, calls, commands }
}

test('cancels are in flight until they are answered, also when the store fails', async () => {
  const { calls, commands, command, inFlight, reject } = answeredLater()
  commands.next([command('a')])
  expect(inFlight.value).toBe(true)
  calls[0]?.reject(new Error('gone'))
  await Promise.resolve()
  expect([inFlight.value, reject.mock.calls.length]).toEqual([false, 1])
})

test('what comes while cancels are in flight is written after them, by priority; before, jobs start that it does not name', async () => {
  const { calls, commands, command, inFlight, store, runs, runOf, claims, selector, clock, workload } = answeredLater()
  const [named, other, started] = [runOf('b'), runOf('other'), runOf('e')]
  for (const run of [named, other, started]) runs.add(run)
  started.skip(new JobchartError('STOPPED', 'it has begun'), () => {})
  selector.wake('mail', 1)
  const claim = claims.begin(selector.pick(1)!)
  commands.next([command('a')])
  commands.next([command('b')])
  commands.next([command('c', 1), command('e')])
  expect([store.cancel.mock.calls.length, named.abortReason]).toEqual([1, null])
  calls[0]?.resolve([cancelled(command('a').request)])
  await Promise.resolve()
  commands.next([command('d', 2)])
  expect([inFlight.value, store.cancel.mock.calls.length, workload.busy]).toEqual([false, 1, true])
  expect([named, other, started].map((run) => run.abortReason?.code)).toEqual(['CANCELLED', undefined, 'STOPPED'])
  expect(['b', 'd', 'other'].map((id) => claim.refusal(claimedJob(id))?.code)).toEqual([
    'CANCELLED',
    'CANCELLED',
    undefined,
  ])
  claims.failed(claim)
  selector.wake('mail', 1)
  const later = claims.begin(selector.pick(1)!)
  expect(later.refusal(claimedJob('b'))?.code, 'of a claim that begins before they are sent').toBe('CANCELLED')
  await clock.settle()
  expect(inFlight.value).toBe(true)
  expect(store.cancel.mock.calls[1]?.[0].map(({ ids }) => ids.join())).toEqual(['d', 'c', 'b', 'e'])
})

/** A batch of an operation on these jobs, which run. */
function batchOf(ids: readonly string[], priority: number, ask: (answer: BulkAnswer) => BulkAnswer): CancelBatch {
  const { transitions } = cancelled({ ids, reason: null, graceMs: 0 })
  const answer: BulkAnswer = { outcome: 'advanced', operation: null, jobs: { cancelling: ids }, transitions }
  const terms = { reason: 'all', graceMs: 1_000 }
  return { terms, priority, ask: () => ask(answer), resolve: vi.fn(), reject: vi.fn() }
}

test('a batch of an operation is a call of its own, at its place by priority, and aborts runs like any cancel', () => {
  const order: string[] = []
  const { stage, command, runs, runOf, inFlight } = cancelling((all) => {
    order.push(`${all.flatMap(({ ids }) => ids).join()} ${inFlight.value}`)
    return all.map(cancelled)
  })
  const run = runOf('x')
  runs.add(run)
  const batch = batchOf(['x'], 2, (answer) => {
    order.push(`batch ${inFlight.value}`)
    return answer
  })
  marbles(({ hot, expectObservable }) => {
    const commands = [command('a'), batch, command('b', 3), command('c', 4), command('d', 1)]
    const events = hot('-c', { c: commands }).pipe(
      stage,
      map(({ id }) => id),
    )
    expectObservable(events).toBe('-(cbxda)')
  })
  expect(order, 'nothing starts between the calls').toEqual(['c,b true', 'batch true', 'd,a true'])
  expect(inFlight.value).toBe(false)
  expect([run.abortReason?.code, run.abortReason?.message]).toEqual(['CANCELLED', expect.stringContaining('all')])
  expect(vi.mocked(batch.resolve).mock.calls.length).toBe(1)
})

test('a batch that the store refuses fails alone', () => {
  const { stage, command, resolve, inFlight } = cancelling((all) => all.map(cancelled))
  const gone = new Error('gone')
  const batch = batchOf(['x'], 1, () => {
    throw gone
  })
  marbles(
    ({ hot }) =>
      void hot('-c', { c: [command('a'), batch] })
        .pipe(stage)
        .subscribe(),
  )
  expect(vi.mocked(batch.reject).mock.calls).toEqual([[gone]])
  expect([resolve.mock.calls.length, inFlight.value]).toEqual([1, false])
})

test('before a batch of an operation that waits no job starts: what it selects is not known here', async () => {
  const { calls, commands, command, inFlight } = answeredLater()
  const states: boolean[] = []
  const batch = batchOf(['x'], 1, (answer) => answer)
  commands.next([command('a')])
  commands.next([batch])
  inFlight.subscribe((state) => {
    states.push(state)
    expect(vi.mocked(batch.resolve).mock.calls.length).toBe(state ? 0 : 1)
  })
  calls[0]?.resolve([cancelled(command('a').request)])
  await Promise.resolve()
  expect(states.at(-1)).toBe(false)
})
