/**
 * A short life in a bad neighbourhood: two runtimes, each with its own road to one store, on which calls fail, are late,
 * or lose their replies. Then all is calm, everything must drain, and what was promised is looked at from outside.
 * A seed decides everything, so that a failure can be played again.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  createRuntime,
  defineJob,
  memoryStore,
  type JobDefinition,
  type JobRecord,
  type Logger,
  type Runtime,
} from 'jobchart'
import { faultyStore, seededRandom, VirtualClock, type FaultyStore } from 'jobchart/testing'

export interface Outcome {
  /** Promises that were broken; none, one hopes. */
  readonly broken: readonly string[]
  /** How often each thing happened: a quiet life proves little. */
  readonly seen: Readonly<Record<string, number>>
  /** Every move of every job, to compare two lives of the same seed. */
  readonly trace: readonly string[]
}

const maxAttempts = 4
const cap = 2
const slots = 3
const stormMs = 20_000
const drainMs = 120_000
const live = ['scheduled', 'queued', 'running', 'retrying', 'waiting', 'cancelling'] as const

/** What the handlers report as they go. */
interface Attempt {
  readonly id: string
  readonly attempt: number
  readonly worker: string | null
  readonly signal: AbortSignal
}

interface Output {
  readonly n: number
  readonly attempt: number
}

export class Simulation {
  readonly clock = new VirtualClock()
  private readonly random: () => number
  private readonly store = memoryStore({ clock: this.clock })
  private readonly roads: FaultyStore[] = []
  private readonly runtimes: Runtime[] = []
  private readonly broken: string[] = []
  private readonly seen: Record<string, number> = {}
  private readonly active = new Set<Attempt>()
  private readonly starts = new Map<string, Attempt[]>()
  private readonly acknowledged = new Set<string>()
  /** By which runtimes a cancel was acknowledged. */
  private readonly cancelledBy = new Map<string, Set<string>>()
  private readonly calls: Promise<unknown>[] = []
  private readonly jobs: readonly JobDefinition<number, Output>[]
  private named = 0

  constructor(seed: number) {
    this.random = seededRandom(seed)
    this.jobs = [this.define('plain'), this.define('capped', { concurrency: cap })]
    for (let i = 0; i < 2; i++) this.runtimes.push(this.runtime(seed * 2 + i))
  }

  async live(): Promise<Outcome> {
    for (const runtime of this.runtimes) await runtime.start()
    while (this.clock.monotonic() < stormMs) {
      this.act()
      await this.clock.advance(this.below(400))
    }
    for (const road of this.roads) road.calm()
    await this.drain()
    await Promise.allSettled(this.calls)
    const records = await this.store.list({ limit: 1_000 })
    this.judge(records)
    await this.end()
    const trace = records.map(({ type, history }) =>
      [type, ...history.map(({ event, at }) => `${event} ${at}`)].join(' '),
    )
    return { broken: this.broken, seen: this.seen, trace }
  }

  private define(type: string, limits: { concurrency?: number } = {}): JobDefinition<number, Output> {
    return defineJob<number, Output>({
      type,
      ...limits,
      timeout: '4s',
      retry: { maxAttempts, backoff: () => 1 + this.below(2_000) },
      run: async (n, { id, attempt, job: { worker }, signal, step, checkin }) => {
        const self = { id, attempt, worker, signal }
        this.started(self, type)
        try {
          checkin(attempt)
          await step('begin', () => n)
          await this.clock.sleep(this.below(3_000), signal)
          if (this.chance(0.2)) throw new Error('now and then')
          return { n, attempt }
        } finally {
          this.active.delete(self)
        }
      },
    })
  }

  private runtime(seed: number): Runtime {
    const fault = (): number => this.random() * 0.2
    const every = { before: fault(), lostReply: fault(), late: fault() / 2, lateBy: 1 + this.below(1_000) }
    // Whether a runtime starts and leaves well is another matter.
    const faults = { every, open: {}, close: {}, worker: {} }
    const road = faultyStore(this.store, { seed, clock: this.clock, faults })
    this.roads.push(road)
    const { jobs, clock } = this
    const random = seededRandom(seed)
    return createRuntime({
      jobs,
      store: road,
      clock,
      random,
      concurrency: slots,
      lease: '5s',
      grace: '1s',
      logger: silent,
    })
  }

  private act(): void {
    const runtime = this.pick(this.runtimes)
    const what = this.random()
    if (what < 0.6) this.enqueue(runtime)
    else if (what < 0.75) this.cancel(runtime)
    else if (what < 0.8) this.call('pause', runtime.queue('plain').pause())
    else if (what < 0.9) this.call('resume', runtime.queue('plain').resume())
    else if (what < 0.95) this.call('many', runtime.enqueueMany(this.pick(this.jobs), [1, 2, 3]))
    else if (this.chance(0.3)) this.cutOff(this.pick(this.roads))
  }

  private enqueue(runtime: Runtime): void {
    const id = `j${this.named++}`
    const options = { id, priority: this.below(3), ...(this.chance(0.3) && { delay: this.below(5_000) }) }
    const enqueued = runtime.enqueue(this.pick(this.jobs), this.named, options)
    this.call(
      'enqueue',
      enqueued.then(() => this.acknowledged.add(id)),
    )
  }

  private cancel(runtime: Runtime): void {
    const id = `j${this.below(this.named + 1)}`
    this.call(
      'cancel',
      runtime.cancel(id).then((report) => {
        for (const each of [...report.cancelled, ...report.cancelling]) {
          this.cancelledBy.set(each, (this.cancelledBy.get(each) ?? new Set()).add(runtime.id))
        }
      }),
    )
  }

  /** For the rest of the storm nothing gets through, or all of it far too late: to the others, this process is dead. */
  private cutOff(road: FaultyStore): void {
    this.count('cut off')
    road.disturb({ every: this.chance(0.5) ? { before: 1 } : { late: 1, lateBy: '8s' } })
  }

  private call(what: string, call: Promise<unknown>): void {
    this.calls.push(
      call.then(
        () => this.count(what),
        (error: { code?: string }) => this.count(`${what} ${error.code}`),
      ),
    )
  }

  private started(self: Attempt, type: string): void {
    const { id, attempt, worker } = self
    this.count('start')
    const before = this.starts.get(id) ?? []
    this.starts.set(id, [...before, self])
    if (this.cancelledBy.get(id)?.has(worker ?? '')) this.broken.push(`${id} started after its cancel was acknowledged`)
    if (before.some((earlier) => earlier.attempt >= attempt))
      this.broken.push(`${id}: attempt ${attempt} started twice`)
    for (const other of this.active) {
      if (other.id === id && !other.signal.aborted) this.broken.push(`${id} runs beside itself`)
    }
    this.active.add(self)
    const heard = [...this.active].filter(({ signal }) => !signal.aborted)
    if (heard.length > slots * this.runtimes.length) this.broken.push(`${heard.length} run in ${slots} slots each`)
    const capped = heard.filter((each) => this.typeOf.get(each.id) === 'capped' || (each === self && type === 'capped'))
    this.typeOf.set(id, type)
    if (type === 'capped' && capped.length > cap) this.broken.push(`${capped.length} of a type run, its cap is ${cap}`)
  }

  private readonly typeOf = new Map<string, string>()

  /** All calls are answered and all work is done, within a lease, a rescue and a backoff of each attempt. */
  private async drain(): Promise<void> {
    let answered = false
    void Promise.allSettled(this.calls).then(() => (answered = true))
    for (let waitedMs = 0; waitedMs < drainMs; waitedMs += 2_000) {
      await this.clock.advance('2s')
      if (!answered) continue
      // A pause that was late may have come last.
      await this.store.queue('plain', { paused: false })
      const states = await this.store.counts()
      if (live.every((state) => states[state] === 0)) return
    }
    this.broken.push(`it does not drain: ${JSON.stringify(await this.store.counts())}`)
  }

  private judge(records: readonly JobRecord[]): void {
    const ids = new Set(records.map(({ id }) => id))
    for (const id of this.acknowledged) if (!ids.has(id)) this.broken.push(`${id} was acknowledged and is not there`)
    for (const { id, state, attempt, output, input, history } of records) {
      this.count(state)
      if (!['done', 'dead', 'cancelled'].includes(state)) this.broken.push(`${id} is ${state} in the end`)
      const events = history.map(({ event }) => event)
      if (events.lastIndexOf('CLAIM') > events.indexOf('CANCEL') && events.includes('CANCEL')) {
        this.broken.push(`${id} was picked after its cancel`)
      }
      const ends = history.filter(({ to }) => ['done', 'dead', 'cancelled'].includes(to))
      if (ends.length !== 1) this.broken.push(`${id} ended ${ends.length} times`)
      const starts = this.starts.get(id)?.length ?? 0
      if (starts > maxAttempts || attempt > maxAttempts) this.broken.push(`${id} started ${starts} times`)
      if (state === 'done' && !isDeepStrictEqual(output, { n: input, attempt })) {
        this.broken.push(`${id} has the output of another attempt or job`)
      }
      if (state === 'done' && starts === 0) this.broken.push(`${id} is done and never started`)
    }
  }

  private async end(): Promise<void> {
    for (const runtime of this.runtimes) {
      const stopped = runtime.stop({ mode: 'finish', timeout: '10s' })
      await this.clock.advance('12s')
      const { completed, running } = await stopped
      if (!completed || running > 0) this.broken.push('it does not stop')
      const { taken } = await runtime.stats()
      if (taken > 0) this.broken.push(`${taken} permits are missing`)
    }
    if (this.clock.pending > 0) this.broken.push(`${this.clock.pending} timers are left`)
  }

  private count(what: string): void {
    this.seen[what] = (this.seen[what] ?? 0) + 1
  }

  private chance(probability: number): boolean {
    return this.random() < probability
  }

  private below(count: number): number {
    return Math.floor(this.random() * count)
  }

  private pick<T>(of: readonly T[]): T {
    return of[this.below(of.length)] as T
  }
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
