/**
 * How long the longest command holds up the server in each phase of many jobs: until it has ended, nobody else is
 * answered. It is processor time of the server's main thread, which other programs of the machine change little. The
 * server has used the memory before: else the longest command is one in which the system hands out pages. Each row
 * names the command; that of a script is the script's name.
 */
import { randomUUID } from 'node:crypto'
import type { BulkChange, BulkOperation, JobFilter, NewJob, Store } from '../../src/store.ts'
import type { Settlement } from '../../src/core/settlement.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { RedisClient, Reply } from '../../src/stores/redis/connection.ts'
import { namespaceOf } from '../../src/stores/redis/keys.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { redisStoreOf } from '../../src/stores/redis/store.ts'
import { verifyEqual } from '../harness/ledger.ts'
import { withUsedServer } from '../harness/redis.ts'
import { figure } from '../harness/stats.ts'
import { single, type Section } from '../suite.ts'

const type = 'work'
const chunk = 1_000
/** Of a change by filter, as a user's. */
const batchMax = 100
/** What the server takes for a job at most. */
const jobBytes = 2_500
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
  maxAttempts: 2,
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

/** Claims jobs, a thousand at a time, and ends each thousand before the next one is claimed. */
const claimAnd =
  (end: Pick<Settlement, 'event' | 'to' | 'error' | 'delayMs'>): Phase =>
  async (store, count) => {
    for (let settled = 0; ;) {
      const demand = [{ type, max: Math.min(chunk, count - settled), limits: noLimits }]
      const { jobs } = await store.claim({ worker: 'bench', token: randomUUID(), leaseMs: 3_600_000, demand })
      const answers = await store.settle(jobs.map(({ id, attempt, token }) => ({ id, attempt, token, ...end })))
      settled += answers.filter(({ outcome }) => outcome === 'settled').length
      if (jobs.length === 0 || settled === count) return settled
    }
  }

/** Changes the jobs that match a filter, batch by batch, until `enough` have been changed. */
async function changeMatching(store: Store, change: BulkChange, filter: JobFilter, enough: number): Promise<number> {
  const lease = { id: change.kind, token: 't', leaseMs: 10_000 }
  const sum = ({ counts }: BulkOperation): number => Object.values(counts).reduce((all, each) => all + each, 0)
  let { operation } = await store.bulk.start({
    ...lease,
    change,
    filter,
    expected: null,
    batchSize: Math.min(batchMax, enough),
  })
  while (operation?.state === 'running' && sum(operation) < enough) {
    ;({ operation } = await store.bulk.advance(lease))
  }
  await store.bulk.stop({ id: change.kind, error: null })
  return operation === null ? 0 : sum(operation)
}

const retryAll = (store: Store): Promise<number> =>
  changeMatching(store, { kind: 'retry', fromStart: false, dropInbox: 0 }, { type, state: 'dead' }, Infinity)

const cancelHalf = (store: Store, count: number): Promise<number> =>
  changeMatching(store, { kind: 'cancel', reason: null, graceMs: 0 }, { type, state: 'queued' }, count)

const discardHalf = (store: Store, count: number): Promise<number> =>
  changeMatching(store, { kind: 'discard' }, { type }, count)

async function pruneRest(store: Store): Promise<number> {
  await store.retain({ types: new Map(), others: { done: keepNone, dead: keepNone, cancelled: keepNone } })
  for (let pruned = 0; ;) {
    const answer = await store.prune(chunk)
    pruned += answer.pruned
    if (!answer.more) return pruned
  }
}

const phases: readonly (readonly [name: string, phase: Phase, part?: number])[] = [
  ['inserted, due at once', insertAll],
  ['made ready', promoteAll],
  ['claimed, and to be retried', claimAnd({ event: 'FAIL', to: 'retrying', error: boom, delayMs: 1 })],
  ['made ready again', promoteAll],
  ['claimed, and dead', claimAnd({ event: 'FAIL', to: 'dead', error: boom })],
  ['retried by filter', retryAll],
  ['cancelled by filter: half', cancelHalf, 0.5],
  ['claimed, and done: the others', claimAnd({ event: 'COMPLETE', to: 'done' }), 0.5],
  ['discarded by filter: half', discardHalf, 0.5],
  ['pruned: the rest', pruneRest, 0.5],
]

/** Processor time of the server's main thread, ms. */
function mainThreadMs(info: Reply): number {
  const of = (name: string): number =>
    Number(new RegExp(`used_cpu_${name}_main_thread:(.*)`).exec(String(info))?.[1] ?? 'NaN')
  return (of('user') + of('sys')) * 1_000
}

interface Took {
  readonly command: string
  readonly ms: number
}

const nothing: Took = { command: 'nothing', ms: 0 }

/** Functions of the library have a digest in their names. */
const nameOf = ([name = '', script = '']: readonly string[]): string =>
  name === 'FCALL' ? script.replace(/^jobchart_[^_]*_/, '') : name

/** The commands that clients send, and the longest of them. */
class Longest {
  private longest = nothing

  /** The longest since the last call. */
  take(): Took {
    const { longest } = this
    this.longest = nothing
    return longest
  }

  /** The server works on the commands of a client in their order: counters before and after are of one command. */
  of(client: RedisClient): RedisClient {
    return {
      connect: () => client.connect(),
      send: async (command) => {
        const [before, answer, after] = await Promise.allSettled([
          client.send(['INFO', 'cpu']),
          client.send(command),
          client.send(['INFO', 'cpu']),
        ])
        if (before.status === 'fulfilled' && after.status === 'fulfilled') {
          const ms = mainThreadMs(after.value) - mainThreadMs(before.value)
          if (ms > this.longest.ms) this.longest = { command: nameOf(command), ms }
        }
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
    `the longest command of the server while ${bench.sized(100_000).toLocaleString('en-US')} jobs go through each phase`,
  run: (bench) =>
    withUsedServer(jobBytes * bench.sized(100_000), async (url) => {
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
        const rows = []
        for (const [i, [name, phase, part = 1]] of phases.entries()) {
          bench.progress(i, phases.length, name)
          verifyEqual(`jobs ${name}`, await phase(store, count * part), count * part)
          const { command, ms } = longest.take()
          rows.push(single(`${name} (${command})`, 'ms', figure(name, [ms]), { atMost: 10 }))
        }
        const { done = 0, cancelled = 0 } = (await store.counts()).types[type] ?? {}
        verifyEqual('jobs left', done + cancelled, 0)
        return { rows }
      } finally {
        await store.close()
      }
    }),
}
