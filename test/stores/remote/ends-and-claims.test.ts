/** Ends of runs and the claim behind them are one commit, and do what they would do one after the other. */
import * as fc from 'fast-check'
import {
  JobchartError,
  remoteStore,
  type ClaimedJob,
  type Commit,
  type Settlement,
  type Transition,
} from 'jobchart/store'
import { expect, onTestFinished, test } from 'vitest'
import { ask, boom, idsOf, lease, newJob, put, stateOf, take } from '../../../src/store-testing/conformance/acts.ts'
import { movingClock } from '../moving-clock.ts'
import { MapPort, SharedMap } from './map-port.ts'

/** @param hinder called with the transitions of each commit; what it gives is answered in place of it */
async function opened(hinder: (log: readonly Transition[]) => readonly string[] | null = () => null) {
  const commits: string[] = []
  const clock = movingClock(1_700_000_000_000)
  class Counting extends MapPort {
    override commit(commit: Commit): ReturnType<MapPort['commit']> {
      const { log } = commit.writes(1)
      commits.push(log.map(({ event }) => event).join(' '))
      const stale = hinder(log)
      return stale === null ? super.commit(commit) : Promise.resolve(stale)
    }
  }
  const store = remoteStore(new Counting(new SharedMap(), clock))
  await store.open({ clock })
  onTestFinished(() => store.close())
  return { store, commits, clock }
}

const completed = (job: ClaimedJob): Settlement => ({ ...lease(job), event: 'COMPLETE', to: 'done' })
const released = (job: ClaimedJob): Settlement => ({ ...lease(job), event: 'RELEASE', to: 'queued' })

const jobsOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `job ${i}`)

test('ends make room under the limits of the type and of its keys for the claim of the same commit', async () => {
  const { store, commits } = await opened()
  const limits = { concurrency: 4, perKey: 2 }
  await put(store, ...jobsOf(10).map((id, n) => newJob(id, { concurrencyKey: `k${n % 3}` })))
  const first = await take(store, { limits, token: 't1' })
  expect(idsOf(first)).toEqual(jobsOf(4))
  commits.length = 0
  const [ended, answer] = await Promise.all([
    store.settle(first.slice(0, 2).map(completed)),
    ask(store, { limits, token: 't2' }),
  ])
  expect(ended.map(({ outcome, seq }) => [outcome, seq])).toEqual([
    ['settled', 15],
    ['settled', 16],
  ])
  expect(answer.jobs.map(({ id, seq }) => [id, seq])).toEqual([
    ['job 4', 17],
    ['job 5', 18],
  ])
  expect(answer.shortfalls).toEqual([{ type: 'mail', reason: 'capped' }])
  expect(commits).toEqual(['COMPLETE COMPLETE CLAIM CLAIM'])
  expect(answer.jobs[0]?.record().history.map(({ seq }) => seq)).toEqual([5, 17])
  expect((await store.counts()).types['mail']).toMatchObject({ queued: 4, running: 4, done: 2 })
})

test('what ends have queued is claimed in its order, by a commit of its own', async () => {
  const { store, commits } = await opened()
  await put(store, ...jobsOf(3).map((id) => newJob(id)))
  const [job] = (await take(store, { max: 1, token: 't1' })) as [ClaimedJob]
  commits.length = 0
  const [, claimed] = await Promise.all([store.settle([released(job)]), take(store, { max: 1, token: 't2' })])
  expect([idsOf(claimed), commits]).toEqual([['job 0'], ['RELEASE', 'CLAIM']])
})

test('a claim that follows another call does not come before it', async () => {
  const { store, commits } = await opened()
  await put(store, ...jobsOf(3).map((id) => newJob(id)))
  const [job] = (await take(store, { max: 1, token: 't1' })) as [ClaimedJob]
  commits.length = 0
  const [, , claimed] = await Promise.all([
    store.settle([completed(job)]),
    store.cancel([{ ids: ['job 1'], reason: null, graceMs: 0 }]),
    take(store, { max: 1, token: 't2' }),
  ])
  expect([idsOf(claimed), commits]).toEqual([['job 2'], ['COMPLETE', 'CANCEL', 'CLAIM']])
})

const both = (log: readonly Transition[]): boolean => new Set(log.map(({ event }) => event)).size > 1

test('others have claimed meanwhile: the ends are committed alone, and the claim after them', async () => {
  const { store, commits } = await opened((log) => (both(log) ? ['claims mail'] : null))
  await put(store, ...jobsOf(3).map((id) => newJob(id)))
  const limits = { concurrency: 1 }
  const first = await take(store, { limits, token: 't1' })
  commits.length = 0
  const [[ended], claimed] = await Promise.all([
    store.settle(first.map(completed)),
    take(store, { limits, token: 't2' }),
  ])
  expect([ended?.outcome, idsOf(claimed)]).toEqual(['settled', ['job 1']])
  expect(commits).toEqual(['COMPLETE CLAIM', 'COMPLETE', 'CLAIM'])
})

test('a claim that fails fails alone; ends that fail fail with the claim, which may be repeated', async () => {
  const away = new JobchartError('STORE_UNAVAILABLE', 'away', { hint: 'Wait.' })
  let hindered: Transition['event'] = 'CLAIM'
  const { store } = await opened((log) => {
    if (hindered !== 'ENQUEUE' && log.some(({ event, id }) => event === hindered && id !== 'job 0')) throw away
    return null
  })
  const end = async (jobs: readonly ClaimedJob[], token: string): Promise<readonly string[]> => {
    const outcomes = await Promise.allSettled([store.settle(jobs.map(completed)), take(store, { max: 1, token })])
    return outcomes.map(({ status }) => status)
  }
  await put(store, ...jobsOf(3).map((id) => newJob(id)))
  expect(await end(await take(store, { max: 1, token: 't1' }), 't2')).toEqual(['fulfilled', 'rejected'])
  expect(await Promise.all(jobsOf(3).map((id) => stateOf(store, id)))).toEqual(['done', 'queued', 'queued'])
  hindered = 'COMPLETE'
  const second = await take(store, { max: 1, token: 't3' })
  expect(await end(second, 't4')).toEqual(['rejected', 'rejected'])
  hindered = 'ENQUEUE'
  expect(await end(second, 't4')).toEqual(['fulfilled', 'fulfilled'])
  expect(await Promise.all(jobsOf(3).map((id) => stateOf(store, id)))).toEqual(['done', 'done', 'running'])
})

const ends: readonly ((job: ClaimedJob) => Settlement)[] = [
  completed,
  released,
  (job) => ({ ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error: boom }),
  (job) => ({ ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 1_000, error: boom }),
  (job) => ({ ...lease(job), event: 'SNOOZE', to: 'scheduled', delayMs: 1_000 }),
  (job) => ({ ...completed(job), token: 'another' }),
]

const rounds = fc.array(
  fc.record({
    ends: fc.array(fc.nat(ends.length), { minLength: 1, maxLength: 5 }),
    max: fc.integer({ min: 1, max: 4 }),
    concurrency: fc.option(fc.integer({ min: 1, max: 4 })),
    perKey: fc.option(fc.integer({ min: 1, max: 2 })),
    rate: fc.option(fc.constant({ limit: 3, perMs: 2_000 })),
    isShared: fc.boolean(),
    hook: fc.boolean(),
  }),
  { minLength: 1, maxLength: 6 },
)

/** @param isAtOnce are ends and claim asked for at once, or one after the other? */
async function played(given: typeof rounds extends fc.Arbitrary<infer T> ? T : never, isAtOnce: boolean) {
  const { store, clock } = await opened()
  const answers: unknown[] = []
  const running: ClaimedJob[] = []
  await put(
    store,
    ...jobsOf(14).map((id, n) =>
      newJob(id, { concurrencyKey: n % 4 === 3 ? null : `k${n % 4}`, priority: n % 5 === 0 ? 1 : 0, maxAttempts: 2 }),
    ),
  )
  for (const [n, round] of given.entries()) {
    const { max, concurrency, perKey, rate, isShared, hook } = round
    const settlements = running
      .splice(0, round.ends.length)
      .map((job, i) => (ends[round.ends[i] ?? 0] ?? completed)(job))
    const limits = { concurrency, perKey, rate }
    const taking = {
      max,
      limits,
      token: `t${n}`,
      ...(isShared && { keyShares: true as const }),
      ...(hook && { onDead: 'h' }),
    }
    const ended = store.settle(settlements)
    if (!isAtOnce) await ended
    const [settled, { jobs, shortfalls }] = await Promise.all([ended, ask(store, taking)])
    running.push(...jobs)
    answers.push(
      settled,
      idsOf(jobs),
      jobs.map((job) => job.record()),
      shortfalls,
    )
    await clock.advance(700)
    await store.promote(10)
  }
  return { answers, all: await store.list({}), counts: await store.counts(), log: await store.transitions(null, 1_000) }
}

test('ends and a claim at once do what they do one after the other', () =>
  fc.assert(
    fc.asyncProperty(rounds, async (given) => {
      expect(await played(given, true)).toEqual(await played(given, false))
    }),
    { numRuns: 100 },
  ))
