/** Attempts: a run starts if nothing speaks against it, and comes out when it has ended. */
import { defineJob } from 'jobchart'
import { map, Subject } from 'rxjs'
import { expect, test, vi } from 'vitest'
import { JobchartError } from '../../src/core/errors.ts'
import type { Run } from '../../src/worker/attempt.ts'
import type { Turn } from '../../src/worker/lanes.ts'
import { runAttempts, type RunAttemptsOptions } from '../../src/worker/run-attempts.ts'
import { Runs } from '../../src/worker/runs.ts'
import { marbles, workerParts } from '../support/marbles.ts'

function attempting(options: Partial<RunAttemptsOptions> = {}, run: () => unknown = () => {}) {
  const parts = workerParts({ slots: 3, jobs: [defineJob({ type: 'mail', run })] })
  const runs = new Runs()
  const begin = (...ids: string[]): Run[] => {
    parts.permits.take(ids.length)
    return ids.map((id) => {
      const each = parts.runOf(id)
      runs.add(each)
      return each
    })
  }
  const stage = runAttempts({
    ...parts,
    runs,
    confirmer: { isDue: () => false, confirm: () => true },
    unsupported: { note() {} },
    time: { read: () => 0 },
    halted: () => null,
    ...options,
  })
  return { ...parts, runs, begin, stage }
}

/** A turn of these runs. */
function turnOf(...runs: Run[]): Turn<Run> {
  return {
    next: () => runs.shift() ?? null,
    get rest() {
      return runs
    },
  }
}

const ends = map(({ claimed, ending, abortReason }: Run) => [claimed.id, ending, abortReason?.code ?? null].join(' '))

test('a run that returns at once ends in its turn; its slot is free before that is told', () => {
  const { begin, stage, permits, runs } = attempting()
  const [a, b] = begin('a', 'b') as [Run, Run]
  const taken: number[] = []
  marbles(({ hot, expectObservable }) => {
    const ended = hot('-a-b', { a: turnOf(a), b: turnOf(b) }).pipe(
      stage,
      map((run) => (taken.push(permits.taken), run)),
      ends,
    )
    expectObservable(ended).toBe('-a-b', { a: 'a returned ', b: 'b returned ' })
  })
  expect([taken, runs.size]).toEqual([[1, 0], 0])
})

test('runs come out in the order of their ends', async () => {
  const first = Promise.withResolvers<void>()
  const results = [first.promise, Promise.resolve()]
  const { begin, stage } = attempting({}, () => results.shift())
  const turns = new Subject<Turn<Run>>()
  const ended: string[] = []
  turns.pipe(stage, ends).subscribe((each) => ended.push(each))
  turns.next(turnOf(...begin('a', 'b')))
  await Promise.resolve()
  expect(ended).toEqual(['b returned '])
  first.reject(new Error('bad'))
  await Promise.resolve()
  expect(ended).toEqual(['b returned ', 'a threw '])
})

test.each<[string, Partial<RunAttemptsOptions>, string]>([
  ['the runtime was halted', { halted: () => new JobchartError('STOPPED', 'paused') }, 'STOPPED'],
  ['its lease may have expired', { time: { read: () => 100 } }, 'LEASE_LOST'],
  ['slots were reduced', { permits: { taken: 3, slots: 2, give() {} } }, 'STOPPED'],
])('a claimed job does not start when %s', (_when, options, code) => {
  const handler = vi.fn()
  const { begin, stage } = attempting(options, handler)
  const [a] = begin('a') as [Run]
  marbles(({ hot, expectObservable }) => {
    const ended = hot('-t', { t: turnOf(a) }).pipe(stage, ends)
    expectObservable(ended).toBe('-a', { a: `a unstarted ${code}` })
  })
  expect(handler).not.toHaveBeenCalled()
})

test('of claimed jobs that exceed the slots, the last ones are released', () => {
  const { begin, stage, permits } = attempting({}, () => new Promise(() => {}))
  const runs = begin('a', 'b', 'c')
  permits.slots = 1
  marbles(({ hot, expectObservable }) => {
    const ended = hot('-t', { t: turnOf(...runs) }).pipe(stage, ends)
    expectObservable(ended).toBe('-(bc)', { b: 'b unstarted STOPPED', c: 'c unstarted STOPPED' })
  })
  expect(permits.taken).toBe(1)
})

test('runs whose answer is too old are confirmed, those that wait together; if that fails, claims rest', () => {
  const confirm = vi.fn((runs: readonly Run[]) => {
    for (const run of runs) run.abort(new JobchartError('STOPPED', 'its queue was paused'))
    return false
  })
  const { begin, stage, claims } = attempting({
    confirmer: { isDue: ({ abortReason }) => abortReason === null, confirm },
  })
  const runs = begin('a', 'b')
  marbles(({ hot, expectObservable }) => {
    const ended = hot('-t', { t: turnOf(...runs) }).pipe(stage, ends)
    expectObservable(ended).toBe('-(ab)', { a: 'a unstarted STOPPED', b: 'b unstarted STOPPED' })
  })
  expect(confirm.mock.calls).toEqual([[runs]])
  expect(claims.mayBegin).toBe(false)
})
