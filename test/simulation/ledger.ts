/**
 * The ledger: is told at the store's own door what every call did, and holds it to what is promised. What happens on
 * the way there is none of its business; what handlers do is judged in `floor.ts`.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Transition } from 'jobchart'
import { isEnded } from '../../src/core/lifecycle.ts'
import type {
  ClaimAnswer,
  ClaimRequest,
  ExtendRequest,
  HeartbeatAnswer,
  InsertAnswer,
  InsertRequest,
  NewJob,
  SettleAnswer,
} from '../../src/store.ts'
import type { Settlement } from '../../src/core/settlement.ts'

/** One attempt in the hands of a worker. */
export interface Lease {
  readonly id: string
  readonly type: string
  readonly worker: string
  readonly attempt: number
  readonly generation: number
  readonly token: string
  /** Of two leases of a job the later has the higher. */
  readonly order: number
  /** True time. */
  readonly claimedAt: number
  /** By the store's clock. */
  until: number
  /** By true time. */
  trueUntil: number
  /** Has the store's clock been set while it lasted? */
  shaken: boolean
  marked: boolean
  started: boolean
}

interface Job extends Pick<NewJob, 'id' | 'type' | 'key' | 'concurrencyKey'> {
  readonly name: string
  readonly untilStart: boolean
  ended: boolean
  spent: number
  generation: number
  dueAt: number | null
  lease: Lease | null
  settled: { readonly token: string; readonly answer: SettleAnswer } | null
}

/** What was so when leases were extended: of each beat its lease, and whether it was marked. */
export interface Extension {
  readonly now: number
  readonly held: readonly ({ readonly lease: Lease; readonly marked: boolean } | null)[]
}

export interface LedgerOptions {
  /** Monotonic ms of the world. */
  readonly trueNow: () => number
  /** A promise was broken. */
  readonly broken: (what: string) => void
  /** A lease has been taken back, or a job lost its steps. */
  readonly expired: (lease: Lease) => void
  readonly stepsForgotten: (id: string) => void
  readonly count: (what: string) => void
}

export class Ledger {
  /** What happened, in order. */
  readonly trace: string[] = []
  private readonly jobs = new Map<string, Job>()
  private readonly leases = new Map<string, Lease[]>()
  private readonly holders = new Map<string, string>()
  private readonly paused = new Set<string>()
  /** How often each queue was asked to pause or to go on. */
  private readonly changes = new Map<string, number>()
  private readonly names = new Map<string, string>()
  private unnamed = 0
  private orders = 0
  private readonly options: LedgerOptions

  constructor(options: LedgerOptions) {
    this.options = options
  }

  /** Gives an id that was made by chance a name that a replay gives again. */
  name(id: string, name?: string): string {
    const known = this.names.get(id) ?? name ?? (id.includes('.') ? id : `m.${this.unnamed++}`)
    this.names.set(id, known)
    return known
  }

  /** Jobs that were handed out and have not started. */
  get handedOut(): string[] {
    return [...this.jobs.values()].flatMap(({ id, lease }) => (lease === null || lease.started ? [] : [id]))
  }

  /** Was it sent through again? */
  retried(id: string): boolean {
    return (this.jobs.get(id)?.generation ?? 1) > 1
  }

  /** The latest lease by which this worker may start this attempt. */
  leaseOf(id: string, worker: string, attempt: number): Lease | undefined {
    return this.leases
      .get(id)
      ?.findLast((lease) => lease.worker === worker && lease.attempt === attempt && !lease.started)
  }

  /** The store's clock was set. */
  shake(): void {
    for (const { lease } of this.jobs.values()) if (lease !== null) lease.shaken = true
  }

  /** Which of the changes of this queue is the pause that is in force; null while none is. */
  pauseOf(type: string): number | null {
    return this.paused.has(type) ? (this.changes.get(type) ?? null) : null
  }

  /** A queue is about to be paused or resumed. Gives what `queueChanged` wants to know. */
  queueChanges(type: string, paused: boolean): number {
    const asked = (this.changes.get(type) ?? 0) + 1
    this.changes.set(type, asked)
    if (!paused) this.paused.delete(type)
    return asked
  }

  queueChanged(type: string, asked: { readonly paused: boolean; readonly change: number }, paused: boolean): void {
    if (paused !== asked.paused) this.broken(`${type} is not as paused as it was asked to be`)
    // It may have been resumed before this was answered.
    if (asked.paused && this.changes.get(type) === asked.change) this.paused.add(type)
    this.say(`${type} ${asked.paused ? 'paused' : 'resumed'}`)
  }

  /** Leases are about to be extended. Gives what `extended` wants to know. */
  extends({ heartbeats }: ExtendRequest, now: number): Extension {
    const held = heartbeats.map(({ id, token }) => {
      const { lease } = this.job(id)
      return lease?.token === token ? { lease, marked: lease.marked } : null
    })
    return { now, held }
  }

  inserted(requests: readonly InsertRequest[], answers: readonly InsertAnswer[][]): void {
    requests.forEach(({ jobs }, r) => {
      jobs.forEach((asked, j) => {
        const { outcome, id, superseded, dueAt } = (answers[r] as InsertAnswer[])[j] as InsertAnswer
        if (superseded !== undefined) this.moved(superseded, superseded.at)
        if (outcome === 'inserted') this.giveUpKey(asked)
        this.note(outcome, id)
        this.options.count(superseded === undefined ? outcome : 'superseded')
        if (outcome === 'replaced') {
          this.options.stepsForgotten(id)
          // A replace may have brought a delay of its own.
          this.job(id).dueAt = dueAt
        }
        if (outcome === 'inserted') this.enter(asked, dueAt)
        else if (outcome !== 'full' && this.jobs.get(id) === undefined) this.broken(`${id} is said to be there`)
      })
    })
  }

  private enter({ id, type, key, concurrencyKey, until }: NewJob, dueAt: number | null): void {
    if (this.jobs.has(id)) this.broken(`${this.name(id)} was inserted twice`)
    const job = { id, type, key, concurrencyKey, name: this.name(id), ended: false, spent: 0, generation: 1, dueAt }
    this.jobs.set(id, { ...job, untilStart: until === 'start', lease: null, settled: null })
    this.takeKey(id)
  }

  claimed({ worker, token, leaseMs, demand }: ClaimRequest, { jobs }: ClaimAnswer, now: number): void {
    for (const { id, type, attempt, maxAttempts, generation } of jobs) {
      const job = this.job(id)
      this.note(`CLAIM ${attempt} by ${this.name(worker)}`, id)
      if (this.paused.has(type)) this.broken(`${job.name} was picked although ${type} is paused`)
      if (job.ended) this.broken(`${job.name} was picked after its end`)
      if (job.lease !== null) this.broken(`${job.name} was picked twice at once`)
      if (attempt !== job.spent + 1) this.broken(`${job.name}: attempt ${attempt} came after ${job.spent}`)
      if (attempt > maxAttempts) this.broken(`${job.name}: attempt ${attempt} of ${maxAttempts}`)
      const claimedAt = this.options.trueNow()
      const trueUntil = claimedAt + leaseMs
      const names = { id, type, worker, attempt, generation, token, claimedAt, order: this.orders++ }
      const lease = { ...names, until: now + leaseMs, trueUntil, shaken: false, marked: false, started: false }
      job.lease = lease
      if (job.untilStart && this.holders.get(keyOf(job)) === id) this.holders.delete(keyOf(job))
      job.spent = attempt
      const leases = this.leases.get(id)
      if (leases === undefined) this.leases.set(id, [lease])
      else leases.push(lease)
      this.checkCaps(job, demand.find((each) => each.type === type)?.limits)
    }
  }

  private checkCaps(job: Job, limits: ClaimRequest['demand'][number]['limits'] | undefined): void {
    let ofType = 0
    let ofKey = 0
    for (const { id, type, lease, concurrencyKey, key } of this.jobs.values()) {
      if (lease === null || type !== job.type) continue
      if (key !== null && key === job.key && id !== job.id) this.broken(`two jobs with key ${key} are out at once`)
      ofType++
      if (concurrencyKey !== null && concurrencyKey === job.concurrencyKey) ofKey++
    }
    if (ofType > (limits?.concurrency ?? Infinity)) this.broken(`${ofType} of ${job.type} are out at once`)
    if (ofKey > (limits?.perKey ?? Infinity)) this.broken(`${ofKey} of key ${job.concurrencyKey} are out at once`)
  }

  settled(settlements: readonly Settlement[], answers: readonly SettleAnswer[]): void {
    settlements.forEach(({ id, token, event }, i) => {
      const answer = answers[i] as SettleAnswer
      const job = this.job(id)
      const current = job.lease?.token === token
      const repeated = job.settled?.token === token
      if (answer.outcome === 'lost') {
        if (current || repeated) this.broken(`${job.name}: its holder is told that it is lost`)
        this.options.count('lost')
        return this.note(`${event} refused`, id)
      }
      if (repeated) {
        if (!isDeepStrictEqual(job.settled?.answer, answer)) this.broken(`${job.name} is settled twice, differently`)
        return
      }
      if (!current) this.broken(`${job.name} was settled by one who does not hold it`)
      job.settled = { token, answer }
      this.moved({ ...answer, id, event, type: job.type }, answer.at)
      if (answer.successor !== undefined) this.moved(answer.successor, answer.at)
    })
  }

  extended(
    { heartbeats, leaseMs }: ExtendRequest,
    { now, held }: Extension,
    answers: readonly HeartbeatAnswer[],
  ): void {
    heartbeats.forEach(({ id }, i) => {
      const { outcome } = answers[i] as HeartbeatAnswer
      const { name } = this.job(id)
      const current = held[i] ?? null
      if ((current === null) !== (outcome === 'lost')) this.broken(`${name}: ${outcome} is told to the wrong one`)
      if (current === null) return
      const { lease, marked } = current
      if (marked !== (outcome === 'cancelling')) this.broken(`${name}: its cancel is not told as it is`)
      lease.until = now + leaseMs
      lease.trueUntil = this.options.trueNow() + leaseMs
      lease.shaken = false
    })
  }

  /** A transition of any kind but a claim. */
  moved({ id, event, to, attempt, dueAt = null }: Transition & { dueAt?: number | null }, now: number): void {
    const job = this.job(id)
    const { lease } = job
    this.note(`${event} → ${to}`, id)
    if (job.ended && event !== 'RETRY') this.broken(`${job.name} was moved after its end`)
    if (job.ended !== (event === 'RETRY')) this.broken(`${job.name} was retried before its end`)
    if (event === 'EXPIRE' && lease !== null) {
      if (lease.until > now) this.broken(`${job.name} was taken from its holder before its lease ran out`)
      this.options.expired(lease)
    }
    if ((event === 'DUE' || event === 'WAKE') && (job.dueAt ?? 0) > now) this.broken(`${job.name} came before its time`)
    if (to === 'cancelling' && lease !== null) lease.marked = true
    else job.lease = null
    job.spent = attempt
    job.dueAt = dueAt
    job.ended = isEnded(to)
    if (event === 'RETRY') {
      job.generation++
      this.takeKey(id)
    }
    if (job.ended && this.holders.get(keyOf(job)) === id) this.holders.delete(keyOf(job))
  }

  /** A holder that is being cancelled, or followed, gives up its key to the next job, which waits for its end. */
  private giveUpKey(asked: Pick<NewJob, 'type' | 'key' | 'onConflict'>): void {
    const holder = this.holders.get(keyOf(asked))
    if (holder === undefined) return
    const { lease } = this.job(holder)
    if (lease?.marked === true || asked.onConflict === 'follow') this.holders.delete(keyOf(asked))
  }

  private takeKey(id: string): void {
    const job = this.job(id)
    if (job.key === null) return
    const holder = this.holders.get(keyOf(job))
    if (holder !== undefined && holder !== id) this.broken(`key ${job.key} has two holders`)
    this.holders.set(keyOf(job), id)
  }

  private job(id: string): Job {
    const job = this.jobs.get(id)
    if (job === undefined) throw new TypeError(`the store tells of job ${id}, which nobody has inserted`)
    return job
  }

  /** Adds a line to the trace. */
  say(what: string): void {
    this.trace.push(`${this.options.trueNow()} ${what}`)
  }

  private note(what: string, id: string): void {
    this.say(`${this.name(id)} ${what}`)
  }

  private broken(what: string): void {
    this.options.broken(what)
  }
}

const keyOf = ({ type, key }: Pick<Job, 'type' | 'key'>): string => `${type} ${key}`
