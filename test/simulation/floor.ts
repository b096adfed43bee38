/**
 * The floor, where handlers work: what they do by chance, and whether they should have been started, may go on, and get
 * back what they kept. Each start must have a lease of its own that lasts; a lease that runs out must have been
 * noticed.
 */
import { defineJob, fatal, snooze, type JobDefinition, type RunContext } from 'jobchart'
import type { Dice } from './dice.ts'
import type { Host } from './host.ts'
import type { Lease, Ledger } from './ledger.ts'
import type { Plan } from './plan.ts'

/** A process, as far as a handler knows it. */
export interface Workplace {
  readonly host: Host
  readonly worker: string
  /** How many may run now. */
  readonly slots: number
  /** Why nothing may start here now, if so. */
  readonly closed: string | null
  /** The pauses of queues that were acknowledged here, by type: which change of the queue each was. */
  readonly pauses: ReadonlyMap<string, number>
  readonly crash: () => void
}

export interface Output {
  readonly n: number
  readonly attempt: number
}

export type SimulatedJob = JobDefinition<number, Output>

interface Run {
  readonly name: string
  readonly lease: Lease
  readonly place: Workplace
  readonly signal: AbortSignal
  /** It never ends, whoever asks. */
  stuck: boolean
}

/** When the storm is over, a call may still be held up on its way there, and then be late on its way back. */
const aftermathMs = 17_000

export interface FloorOptions {
  readonly ledger: Ledger
  readonly dice: Dice
  readonly broken: (what: string) => void
  readonly count: (what: string) => void
  readonly trueNow: () => number
  readonly plan: Plan
}

export class Floor {
  private readonly active = new Set<Run>()
  /** By which workers a cancel was acknowledged. */
  private readonly cancelledBy = new Map<string, Set<string>>()
  /** What steps gave when they were kept, and by which lease. */
  private readonly steps = new Map<string, { readonly result: number; readonly order: number }>()
  private readonly stepless = new Set<string>()
  /** In which order things happened. */
  private order = 0
  private readonly lastStarts = new Map<string, number>()
  private calmSince: number | null = null
  private readonly options: FloorOptions

  constructor(options: FloorOptions) {
    this.options = options
  }

  /** Does any handler still go on that will end? */
  get busy(): boolean {
    return [...this.active].some(({ place, stuck }) => !stuck && !place.host.dead)
  }

  /** Handlers of a process that never end. */
  stuckAt(place: Workplace): number {
    return [...this.active].filter((run) => run.stuck && run.place === place).length
  }

  /** No handler brings its process down from now on, and no lease that begins from now on is lost. */
  calmDown(): void {
    this.calmSince = this.options.trueNow()
  }

  /** A cancel is asked for. Gives what `acknowledgeCancel` wants to know. */
  askCancel(): number {
    return ++this.order
  }

  acknowledgeCancel(worker: string, asked: number, ids: readonly string[]): void {
    const { ledger, broken } = this.options
    for (const id of ids) {
      this.cancelledBy.set(id, (this.cancelledBy.get(id) ?? new Set()).add(worker))
      const started = this.lastStarts.get(`${worker} ${id}`) ?? 0
      if (started > asked && !ledger.retried(id))
        broken(`${ledger.name(id)} was started while its cancel was under way`)
    }
  }

  /** It has another input now: what its steps gave no longer counts. */
  forgetSteps(id: string): void {
    this.stepless.add(id)
  }

  /** The types of a process: each with limits of its own kind. */
  jobs(place: () => Workplace): SimulatedJob[] {
    const { dice } = this.options
    const retry = { maxAttempts: 4, backoff: () => 1 + dice.below(2_000) }
    const run = (n: number, context: RunContext) => this.work(place(), n, context)
    const common = { retry, attemptTimeout: '4s', run } as const
    return [
      defineJob<number, Output>({ ...common, type: 'plain' }),
      defineJob<number, Output>({ ...common, type: 'capped', concurrency: 2, weight: 3 }),
      defineJob<number, Output>({ ...common, type: 'limited', rateLimit: { limit: 1, per: '1s' } }),
      defineJob<number, Output>({ ...common, type: 'keyed', concurrencyKey: (n) => `key ${n % 2}` }),
      defineJob<number, Output>({ ...common, type: 'once', retry: { maxAttempts: 1 } }),
      defineJob<number, Output>({ ...common, type: 'endless', retry, attemptTimeout: '1h' }),
    ]
  }

  /** A lease was taken back: whoever had it must have heard of it, if he could. */
  expired(lease: Lease): void {
    const { broken, ledger } = this.options
    if (this.calmSince !== null && lease.claimedAt > this.calmSince + aftermathMs) {
      broken(`the lease of ${ledger.name(lease.id)} ran out although nothing was wrong`)
    }
    for (const { lease: own, name, place, signal } of this.active) {
      if (own === lease && !excused({ lease, signal, place })) {
        broken(`${name} goes on although its lease ran out`)
      }
    }
  }

  private async work(place: Workplace, n: number, context: RunContext): Promise<Output> {
    const { dice, plan } = this.options
    const { host } = place
    // The lid was closed on the rest of a turn.
    if (host.dead) return new Promise(() => {})
    const run = this.begin(place, context)
    try {
      if (plan.fleet && this.calmSince === null && dice.chance(0.015)) {
        this.options.count('poison')
        place.crash()
        return await new Promise(() => {})
      }
      context.checkin(n)
      if (dice.chance(0.4)) await this.step(run, context)
      if (dice.chance(context.type === 'endless' ? 0.1 : 0.01)) {
        this.options.count('stuck')
        run.stuck = true
        return await new Promise(() => {})
      }
      if (context.type === 'endless') await host.sleep(3_600_000, context.signal)
      const deaf = dice.chance(0.05)
      if (deaf) this.options.count('deaf')
      await (deaf ? host.sleep(dice.below(8_000)) : host.sleep(dice.below(3_000), context.signal))
      const end = dice.weighted({ well: 75, error: 18, fatal: 3, snooze: 4 })
      if (end === 'error') throw new Error('now and then')
      if (end === 'fatal') throw fatal('never again')
      if (end === 'snooze') throw snooze(dice.below(2_000))
      return { n, attempt: context.attempt }
    } finally {
      this.active.delete(run)
      this.options.ledger.say(`${run.name} ends ${context.attempt} at ${host.name}`)
    }
  }

  private begin(place: Workplace, { id, attempt, signal, type }: RunContext): Run {
    const { broken, count, ledger, trueNow } = this.options
    const name = ledger.name(id)
    count('start')
    ledger.say(`${name} starts ${attempt} at ${place.host.name}`)
    const lease = ledger.leaseOf(id, place.worker, attempt)
    if (place.closed !== null) broken(`${name} was started by a runtime that is ${place.closed}`)
    const pause = ledger.pauseOf(type)
    if (pause !== null && place.pauses.get(type) === pause) broken(`${name} was started after the pause of its queue`)
    if (this.cancelledBy.get(id)?.has(place.worker) === true && !ledger.retried(id)) {
      broken(`${name} was started after its cancel was acknowledged`)
    }
    if (lease === undefined) {
      broken(`${name}: attempt ${attempt} was started without a lease`)
      throw new Error('no lease')
    }
    if (lease.trueUntil <= trueNow()) broken(`${name}: attempt ${attempt} was started after its lease ran out`)
    lease.started = true
    this.lastStarts.set(`${place.worker} ${id}`, ++this.order)
    const run = { name, lease, place, signal, stuck: false }
    for (const other of this.active) if (other.lease.id === id) this.beside(other, run)
    this.active.add(run)
    const here = [...this.active].filter((each) => each.place === place && !each.signal.aborted)
    if (here.length > place.slots) broken(`${here.length} run in ${place.slots} slots`)
    if (type === 'once') count('once')
    return run
  }

  /** Two attempts side by side: the earlier one has heard that its time is over, or could not. */
  private beside(one: Run, other: Run): void {
    const earlier = one.lease.order < other.lease.order ? one : other
    if (!excused(earlier)) this.options.broken(`${one.name} runs beside itself`)
  }

  private async step({ lease, name }: Run, { id, step }: RunContext): Promise<void> {
    const { dice, broken } = this.options
    const key = `${id} ${lease.generation}`
    const last = this.steps.get(key)
    // One that was given its lease before cannot know what a later one has kept.
    const kept = this.stepless.has(id) || (last?.order ?? 0) > lease.order ? undefined : last?.result
    const result = await step('first', () => {
      if (kept !== undefined) broken(`${name}: a step ran again although its result was kept`)
      return dice.below(1_000)
    })
    if (kept !== undefined) this.options.count('step again')
    if ((kept ?? result) !== result) broken(`${name}: a step gave another result than was kept`)
    if ((this.steps.get(key)?.order ?? -1) < lease.order) this.steps.set(key, { result, order: lease.order })
  }
}

/**
 * A process that has just woken needs a moment to notice what it has missed; one that sleeps has other excuses. Where
 * nobody else can have its jobs it extends its leases first, and gives them up by the next look at them: two looks,
 * each a 24th of a lease after the one before.
 */
const noticeMs = 450

/** Has it been told that its lease is over, or could it not know? */
const excused = ({ lease, signal, place: { host } }: Pick<Run, 'lease' | 'signal' | 'place'>): boolean =>
  signal.aborted || lease.shaken || host.awakeMs <= noticeMs
