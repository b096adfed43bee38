/**
 * A suite that cannot fail proves nothing: stores that are broken in one way each must be caught, by name and by
 * chance.
 */
import { expect, test } from 'vitest'
import { memoryStore } from '../../src/stores/memory/index.ts'
import type { ActivityBucket, Demand, FailureGroup, InsertRequest, NewJob, Store } from '../../src/store.ts'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { everyPage } from '../../src/store-testing/conformance/side-by-side.ts'
import { isLong } from '../harness/long-form.ts'
import { handClock } from '../stores/hand-clock.ts'

type Break = (store: Store) => Partial<Store>

interface Verdict {
  readonly failed: readonly string[]
  readonly randomError: Error | null
}

const random = 'random sequences agree with the naive model'

function casesOf(broken: Break, runs: { seed?: number; sequences?: number } = {}, skip: Record<string, string> = {}) {
  const cases = new Map<string, () => Promise<void>>()
  storeConformance({
    name: 'x',
    test: (name, run) => cases.set(name.slice('x: '.length), run),
    skip,
    random: { sequences: 120, ...runs },
    async create() {
      const clock = handClock()
      const store = memoryStore({ clock })
      return { store: { ...store, ...broken(store) }, advance: (ms) => clock.advance(ms), close: async () => {} }
    },
  })
  return cases
}

/** @param asks the cases that are run; all if it is not given */
async function verdictOn(
  broken: Break,
  asks: (name: string) => boolean = () => true,
  runs: { seed?: number; sequences?: number } = {},
): Promise<Verdict> {
  const failed: string[] = []
  let randomError: Error | null = null
  for (const [name, run] of casesOf(broken, runs)) {
    if (!asks(name)) continue
    try {
      await run()
    } catch (error) {
      if (name === random) randomError = error as Error
      else failed.push(name)
    }
  }
  return { failed, randomError }
}

const insertWith =
  (change: (job: NewJob) => Partial<NewJob>, request: Partial<InsertRequest> = {}): Break =>
  (store) => ({
    insert: (requests) =>
      store.insert(
        requests.map(({ jobs, capacity }) => {
          const changed = jobs.map((job) => Object.assign({}, job, change(job)))
          return Object.assign({ jobs: changed, capacity }, request)
        }),
      ),
  })

const claimWith =
  (change: (demand: Demand) => Demand): Break =>
  (store) => ({ claim: (request) => store.claim({ ...request, demand: request.demand.map(change) }) })

const activityWith =
  (change: (bucket: ActivityBucket) => Partial<ActivityBucket>): Break =>
  (store) => ({
    async activity(query) {
      const activity = await store.activity(query)
      return activity.map(({ type, buckets }) => ({
        type,
        buckets: buckets.map((bucket) => Object.assign({}, bucket, change(bucket))),
      }))
    },
  })

const failuresWith =
  (change: (group: FailureGroup) => Partial<FailureGroup>): Break =>
  (store) => ({
    async failures(query) {
      return (await store.failures(query)).map((group) => Object.assign({}, group, change(group)))
    },
  })

/** Who holds a job now, by the last claim of it. */
function tokens(store: Store): { claim: Store['claim']; current: Map<string, { attempt: number; token: string }> } {
  const current = new Map<string, { attempt: number; token: string }>()
  return {
    current,
    async claim(request) {
      const answer = await store.claim(request)
      for (const { id, attempt, token } of answer.jobs) current.set(id, { attempt, token })
      return answer
    },
  }
}

/** What is broken, and a case that must notice. `chance`: must the random sequences notice too? */
const brokenStores: Readonly<Record<string, { notices: string; chance: boolean; broken: Break }>> = {
  'settles by id, whoever asks': {
    notices: 'settle: a worker that lost its lease cannot settle the attempt of another',
    chance: true,
    broken(store) {
      const { claim, current } = tokens(store)
      const settle: Store['settle'] = (all) =>
        store.settle(all.map((each) => Object.assign({}, each, current.get(each.id))))
      return { claim, settle }
    },
  },
  'forgets what it answered to a settle': {
    notices: 'settle: the same token settled twice gets the same answer twice',
    chance: true,
    broken(store) {
      const seen = new Set<string>()
      return {
        settle: (all) =>
          store.settle(
            all.map((each) => {
              const again = seen.has(each.id + each.token)
              seen.add(each.id + each.token)
              return again ? Object.assign({}, each, { token: 'another' }) : each
            }),
          ),
      }
    },
  },
  'keeps no step': {
    notices: 'extend: the next attempt gets the results of completed steps',
    chance: true,
    broken: (store) => ({
      extend: ({ worker, leaseMs, heartbeats }) =>
        store.extend({ worker, leaseMs, heartbeats: heartbeats.map((each) => ({ ...each, steps: {} })) }),
    }),
  },
  'says of every claimed job that it may start': {
    notices: 'confirm: a job that was cancelled since its claim is cancelling, with the reason',
    chance: true,
    broken: () => ({ confirm: (leases) => leases.map(() => ({ outcome: 'leased' })) }),
  },
  'answers heartbeats without making the lease longer': {
    notices: 'extend: a heartbeat extends the lease',
    chance: true,
    broken: (store) => ({ extend: ({ worker, heartbeats }) => store.extend({ worker, heartbeats, leaseMs: 0 }) }),
  },
  'fires a tick whatever has become of its schedule': {
    notices: 'schedules: a firing with an older revision writes nothing',
    chance: true,
    broken: (store) => ({
      schedules: {
        ...store.schedules,
        fire: async (requests) => {
          const there = await store.schedules.list(requests.map(({ name }) => name))
          const now = new Map(there.map(({ name, revision }) => [name, revision]))
          return store.schedules.fire(
            requests.map(({ name, ticks, advance }) => {
              const revision = now.get(name) ?? 0
              return { name, ticks, advance: advance === null ? null : { ...advance, revision } }
            }),
          )
        },
      },
    }),
  },
  'lets every job of a schedule overlap': {
    notices: 'schedules: overlap skip: no job while one has not ended',
    chance: true,
    broken: (store) => ({
      schedules: {
        ...store.schedules,
        put: (requests) =>
          store.schedules.put(requests.map((each) => ({ ...each, terms: { ...each.terms, overlap: 'allow' } }))),
      },
    }),
  },
  'gives computed schedules to everybody': {
    notices: 'schedules: a schedule with a computed input is due only for calls that name it',
    chance: true,
    broken: (store) => ({
      schedules: {
        ...store.schedules,
        due: async (request) => {
          const all = await store.schedules.list()
          return store.schedules.due({ ...request, computed: all.map(({ name }) => name) })
        },
      },
    }),
  },
  'knows no priority': {
    notices: 'claim: jobs with a higher priority are claimed first, equal ones first in, first out',
    chance: true,
    broken: insertWith(() => ({ priority: 0 })),
  },
  'knows no unique key': {
    notices: 'unique: of inserts of one key at the same moment exactly one succeeds',
    chance: true,
    broken: insertWith(() => ({ key: null })),
  },
  'keeps where it should supersede': {
    notices: 'unique: supersede cancels a job that has not started and takes its place',
    chance: true,
    broken: insertWith(({ onConflict }) => ({ onConflict: onConflict === 'supersede' ? 'keep' : onConflict })),
  },
  'has no bound': {
    notices: 'insert: a request beyond the capacity stores nothing',
    chance: true,
    broken: insertWith(() => ({}), { capacity: null }),
  },
  'knows no caps': {
    notices: 'claim: no more of a type run at once than its concurrency',
    chance: true,
    broken: (store) => ({
      claim: (request) => {
        const limits = { concurrency: null, perKey: null, rate: null }
        return store.claim({ ...request, demand: request.demand.map(({ type, max }) => ({ type, max, limits })) })
      },
    }),
  },
  'gives first in, first out where keys share': {
    notices: 'shares: keys share the claims by weight, regardless of the order of inserts',
    chance: true,
    broken: claimWith(({ type, max, limits, maxAttempts }) => {
      return { type, max, limits, ...(maxAttempts !== undefined && { maxAttempts }) }
    }),
  },
  'takes all keys for equal': {
    notices: 'shares: keys share the claims by weight, regardless of the order of inserts',
    chance: true,
    broken: insertWith(() => ({ keyWeight: 1 })),
  },
  'shares where it was not asked to': {
    notices: 'shares: without shares the jobs of all keys are claimed first in, first out',
    chance: true,
    broken: claimWith((demand) => ({ ...demand, keyShares: true })),
  },
  'inserts no hook of a death': {
    notices: 'death: the failure that makes a job dead inserts its hook, ready to be claimed',
    chance: true,
    broken: claimWith((demand) => {
      const { onDead: _, ...others } = demand
      return others
    }),
  },
  'knows no rate of a key': {
    notices: 'claim: no more claims of a key than its rate allows, while other keys are claimed',
    chance: true,
    broken: claimWith(({ limits: { concurrency, perKey, rate }, ...demand }) => {
      return { ...demand, limits: { concurrency, perKey, rate } }
    }),
  },
  'takes the rate of each key for that of the type': {
    notices: 'claim: no more claims of a key than its rate allows, while other keys are claimed',
    chance: true,
    broken: claimWith(({ limits, ...demand }) => {
      const { keyRate = limits.rate, concurrency, perKey } = limits
      return { ...demand, limits: { concurrency, perKey, rate: keyRate } }
    }),
  },
  'gives from a paused queue': {
    notices: 'claim: a claim of a paused queue returns no jobs, with the reason paused',
    chance: true,
    broken: (store) => ({
      async queue(type, change) {
        return { ...(await store.queue(type)), paused: change?.paused ?? false }
      },
    }),
  },
  'cancels the oldest first': {
    notices: 'cancel: jobs are cancelled in the order of priority, then older first',
    chance: false,
    broken: (store) => ({
      async cancel(requests) {
        const answers = await store.cancel(requests)
        return answers.map((answer) => Object.assign(answer, { cancelled: answer.cancelled.toSorted() }))
      },
    }),
  },
  'forgets why it was cancelled': {
    notices: 'cancel: a leased job is marked as cancelled, and a second cancel changes nothing',
    chance: true,
    broken: (store) => ({
      cancel: (requests) => store.cancel(requests.map((request) => ({ ...request, reason: null }))),
    }),
  },
  'rescues nobody': {
    notices: 'time: a poisonous job is dead after exactly its last attempt',
    chance: true,
    broken: () => ({ rescue: async () => ({ transitions: [], nextAt: null, more: false }) }),
  },
  'promotes without a word': {
    notices: 'time: due jobs are promoted, earliest first, and never before their due time',
    chance: true,
    broken: (store) => ({
      async promote(limit) {
        return { ...(await store.promote(limit)), transitions: [] }
      },
    }),
  },
  'keeps all that ended': {
    notices: 'time: ended jobs beyond the count are removed, oldest first',
    chance: true,
    broken: () => ({ prune: async () => ({ pruned: 0, nextAt: null, more: false }) }),
  },
  'counts one too many': {
    notices: 'reading: counts are of all jobs and of each type',
    chance: true,
    broken: (store) => ({
      async counts() {
        const counts = await store.counts()
        return { ...counts, queued: counts.queued + 1, cursor: counts.cursor }
      },
    }),
  },
  'reads the cursor of its counts after them': {
    notices: 'log: counts answer the cursor that they go with: the entries after it are those that the counts lack',
    chance: false,
    broken: (store) => ({
      async counts() {
        const counts = await store.counts()
        return { ...counts, cursor: (await store.counts()).cursor }
      },
    }),
  },
  'gives a list the cursor of what it lacks': {
    notices: 'log: a list answers a cursor that it goes with: what it lacks is after it',
    chance: false,
    broken: (store) => ({
      async list(query) {
        const page = await store.list(query)
        return Object.assign([...page], { next: page.next, cursor: String(Number(page.cursor) + 1) })
      },
    }),
  },
  'forgets to count completed jobs': {
    notices: 'activity: every transition is counted in the minute and the hour of its time',
    chance: true,
    broken: activityWith(() => ({ done: 0 })),
  },
  'counts failed attempts twice': {
    notices: 'activity: every transition is counted in the minute and the hour of its time',
    chance: true,
    broken: activityWith(({ failed }) => ({ failed: 2 * failed })),
  },
  'counts nothing in the current period': {
    notices: 'activity: activity is of each queue, of some queues, or of all together',
    chance: true,
    broken: (store) => ({
      async activity(query) {
        const activity = await store.activity(query)
        return activity.map(({ type, buckets }) => ({ type, buckets: buckets.slice(0, -1) }))
      },
    }),
  },
  'counts machines that have ended': {
    notices: 'machine counts: a job that ends is no longer counted, and one that is retried is counted again',
    chance: true,
    broken: (store) => ({
      async machineCounts(type) {
        const jobs = await everyPage(store, { type }, 100)
        const states = jobs.flatMap(({ machineStates }) => machineStates)
        const ofStates = Object.entries(Object.groupBy(states, (state) => state)).map(([state, all = []]) => [
          state,
          all.length,
        ])
        return { ...(await store.machineCounts(type)), states: Object.fromEntries(ofStates) as Record<string, number> }
      },
    }),
  },
  'lists parked jobs by the states of their last checkpoint only': {
    notices:
      'machine counts: a parked job is listed and counted by the states that a deployment gives it, and nothing else of it changes',
    chance: false,
    broken: (store) => ({
      reindex: (requests) => store.reindex(requests.map((request) => ({ ...request, standing: null }))),
    }),
  },
  'counts no tags of machines': {
    notices: 'machine counts: jobs of a type are counted by the states and tags of their last checkpoint',
    chance: true,
    broken: (store) => ({ machineCounts: async (type) => ({ ...(await store.machineCounts(type)), tags: {} }) }),
  },
  'keeps a job among the dead of its failure for ever': {
    notices: 'failures: a dead job leaves its group when it is retried, discarded or pruned',
    chance: true,
    broken: failuresWith((group) => ({ dead: Math.min(group.count, group.dead + 1) })),
  },
  'counts each failure once': {
    notices: 'failures: failed attempts are grouped by type, name, code and message, the last one first',
    chance: true,
    broken: failuresWith(() => ({ count: 1 })),
  },
  'finds jobs whatever their failure': {
    notices: 'failures: jobs are found, retried and discarded by the fingerprint of their last error',
    chance: true,
    broken: (store) => ({
      list: (query) => {
        const { failure: _, ...others } = query
        return store.list(others)
      },
    }),
  },
  'leads from page to page by nothing': {
    notices: 'reading: a list is oldest first, in pages that lead on to each other',
    chance: true,
    broken: (store) => ({
      async list(query) {
        const page = await store.list(query)
        return Object.assign([...page], { next: undefined, cursor: page.cursor })
      },
    }),
  },
  'loses the first entry of its log': {
    notices: 'log: every transition is in the log once, in order, as the history has it',
    chance: true,
    broken: (store) => ({
      async transitions(from, limit) {
        const page = await store.transitions(from, limit)
        return from === null ? { ...page, transitions: page.transitions.slice(1) } : page
      },
    }),
  },
  'lets anybody go on with a bulk operation': {
    notices: 'bulk: while its lease runs an operation is left to its token; then another goes on where it stands',
    chance: false,
    broken: (store) => ({
      bulk: {
        ...store.bulk,
        async advance(request) {
          const there = (await store.bulk.list()).find(({ id }) => id === request.id)
          return store.bulk.advance({ ...request, token: there?.token ?? request.token })
        },
      },
    }),
  },
  'does one more batch of a bulk operation than it answers for': {
    notices: 'bulk: an operation is done in batches, and keeps its progress with each',
    chance: true,
    broken: (store) => ({
      bulk: {
        ...store.bulk,
        async advance(request) {
          const answer = await store.bulk.advance(request)
          if (answer.outcome === 'advanced') await store.bulk.advance(request)
          return answer
        },
      },
    }),
  },
  'starts a bulk operation as often as it is asked': {
    notices: 'bulk: a start that is repeated starts nothing, also when the operation has ended',
    chance: true,
    broken(store) {
      let count = 0
      return {
        bulk: {
          ...store.bulk,
          async start(request) {
            const answer = await store.bulk.start(request)
            return answer.outcome === 'known' ? store.bulk.start({ ...request, id: `again ${count++}` }) : answer
          },
        },
      }
    },
  },
  'never wakes anybody': {
    notices: 'watch: an insert makes its type ready',
    chance: false,
    broken: () => ({ watch: () => () => {} }),
  },
  'wakes for ever': {
    notices: 'watch: no hint arrives after the watch has ended',
    chance: false,
    broken: (store) => ({
      watch(listener) {
        store.watch(listener)
        return () => {}
      },
    }),
  },
}

test('a store that keeps the contract fails no case', async () => {
  // All cases are those of test/stores/memory.test.ts.
  const every = () => true
  const sequences = isLong ? 120 : 10
  expect(await verdictOn(() => ({}), every, { sequences })).toEqual({ failed: [], randomError: null })
})

for (const [what, { notices, chance, broken }] of Object.entries(brokenStores)) {
  test(`a store that ${what} is caught`, async () => {
    const asked = (name: string): boolean => name === notices || (chance && name === random)
    // They end with the first sequence that notices it: more of them cost only what is hard to notice.
    const { failed, randomError } = await verdictOn(broken, asked, { sequences: 600 })
    expect(failed).toEqual([notices])
    if (chance) expect(randomError).toBeInstanceOf(Error)
  })
}

test('a failing random sequence names the seed that fails again, and what was answered to which command', async () => {
  const { broken } = brokenStores['knows no caps'] as { broken: Break }
  const isRandom = (name: string): boolean => name === random
  const { randomError } = await verdictOn(broken, isRandom)
  const seed = Number(/\{ seed: (\d+), sequences: 1 \}/.exec(randomError?.message ?? '')?.[1])
  const again = await verdictOn(broken, isRandom, { seed, sequences: 1 })
  expect(again.randomError?.message).toBe(randomError?.message)
  expect(String(again.randomError?.cause)).toMatch(/command \d+: \{\n? *op: 'claim'/)
})

test('a case can be skipped with a reason only, and only if there is such a case', () => {
  const name = 'log: a discarded job stays in the log'
  const all = casesOf(() => ({}))
  const some = casesOf(() => ({}), {}, { [name]: 'this log is of live jobs alone' })
  expect([...all.keys()].filter((each) => !some.has(each))).toEqual([name])
  expect(() => casesOf(() => ({}), {}, { [name]: ' ' })).toThrow('no reason')
  expect(() => casesOf(() => ({}), {}, { 'log: no such case': 'a reason' })).toThrow('no case')
})
