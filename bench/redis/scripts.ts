/**
 * How long the longest script holds up the server in each phase of many jobs: until it has ended, nobody else is
 * answered. It is processor time of the server's main thread, which other programs of the machine change little.
 */
import { randomUUID } from 'node:crypto'
import type { BulkChange, BulkOperation, ClaimedJob, JobFilter, NewJob, Store } from '../../src/store.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { RedisClient, Reply } from '../../src/stores/redis/connection.ts'
import { namespaceOf } from '../../src/stores/redis/keys.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { redisStoreOf } from '../../src/stores/redis/store.ts'
import { verifyEqual } from '../harness/ledger.ts'
import { withServer } from '../harness/redis.ts'
import { figure } from '../harness/stats.ts'
import { single, type Section } from '../suite.ts'

const type = 'work'
const chunk = 1_000
const noLimits = { concurrency: null, perKey: null, rate: null }
const keepNone = { count: 0, ageMs: 0 }
const boom = { name: 'Error', message: 'boom' }

/** Does a phase of all jobs, and gives the number of jobs that went through it. */
type Phase = (store: Store, count: number) => Promise<number>

const newJob = (id: string): NewJob => ({
  id,
  type,
  input: { id },
  priority: 0,
  maxAttempts: 1,
  tags: [],
  concurrencyKey: null,
  runAt: null,
  delayMs: 1,
  key: null,
  onConflict: 'keep',
})

async function insertAll(store: Store, count: number): Promise<number> {
  let inserted = 0
  while (inserted < count) {
    const ids = Array.from({ length: Math.min(chunk, count - inserted) }, (_, i) => `job-${inserted + i}`)
    inserted += (await store.insert(ids.map((id) => ({ jobs: [newJob(id)], capacity: null })))).length
  }
  return inserted
}

async function promoteAll(store: Store): Promise<number> {
  for (let promoted = 0; ;) {
    const { transitions, more } = await store.promote(chunk)
    promoted += transitions.length
    if (!more) return promoted
  }
}

/** Claims jobs, a thousand at a time, and does something with each thousand. */
async function claimAll(store: Store, count: number, each: (jobs: readonly ClaimedJob[]) => unknown): Promise<number> {
  for (let claimed = 0; ;) {
    const demand = [{ type, max: Math.min(chunk, count - claimed), limits: noLimits }]
    const { jobs } = await store.claim({ worker: 'bench', token: randomUUID(), leaseMs: 3_600_000, demand })
    await each(jobs)
    claimed += jobs.length
    if (jobs.length === 0 || claimed === count) return claimed
  }
}

/** The leases of a phase, for the next one. */
class Leases {
  private jobs: ClaimedJob[] = []

  readonly claim: Phase = (store, count) => claimAll(store, count, (jobs) => this.jobs.push(...jobs))

  end(event: 'FAIL' | 'COMPLETE'): Phase {
    return async (store) => {
      let settled = 0
      for (let i = 0; i < this.jobs.length; i += chunk) {
        const answers = await store.settle(
          this.jobs.slice(i, i + chunk).map(({ id, attempt, token }) => ({
            ...{ id, attempt, token },
            ...(event === 'FAIL' ? { event, to: 'dead' as const, error: boom } : { event, to: 'done' as const }),
          })),
        )
        settled += answers.filter(({ outcome }) => outcome === 'settled').length
      }
      this.jobs = []
      return settled
    }
  }
}

/** Changes the jobs that match a filter, batch by batch, until `enough` have been changed. */
async function changeMatching(store: Store, change: BulkChange, filter: JobFilter, enough: number): Promise<number> {
  const lease = { id: change.kind, token: 't', leaseMs: 10_000 }
  const sum = ({ counts }: BulkOperation): number => (counts.retried ?? 0) + (counts.discarded ?? 0)
  let { operation } = await store.bulk.start({ ...lease, change, filter, expected: null, batchSize: 100 })
  while (operation?.state === 'running' && sum(operation) < enough) {
    ;({ operation } = await store.bulk.advance(lease))
  }
  await store.bulk.stop({ id: change.kind, error: null })
  return operation === null ? 0 : sum(operation)
}

const retryAll = (store: Store): Promise<number> =>
  changeMatching(store, { kind: 'retry', fromStart: false, dropInbox: 0 }, { type, state: 'dead' }, Infinity)

const discardHalf = (store: Store, count: number): Promise<number> =>
  changeMatching(store, { kind: 'discard' }, { type }, count / 2)

async function pruneRest(store: Store): Promise<number> {
  await store.retain({ types: new Map(), others: { done: keepNone, dead: keepNone, cancelled: keepNone } })
  for (let pruned = 0; ;) {
    const answer = await store.prune(chunk)
    pruned += answer.pruned
    if (!answer.more) return pruned
  }
}

const leases = (): readonly (readonly [name: string, phase: Phase, part?: number])[] => {
  const held = new Leases()
  return [
    ['inserted, due at once', insertAll],
    ['made ready', promoteAll],
    ['claimed', held.claim],
    ['dead', held.end('FAIL')],
    ['retried by filter', retryAll],
    ['claimed again', held.claim],
    ['done', held.end('COMPLETE')],
    ['discarded by filter: half', discardHalf, 0.5],
    ['pruned: the rest', pruneRest, 0.5],
  ]
}

/** Processor time of the server's main thread, ms. */
function mainThreadMs(info: Reply): number {
  const of = (name: string): number =>
    Number(new RegExp(`used_cpu_${name}_main_thread:(.*)`).exec(String(info))?.[1] ?? 'NaN')
  return (of('user') + of('sys')) * 1_000
}

/** The scripts that clients send, and the longest of them. */
class Longest {
  private ms = 0

  /** The longest since the last call, ms. */
  take(): number {
    const { ms } = this
    this.ms = 0
    return ms
  }

  /** The server works on the commands of a client in their order: counters before and after are of one script. */
  of(client: RedisClient): RedisClient {
    return {
      connect: () => client.connect(),
      send: async (command) => {
        if (!/^(?:fcall|evalsha|eval)$/i.test(command[0] ?? '')) return client.send(command)
        const [before, answer, after] = await Promise.allSettled([
          client.send(['INFO', 'cpu']),
          client.send(command),
          client.send(['INFO', 'cpu']),
        ])
        if (before.status === 'fulfilled' && after.status === 'fulfilled')
          this.ms = Math.max(this.ms, mainThreadMs(after.value) - mainThreadMs(before.value))
        if (answer.status === 'rejected') throw answer.reason
        return answer.value
      },
      subscribe: (channel, told) => client.subscribe(channel, told),
      onReady: (listener) => client.onReady(listener),
      close: () => client.close(),
      duplicate: () => this.of(client.duplicate()),
      hasOneServer: client.hasOneServer,
    }
  }
}

export const scripts: Section = {
  name: 'scripts',
  title: (bench) =>
    `the longest script while ${bench.sized(100_000).toLocaleString('en-US')} jobs go through each phase`,
  run: (bench) =>
    withServer(async (url) => {
      const count = bench.sized(100_000)
      const longest = new Longest()
      const store = redisStoreOf({
        makeClient: async () => longest.of(await nodeRedisAt(url)),
        where: url,
        namespace: namespaceOf('bench'),
        transitionsMax: 10_000,
      })
      await store.open({ clock: systemClock })
      try {
        // Loading the library and the first calls are no part of a phase.
        await store.insert([{ jobs: [{ ...newJob('first'), type: 'other', delayMs: 0 }], capacity: null }])
        longest.take()
        const phases = leases()
        const rows = []
        for (const [i, [name, phase, part = 1]] of phases.entries()) {
          bench.progress(i, phases.length, name)
          const done = await phase(store, count)
          if (part === 1) verifyEqual(`jobs ${name}`, done, count)
          rows.push(single(name, 'ms', figure(name, [longest.take()]), { atMost: 10 }))
        }
        const { done = 0 } = (await store.counts()).types[type] ?? {}
        verifyEqual('jobs left', done, 0)
        return { rows }
      } finally {
        await store.close()
      }
    }),
}
