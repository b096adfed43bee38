/**
 * Machines on a store that fails: workers that do as they should, but die, lose replies and repeat themselves, by the
 * hundred. Whatever happens to them, the checker finds nothing; and it finds what a store forgets.
 */
import { memoryStore, type JobRecord, type Store } from 'jobchart'
import { checkHistory, finalState, recordingStore, type HistoryLine, type HistoryVerdict } from 'jobchart/store-testing'
import { faultyStore, seededRandom, VirtualClock } from 'jobchart/testing'
import { expect, test } from 'vitest'
import type { InboxEntry, NewCheckpoint } from '../../src/core/machine-record.ts'
import type { Settlement } from '../../src/core/settlement.ts'
import type { ClaimedJob } from '../../src/store.ts'
import { isLong } from '../harness/long-form.ts'
import { newJob } from './new-job.ts'

const leaseMs = 1_000
const ids = ['a', 'b', 'c']

class Death extends Error {}

class World {
  readonly clock = new VirtualClock()
  readonly lines: HistoryLine[] = []
  readonly chance: (probability: number) => boolean
  private readonly road
  private readonly store: Store
  private tokens = 0
  private keys = 0
  private calm = false

  constructor(seed: number, store: Store) {
    const random = seededRandom(seed)
    this.chance = (probability) => !this.calm && random() < probability
    this.road = faultyStore(store, { random, clock: this.clock, faults: { every: { before: 0.1, lostReply: 0.1 } } })
    this.store = recordingStore(this.road, (line) => void this.lines.push(structuredClone(line)))
  }

  /** Asks until there is an answer, unless the one who asks dies first. */
  async ask<T>(question: (store: Store) => T | Promise<T>, mortal = true): Promise<T> {
    for (;;) {
      try {
        return await question(this.store)
      } catch (error) {
        if ((error as { code?: string }).code !== 'STORE_UNAVAILABLE') throw error
        if (mortal && this.chance(0.2)) throw new Death()
      }
    }
  }

  async enqueue(): Promise<void> {
    for (const id of ids) {
      const parent = id === 'c' ? { parent: { id: 'a', checkins: true } } : {}
      const jobs = [{ ...newJob(id), maxAttempts: 2, ...parent }]
      await this.ask((store) => store.insert([{ jobs, capacity: null }]), false)
    }
  }

  async run(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      await this.outside()
      await this.clock.advance(100)
      await this.work(round % 2 === 0 ? 'w1' : 'w2')
    }
    this.road.calm()
    this.calm = true
    for (let round = 0; round < 20; round++) {
      await this.clock.advance(leaseMs)
      await this.message(ids[round % 3] as string)
      await this.ask((store) => store.rescue(10))
      await this.ask((store) => store.promote(10))
      await this.work('w3')
    }
  }

  async verdict(): Promise<HistoryVerdict> {
    return checkHistory(this.lines, { final: await finalState(this.store) })
  }

  private async message(id: string): Promise<void> {
    const message = { kind: 'event', event: { type: 'GO' } } as const
    const key = `l${++this.keys}`
    await this.ask((store) => store.send([{ id, message, key, expect: null }]))
  }

  private async outside(): Promise<void> {
    try {
      for (const id of ids) if (this.chance(0.3)) await this.message(id)
      if (this.chance(0.05)) await this.ask((store) => store.cancel([{ ids: ['b'], reason: null, graceMs: 0 }]))
      if (this.chance(0.2)) await this.ask((store) => store.retry(ids, this.chance(0.5)), false)
      if (this.chance(0.2)) await this.clock.advance(leaseMs)
      await this.ask((store) => store.rescue(10))
      await this.ask((store) => store.promote(10))
    } catch (error) {
      if (!(error instanceof Death)) throw error
    }
  }

  private async work(worker: string): Promise<void> {
    const token = `t${++this.tokens}`
    const demand = [{ type: 'job', max: 3, limits: { concurrency: null, perKey: null, rate: null } }]
    try {
      // A claim is not repeated: nobody knows what a lost one has given.
      const { jobs } = await this.store.claim({ worker, token, leaseMs, demand })
      for (const job of jobs) await this.host(job)
    } catch (error) {
      // A worker to whom a store has told something wrong may ask for what cannot be: it dies of that, too.
      const isFatal = error instanceof Death || error instanceof TypeError
      if (!isFatal && (error as { code?: string }).code !== 'STORE_UNAVAILABLE') throw error
    }
  }

  /**
   * Reads what there is, message by message, and rests now and then; a machine that has read three messages is done.
   */
  private async host({ id, attempt, token, checkpoint, inbox }: ClaimedJob): Promise<void> {
    const held = { id, attempt, token }
    const kept = checkpoint?.state as { readonly read: number; readonly count: number } | undefined
    let [number, read, count, waiting] = [checkpoint?.number ?? 0, kept?.read ?? 0, kept?.count ?? 0, [...inbox]]
    const rest = (): NewCheckpoint => {
      return { number: ++number, state: { read, count }, read, note: '', takesCancel: id === 'b' }
    }
    const arrive = (messages: readonly InboxEntry[]): void => {
      const last = waiting.at(-1)?.number ?? read
      waiting = [...waiting, ...messages.filter((mail) => mail.number > last)]
    }
    while (waiting.length > 0 || this.chance(0.3)) {
      const mail = waiting.shift()
      if (mail !== undefined) read = mail.number
      if (mail !== undefined) count++
      if (this.chance(0.1)) throw new Death()
      if (this.chance(0.05)) {
        await this.clock.advance(leaseMs)
        await this.ask((store) => store.rescue(10))
      }
      if (this.chance(0.5)) {
        const written = rest()
        const [answer] = await this.ask((store) => store.checkpoint([{ ...held, checkpoint: written }]))
        if (answer?.outcome === 'lost') return
        arrive(answer?.inbox ?? [])
      }
      if (this.chance(0.3)) {
        const messages = waiting.at(-1)?.number ?? read
        const [beat] = await this.ask((store) =>
          store.extend({ worker: 'w', leaseMs, heartbeats: [{ ...held, lastMessageNumber: messages }] }),
        )
        if (beat?.outcome === 'lost') return
        arrive(beat?.inbox ?? [])
      }
    }
    await this.settle(held, count >= 3 ? 'COMPLETE' : this.chance(0.2) ? 'FAIL' : 'PARK', rest())
  }

  private async settle(
    held: Pick<Settlement, 'id' | 'attempt' | 'token'>,
    event: Settlement['event'],
    checkpoint: NewCheckpoint,
  ) {
    const delay = event === 'FAIL' ? { delayMs: 10, error: { name: 'Error', message: 'no' } } : {}
    await this.ask((store) => store.settle([{ ...held, event, to: 'done', checkpoint, ...delay }]))
  }
}

async function told(seed: number, change: (store: Store) => Partial<Store> = () => ({})): Promise<HistoryVerdict> {
  const store = memoryStore()
  const world = new World(seed, { ...store, ...change(store) })
  await store.open({ clock: world.clock })
  await world.enqueue()
  await world.run(25)
  return world.verdict()
}

const fleets = isLong ? 200 : 60

test(`of ${fleets} fleets of machines that fail as machines do, all are clean`, async () => {
  const sums = { attempts: 0, rescues: 0, unknown: 0, lostSettles: 0 }
  for (let seed = 1; seed <= fleets; seed++) {
    const { violations, figures } = await told(seed)
    expect(violations, `seed ${seed}`).toEqual([])
    for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += figures[name]
  }
  for (const sum of Object.values(sums)) expect(sum).toBeGreaterThan(isLong ? 25 : 5)
})

const forget: Readonly<Record<string, (store: Store) => Partial<Store>>> = {
  'acknowledges checkpoints that it does not write': (store) => {
    let calls = 0
    const kept = { outcome: 'kept', seq: 1, at: 0, maxAttempts: 2, inbox: [] } as const
    return { checkpoint: (requests) => (++calls % 4 === 0 ? requests.map(() => kept) : store.checkpoint(requests)) }
  },
  'forgets where a machine stands': (store) => ({
    claim: async (request) => {
      const answer = await store.claim(request)
      return { ...answer, jobs: answer.jobs.map((job) => ({ ...plain(job), checkpoint: null })) }
    },
  }),
  'loses the first message of an inbox': (store) => ({
    claim: async (request) => {
      const answer = await store.claim(request)
      return { ...answer, jobs: answer.jobs.map((job) => ({ ...plain(job), inbox: job.inbox.slice(1) })) }
    },
  }),
  'hands messages out again': (store) => {
    const seen = new Map<string, InboxEntry[]>()
    return {
      claim: async (request) => {
        const answer = await store.claim(request)
        const jobs = answer.jobs.map((job) => {
          const all = [...(seen.get(job.id) ?? []), ...job.inbox]
          const inbox = [...new Map(all.map((mail) => [mail.number, mail])).values()]
          seen.set(job.id, inbox)
          return { ...plain(job), inbox }
        })
        return { ...answer, jobs }
      },
    }
  },
  'acknowledges messages that it does not keep': (store) => {
    let calls = 0
    return {
      send: (requests) => {
        if (++calls % 5 > 0) return store.send(requests)
        return requests.map(() => ({ outcome: 'kept', state: 'running' }))
      },
    }
  },
}

const plain = (job: ClaimedJob): ClaimedJob => {
  const { id, type, input, priority, concurrencyKey, attempt, maxAttempts, generation, token, startedAt, seq, steps } =
    job
  const told = {
    id,
    type,
    input,
    priority,
    concurrencyKey,
    attempt,
    maxAttempts,
    generation,
    token,
    startedAt,
    seq,
    steps,
  }
  const { checkpoint, inbox, version, meta, pins } = job
  return { ...told, checkpoint, inbox, version, meta, pins, record: (): JobRecord => job.record() }
}

test.each(Object.entries(forget))('a store that %s is found out', async (_, change) => {
  let found = 0
  for (let seed = 1; seed <= 20; seed++) {
    if ((await told(seed, change)).counts.I11 !== undefined) found++
  }
  expect(found).toBeGreaterThan(10)
})
