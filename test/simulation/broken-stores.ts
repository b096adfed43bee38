/** Stores that break their promises, each in one way, for the proof that the simulation notices. */
import { memoryStore, type Clock, type Store } from 'jobchart'
import type { ClaimedJob, ClaimRequest } from '../../src/store.ts'
import type { StoreFactory } from './stores.ts'

const made = (store: Store): ReturnType<StoreFactory> => ({ store, atOnce: true, dispose: () => {} })
const broken = (change: (store: Store) => Partial<Store>) => (): ReturnType<StoreFactory> => {
  const store = memoryStore()
  return made({ ...store, ...change(store) })
}

/** A store whose clock runs ahead while one of its methods is at work. */
const early = (method: 'promote' | 'rescue'): StoreFactory => {
  return broken((store) => {
    let aheadMs = 0
    const hurried = (clock: Clock): Clock => ({
      now: () => clock.now() + aheadMs,
      monotonic: () => clock.monotonic(),
      timer: (run, delayMs, options) => clock.timer(run, delayMs, options),
      nextTurn: (run) => clock.nextTurn(run),
    })
    return {
      open: ({ clock }) => store.open({ clock: hurried(clock) }),
      [method]: (limit: number) => {
        aheadMs = 2_000
        const answer = store[method](limit)
        aheadMs = 0
        return answer
      },
    }
  })
}

const every = (nth: number): (() => boolean) => {
  let calls = 0
  return () => ++calls % nth === 0
}

const settlesById = broken((store) => {
  const holders = new Map<string, Pick<ClaimedJob, 'attempt' | 'token'>>()
  return {
    claim: async (request) => {
      const answer = await store.claim(request)
      for (const { id, attempt, token } of answer.jobs) holders.set(id, { attempt, token })
      return answer
    },
    settle: (settlements) => store.settle(settlements.map((each) => ({ ...each, ...holders.get(each.id) }))),
  }
})

const losesWhatItAcknowledges = broken((store) => {
  const now = every(10)
  return {
    insert: (requests) => {
      if (!now()) return store.insert(requests)
      const answer = { outcome: 'inserted', state: 'queued', seq: 1e9, at: store.now(), dueAt: null } as const
      return requests.map(({ jobs }) => jobs.map(({ id }) => ({ ...answer, id })))
    },
  }
})

const handsOutTwice = broken((store) => {
  const now = every(5)
  let last: ClaimedJob | undefined
  return {
    claim: async (request: ClaimRequest) => {
      const answer = await store.claim(request)
      const again = last !== undefined && now() && request.demand.some(({ type }) => type === last?.type) ? [last] : []
      last = answer.jobs[0] ?? last
      return { ...answer, jobs: [...answer.jobs, ...again] }
    },
  }
})

const unlimited = { concurrency: null, perKey: null, rate: null }

export const brokenStores: Readonly<Record<string, StoreFactory>> = {
  'settles by id, whoever holds the job': settlesById,
  'acknowledges what it does not store': losesWhatItAcknowledges,
  'hands a job out to two': handsOutTwice,
  'takes jobs from their holders too early': early('rescue'),
  'promotes jobs too early': early('promote'),
  'lends for a shorter time than it is asked for': broken((store) => ({
    claim: (request) => store.claim({ ...request, leaseMs: request.leaseMs / 5 }),
  })),
  'extends the lease of whoever asks': broken((store) => ({
    extend: async (request) =>
      (await store.extend(request)).map((answer) => ({
        ...answer,
        outcome: answer.outcome === 'lost' ? 'extended' : answer.outcome,
      })),
  })),
  'tells nobody who is cancelled': broken((store) => ({
    extend: async (request) =>
      (await store.extend(request)).map(({ outcome }) => ({ outcome: outcome === 'lost' ? outcome : 'extended' })),
  })),
  'refuses a settle that is repeated': broken((store) => {
    const seen = new Set<string>()
    return {
      settle: async (settlements) =>
        (await store.settle(settlements)).map((answer, i) => {
          const key = `${settlements[i]?.id} ${settlements[i]?.token}`
          const again = seen.has(key)
          seen.add(key)
          return again ? { ...answer, outcome: 'lost' } : answer
        }),
    }
  }),
  'picks from queues that are paused': broken((store) => ({
    queue: async (type, change) => ({ ...(await store.queue(type)), ...change }),
  })),
  'knows no caps': broken((store) => ({
    claim: (request) =>
      store.claim({ ...request, demand: request.demand.map((each) => ({ ...each, limits: unlimited })) }),
  })),
  'keeps no steps': broken((store) => ({
    extend: (request) =>
      store.extend({
        ...request,
        heartbeats: request.heartbeats.map(({ id, attempt, token }) => ({ id, attempt, token })),
      }),
  })),
  'never promotes': broken(() => ({ promote: () => ({ transitions: [], nextAt: null, more: false }) })),
  'never rescues': broken(() => ({ rescue: () => ({ transitions: [], nextAt: null, more: false }) })),
  'counts one too many': broken((store) => ({
    counts: async () => {
      const counts = await store.counts()
      return { ...counts, done: counts.done + 1, cursor: counts.cursor }
    },
  })),
}
