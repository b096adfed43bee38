/**
 * Makes the data set: a day and two hours of a shop with many tenants, up to three in the morning, when payments fail,
 * a release has broken invoices, and a queue has no worker. The same numbers and seed give the same jobs.
 *
 * Plain jobs are written through the store's contract, in bulk; orders and imports are run by a runtime, so that their
 * machines stand where they would. Time is the set's own: it is moved on while nothing runs.
 */
import { createRuntime, type Clock, type EnqueueOptions, type ErrorRecord, type Runtime } from 'jobchart'
import type { ClaimedJob, NewJob, Settlement, Store, WorkerInfo } from 'jobchart/store'
import { seededRandom } from 'jobchart/testing'
import { systemClock } from '../../src/core/clock.ts'
import { completed, dead, retryAfter, unsupported } from '../../src/core/settlement.ts'
import { catalog, machineJobs, order } from './jobs.ts'

/** When the set ends: three in the morning. Its dashboard goes on from there. */
export const eyesEnd = Date.UTC(2026, 0, 15, 3)
const minute = 60_000
const hour = 60 * minute

/** A clock that stands still until it is set. */
class SetClock implements Clock {
  at: number
  readonly monotonic: Clock['monotonic'] = () => systemClock.monotonic()
  readonly timer: Clock['timer'] = (run, ms, options) => systemClock.timer(run, ms, options)
  readonly nextTurn: Clock['nextTurn'] = (run) => systemClock.nextTurn(run)

  constructor(at: number) {
    this.at = at
  }

  readonly now = (): number => this.at
}

export interface EyesOptions {
  /** About so many jobs; at least 1,000. */
  readonly jobs: number
  readonly seed: number
  /** Called after each step of time. */
  readonly progress?: (done: number, of: number) => void
}

interface Flow {
  readonly type: string
  /** Its part of the plain jobs. */
  readonly share: number
  readonly queuedMs: number
  readonly runMs: number
  /** How an attempt ends: an error, or null if it is done. */
  readonly fails: (at: number, draw: number, n: number) => { readonly error: ErrorRecord; readonly fatal?: true } | null
  /** Have some of its jobs a unique key? */
  readonly keyed?: true
}

const incidentAt = eyesEnd - 42 * minute
const releaseAt = eyesEnd - 3 * hour

const error = (name: string, message: string, code?: string): ErrorRecord => ({
  name,
  message,
  stack: `${name}: ${message}\n    at run (file:///srv/shop/dist/${name.toLowerCase()}.js:41:11)`,
  ...(code !== undefined && { code }),
})

const flows: readonly Flow[] = [
  {
    type: 'email.send',
    share: 0.4,
    queuedMs: 120,
    runMs: 240,
    fails: (_, draw, n) => {
      if (draw < 0.004)
        return { error: error('SmtpError', `550 mailbox user${n}@example.com unavailable`), fatal: true }
      return draw < 0.012 ? { error: error('SmtpError', '421 try again later', 'ETEMPFAIL') } : null
    },
  },
  {
    type: 'webhook.deliver',
    share: 0.22,
    queuedMs: 300,
    runMs: 900,
    fails: (at, draw, n) => {
      if (draw < 0.01)
        return { error: error('FetchError', `connect ECONNREFUSED 10.0.3.${n % 250}:443`, 'ECONNREFUSED') }
      if (at < incidentAt || draw > 0.25) return null
      return { error: error('FetchError', `POST https://hooks.example/t/${n} answered 503`, 'ERR_BAD_RESPONSE') }
    },
  },
  { type: 'search.index', share: 0.16, queuedMs: 80, runMs: 60, keyed: true, fails: conflict },
  { type: 'image.resize', share: 0.1, queuedMs: 700, runMs: 4_000, fails: () => null },
  {
    type: 'invoice.render',
    share: 0.06,
    queuedMs: 200,
    runMs: 1_500,
    fails: (at, draw, n) => {
      if (at < releaseAt || draw > 0.6) return null
      return { error: error('TypeError', `invoice inv_${n % 9}: cannot read 'lines' of undefined`), fatal: true }
    },
  },
  { type: 'sms.send', share: 0.04, queuedMs: 150, runMs: 300, fails: () => null },
]

function conflict(_: number, draw: number, n: number): ReturnType<Flow['fails']> {
  return draw < 0.003 ? { error: error('ConflictError', `product sku-${n} has changed (rev ${n % 40})`, '409') } : null
}

const tenants = Array.from({ length: 40 }, (_, i) => ['acme', 'globex', 'initech', 'umbrella'][i] ?? `tenant-${i}`)
const workers = ['web-1', 'web-2', 'bulk-1'] as const
const regions = ['eu', 'us', 'apac'] as const

/** Steps of time: quarters of an hour for a day and an hour, then minutes. */
const steps = [
  ...Array.from({ length: 100 }, (_, i) => ({ at: eyesEnd - 26 * hour + i * 15 * minute, length: 15 * minute })),
  ...Array.from({ length: 60 }, (_, i) => ({ at: eyesEnd - hour + i * minute, length: minute })),
]
/** How busy an hour of the day is: 0…1. */
const busy = (at: number): number => 0.35 + 0.65 * Math.sin((Math.PI * ((at / hour) % 24)) / 24) ** 2
const weights = steps.map(({ at, length }) => busy(at) * length)
const weightOfAll = weights.reduce((sum, each) => sum + each, 0)

/** Fills an empty store. @returns how many jobs it has */
export async function makeEyes(store: Store, options: EyesOptions): Promise<number> {
  const clock = new SetClock(steps[0]?.at ?? eyesEnd)
  await store.open({ clock })
  const runtime = createRuntime({
    jobs: machineJobs,
    store,
    clock,
    concurrency: 100,
    lease: '30m',
    retention: { done: keepAll, dead: keepAll, cancelled: keepAll },
    logger: {},
    name: 'maker',
  })
  await runtime.start()
  const maker = new Maker(store, clock, runtime, options)
  await maker.schedules()
  for (const [i, step] of steps.entries()) {
    await maker.step(step, (weights[i] ?? 0) / weightOfAll)
    options.progress?.(i + 1, steps.length)
  }
  await runtime.stop({ mode: 'finish' })
  await maker.leaveBehind()
  const { types: _, ...counts } = await store.counts()
  await store.close()
  return Object.values(counts).reduce((sum, each) => sum + each, 0)
}

const keepAll = { age: '30d', count: 1_000_000_000 } as const

class Maker {
  private readonly store: Store
  private readonly clock: SetClock
  private readonly runtime: Runtime
  private readonly jobs: number
  private readonly random: () => number
  private made = 0
  private orders = 0
  private imports = 0
  private claims = 0
  /** The orders that somebody will handle, and in how many steps. */
  private readonly waits = new Map<string, number>()

  constructor(store: Store, clock: SetClock, runtime: Runtime, { jobs, seed }: EyesOptions) {
    this.store = store
    this.clock = clock
    this.runtime = runtime
    this.jobs = jobs
    this.random = seededRandom(seed)
  }

  /** What happens in a step: jobs come, are claimed after a while, and end. */
  async step({ at, length }: (typeof steps)[number], part: number): Promise<void> {
    this.clock.at = at
    for (let more = true; more;) ({ more } = await this.store.promote(1_000))
    await this.machines(part)
    const acts: { readonly at: number; readonly act: () => Promise<void> }[] = []
    for (const flow of flows) {
      const count = Math.round(this.jobs * 0.934 * flow.share * part)
      const slow = at >= incidentAt && flow.type === 'webhook.deliver' ? 20 : 1
      const startAt = at + 1_000 + Math.round(flow.queuedMs * slow * (0.6 + this.random()))
      const endAt = startAt + Math.round(flow.runMs * (0.5 + this.random()))
      let claimed: readonly ClaimedJob[] = []
      acts.push(
        { at: at + 1_000, act: () => this.insert(flow, count) },
        { at: startAt, act: async () => void (claimed = await this.claim(flow.type)) },
        { at: endAt, act: () => this.settle(flow, claimed) },
      )
    }
    if (at >= eyesEnd - 3 * hour)
      acts.push({ at: at + 2_000, act: () => this.insert(noWorker, 1 + Math.round(part * 400)) })
    for (const { at: when, act } of acts.toSorted((a, b) => a.at - b.at)) {
      this.clock.at = Math.max(this.clock.at, when)
      await act()
    }
    this.clock.at = at + length - 1
  }

  private readonly pick = <T>(from: readonly T[]): T => from[Math.floor(this.random() * from.length)] as T
  /** The first ones are picked more often. */
  private readonly tenant: () => string = () => tenants[Math.floor(tenants.length * this.random() ** 3)] ?? 'acme'

  private async insert({ type, keyed }: Inserted, count: number): Promise<void> {
    for (let left = count; left > 0; left -= 500) {
      const jobs = Array.from({ length: Math.min(500, left) }, (): NewJob => {
        const n = ++this.made
        const customer = `cus_${Math.floor(9_000 * this.random())}`
        return {
          id: `${type.slice(0, type.indexOf('.'))}-${n.toString(36).padStart(6, '0')}`,
          type,
          input: { n, customer },
          priority: this.random() < 0.05 ? 10 : 0,
          maxAttempts: 3,
          tags: this.random() < 0.2 ? [this.pick(regions), ...(this.random() < 0.1 ? ['vip'] : [])] : [],
          ...(this.random() < 0.3 && { meta: { tenant: this.tenant(), customer } }),
          concurrencyKey: null,
          runAt: null,
          delayMs: this.random() < 0.003 ? Math.round((1 + 40 * this.random()) * hour) : 0,
          key: keyed === true && n % 50 === 0 ? `product-${n}` : null,
          onConflict: 'keep',
        }
      })
      await this.store.insert([{ jobs, capacity: null }])
    }
  }

  private async claim(type: string): Promise<readonly ClaimedJob[]> {
    const all: ClaimedJob[] = []
    for (;;) {
      const worker = workers[this.claims++ % workers.length] as string
      const token = `token-${this.claims}`
      const demand = [{ type, max: 500, limits: noLimits }]
      const { jobs } = await this.store.claim({ worker, token, leaseMs: hour, demand })
      all.push(...jobs)
      if (jobs.length < 500) return all
    }
  }

  private async settle({ fails }: Flow, jobs: readonly ClaimedJob[]): Promise<void> {
    for (let from = 0; from < jobs.length; from += 500) {
      await this.store.settle(
        jobs.slice(from, from + 500).map((job): Settlement => {
          const failed = fails(this.clock.at, this.random(), Math.floor(1_000 * this.random()))
          if (failed === null) return completed(job, { ok: true })
          if (failed.fatal || job.attempt >= job.maxAttempts) return dead(job, failed.error)
          return retryAfter(job, failed.error, 40 * minute)
        }),
      )
    }
  }

  // ── machines ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Orders come, their payments are made or fail, and most of them are packed. */
  private async machines(part: number): Promise<void> {
    const { runtime } = this
    const due = Math.max(1, Math.round(this.jobs * 0.02 * part))
    const ids = await Promise.all(Array.from({ length: due }, () => this.order()))
    if (this.imports < 6 && this.clock.at > eyesEnd - 20 * hour + this.imports * 3 * hour) {
      const id = `catalog-${++this.imports}`
      const input = { rows: Math.min(300, Math.ceil(this.jobs / 1_000)), failsEach: this.imports === 6 ? 97 : 1_000 }
      await runtime.enqueue(catalog, input, { id, meta: { tenant: this.tenant() }, tags: ['nightly'] })
    }
    await runtime.drain()
    // Each order waits for one to three steps of time.
    for (const [id, left] of this.waits) {
      if (left > 1) this.waits.set(id, left - 1)
      else this.waits.delete(id)
      if (left === 1) await this.handled(id)
    }
    for (const id of ids) if (this.random() < 0.9) this.waits.set(id, 1 + Math.floor(3 * this.random()))
    await runtime.drain()
  }

  /** @returns the id of a new order */
  private async order(): Promise<string> {
    const n = ++this.orders
    const customer = n % 40 === 9 ? 'cus_9' : `cus_${Math.floor(9_000 * this.random())}`
    const fails = this.clock.at >= incidentAt ? this.random() < 0.5 : this.random() < 0.01
    const orderId = `order-${n.toString().padStart(6, '0')}`
    const amount = Math.round(5 + 1_000 * this.random())
    const input = {
      orderId,
      customer,
      amount,
      ...(fails && { fails: `gateway gave no answer for ${customer} within 30 s` }),
    }
    const options: EnqueueOptions = {
      id: orderId,
      meta: { tenant: this.tenant(), customer },
      tags: [this.pick(regions), ...(amount > 900 ? ['large'] : [])],
    }
    return (await this.runtime.enqueue(order, input, options)).id
  }

  /** A person or the warehouse sends what the order waits for. */
  private async handled(id: string): Promise<void> {
    const [record] = await this.store.get([id])
    const stands = record?.machineStates.at(-1) ?? ''
    const draw = this.random()
    const event =
      stands === 'packing' && draw < 0.93
        ? { type: 'PACKED' }
        : stands === 'approval' && draw < 0.6
          ? { type: draw < 0.05 ? 'REJECT' : 'APPROVE', by: 'mary' }
          : stands === 'attention' && draw < 0.1
            ? { type: 'GIVE_UP' }
            : null
    if (event !== null) await this.runtime.send(id, event)
  }

  // ── what stands at the end ─────────────────────────────────────────────────────────────────────────────────────────

  /** Workers, runs, schedules and jobs that nobody can go on with, as they are at three in the morning. */
  async leaveBehind(): Promise<void> {
    const { store, clock } = this
    clock.at = eyesEnd - minute
    await this.unsupportedOrders()
    await store.worker('worker-lost', {
      ...workerInfo('bulk-2', 8, ['image.resize', 'report.build'], clock.at - hour),
      leaseMs: 30_000,
    })
    clock.at = eyesEnd - 20_000
    await this.runs('image.resize', 'web-1', 4)
    await this.runs('email.send', 'web-2', 3)
    await this.insert({ type: 'invoice.render' }, 40)
    clock.at = eyesEnd - 1_000
    const types = flows.map(({ type }) => type)
    for (const name of workers) await store.worker(name, workerInfo(name, 10, types, eyesEnd - 9 * hour))
    await this.ticks()
    clock.at = eyesEnd
  }

  private async unsupportedOrders(): Promise<void> {
    const ids = Array.from({ length: 3 }, (_, i) => `order-old-${i + 1}`)
    const { store } = this
    const blank = {
      type: 'order',
      priority: 0,
      maxAttempts: 3,
      concurrencyKey: null,
      runAt: null,
      delayMs: 0,
      key: null,
    }
    const jobs = ids.map((id): NewJob => ({
      ...blank,
      id,
      input: { orderId: id, customer: 'cus_17', amount: 40 },
      tags: ['eu'],
      meta: { tenant: 'acme', customer: 'cus_17' },
      version: '1',
      onConflict: 'keep',
    }))
    await store.insert([{ jobs, capacity: null }])
    const claimed = (await this.claim('order')).filter(({ id }) => ids.includes(id))
    await store.settle(claimed.map((job) => unsupported(job, '1', 'no process has version 1 of order')))
  }

  /** Jobs that run now. */
  private async runs(type: string, worker: string, count: number): Promise<void> {
    await this.insert({ type }, count)
    const token = `${worker} ${type}`
    const leaseMs = 10_000 * hour
    const demand = [{ type, max: count, limits: noLimits }]
    const { jobs } = await this.store.claim({ worker, token, leaseMs, demand })
    const checkin = { at: this.clock.at, value: { percent: 40 } }
    await this.store.extend({
      worker,
      leaseMs,
      heartbeats: jobs.map(({ id, attempt }) => ({ id, attempt, token, checkin })),
    })
  }

  async schedules(): Promise<void> {
    const { schedules } = this.store
    for (const { name, spec, timezone = 'UTC', type, nextAt } of declared) {
      const terms = { name, spec, timezone, catchUp: 'skip', overlap: 'allow', jitterMs: 0, computed: false } as const
      const paused = nextAt === null
      // The runtime that makes the set fires none.
      const later = eyesEnd + 100 * hour
      const request = {
        terms: { ...terms, owner: 'shop', job: { ...scheduledJob, type } },
        paused,
        nextAt: paused ? null : later,
      }
      await schedules.put([request])
    }
  }

  /** The last tick of each schedule was fired, or missed. */
  private async ticks(): Promise<void> {
    const { schedules } = this.store
    for (const { name, type, nextAt, missed = 0 } of declared) {
      if (nextAt === null) continue
      const [stored] = await schedules.list([name])
      if (stored === undefined) throw new Error(`schedule ${name} was not kept`)
      const { revision } = stored
      const at = eyesEnd - hour
      const tick: NewJob = { ...scheduledJob, id: `${name} ${at}`, type, runAt: null, delayMs: 0 }
      const ticks = missed > 0 ? [] : [{ at, job: tick }]
      await schedules.fire([{ name, ticks, advance: { revision, nextAt, missed } }])
    }
  }
}

const scheduledJob = {
  input: {},
  priority: 0,
  maxAttempts: 3,
  tags: ['nightly'],
  concurrencyKey: null,
  key: null,
  onConflict: 'keep',
} as const

interface Declared {
  readonly name: string
  readonly spec: string
  readonly timezone?: string
  readonly type: string
  /** Null: it is paused. A time that has passed: nobody has fired it. */
  readonly nextAt: number | null
  readonly missed?: number
}

const declared: readonly Declared[] = [
  {
    name: 'report of the day',
    spec: '0 0 3 * * *',
    timezone: 'Europe/Berlin',
    type: 'report.build',
    nextAt: eyesEnd + 23 * hour,
  },
  {
    name: 'ledger of the night',
    spec: '0 30 1 * * *',
    type: 'ledger.export',
    nextAt: eyesEnd + 22.5 * hour,
    missed: 1,
  },
  { name: 'reminders', spec: '0 */15 * * * *', type: 'email.send', nextAt: eyesEnd + 15 * minute },
  { name: 'index rebuild', spec: '0 45 2 * * *', type: 'search.index', nextAt: eyesEnd - 15 * minute },
  { name: 'old newsletter', spec: '0 0 9 * * 1', timezone: 'Europe/Berlin', type: 'email.send', nextAt: null },
]

type Inserted = Pick<Flow, 'type' | 'keyed'>
/** No worker runs it. */
const noWorker: Inserted = { type: 'ledger.export' }
const noLimits = { concurrency: null, perKey: null, rate: null } as const

const workerInfo = (name: string, slots: number, types: readonly string[], startedAt: number): WorkerInfo => ({
  id: name,
  name,
  host: `${name}.shop.example`,
  pid: 4_000 + name.length,
  version: '0.1.0',
  slots,
  types,
  definitions: {},
  events: {},
  limits: {},
  // Nobody sends its heartbeats.
  leaseMs: 1_000 * hour,
  startedAt,
})
