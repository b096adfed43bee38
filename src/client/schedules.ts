/**
 * The schedules of a process: declares them, computes their ticks, and makes the jobs of ticks. The store holds the
 * schedules and decides, by one conditional write, which process fires.
 */
import { nanoid } from 'nanoid'
import type { EnqueueOptions } from '../core/call-options.ts'
import { planTicks } from '../core/catch-up.ts'
import type { JobDefinition } from '../core/definition.ts'
import { invalidOption, JobchartError } from '../core/errors.ts'
import { digestBytes } from '../core/platform.ts'
import {
  noSchedule,
  type RemoveScheduleOptions,
  type ScheduleDefinition,
  type ScheduleOptions,
  type ScheduleRecord,
  type Tick,
} from '../core/schedule-options.ts'
import { tickTimes, type TickTimes } from '../core/tick-times.ts'
import { TimeZones } from '../core/time-zone.ts'
import type {
  FireSchedule,
  InsertAnswer,
  NewJob,
  OpenTransaction,
  PutSchedule,
  ScheduledJob,
  ScheduleTerms,
  Store,
  StoredSchedule,
} from '../store.ts'
import { promised, refusedBy } from './answer.ts'
import type { EventHub } from './event-hub.ts'
import type { Transactions } from './transactions.ts'

interface SchedulesOptions {
  readonly store: Store
  readonly hub: EventHub
  /** Does this process fire schedules? Only then it may declare input functions. */
  readonly fires: boolean
  readonly ready: () => Promise<void>
  /** Throws if this process does not list the job. */
  readonly checkListed: (job: JobDefinition) => void
  /** The job to insert, checked and validated. */
  readonly prepare: (job: JobDefinition, input: unknown, options: EnqueueOptions) => NewJob | Promise<NewJob>
  /** The same, at once. */
  readonly prepareNow: (job: JobDefinition, input: unknown, options: EnqueueOptions) => NewJob
  /** The job of a tick, as `enqueueMiddleware` changes it. */
  readonly prepareTick: (job: ScheduledJob, id: string) => ScheduledJob
  readonly inserted: (jobs: readonly NewJob[], answers: readonly InsertAnswer[]) => void
  readonly transactions: Pick<Transactions, 'of' | 'write'>
}

/** Limit of cached calendars. */
const timesMax = 10_000

export class Schedules {
  private readonly options: SchedulesOptions
  private readonly zones = new TimeZones()
  private readonly times = new Map<string, TickTimes>()
  /** By name: the schedules whose input function this process has. */
  private readonly computed = new Map<string, ScheduleDefinition>()

  constructor(options: SchedulesOptions) {
    this.options = options
  }

  /** The names of the schedules whose input function this process has. */
  get computedNames(): readonly string[] {
    return [...this.computed.keys()]
  }

  /**
   * Declares schedules.
   * @param owner the application whose code declares them; null for a call of `schedule`
   * @param tx after the commit of this transaction
   * @throws JobchartError INVALID_OPTION, INVALID_INPUT, UNKNOWN_TYPE, STORE_UNAVAILABLE
   */
  async declare(
    definitions: readonly ScheduleDefinition[],
    owner: string | null,
    tx: OpenTransaction | null = null,
  ): Promise<void> {
    const { store, ready } = this.options
    for (const definition of definitions) this.checkComputed(definition)
    await ready()
    const now = store.now()
    const requests = await Promise.all(
      definitions.map(async (definition) => this.request(definition, owner, now, await this.jobFor(definition))),
    )
    for (const definition of definitions) this.learn(definition)
    if (tx !== null) {
      await this.options.transactions.write(
        tx,
        requests.map((request) => ({ kind: 'schedule', request })),
      )
      return
    }
    const answers = await store.schedules.put(requests)
    answers.forEach(({ outcome, error }, i) => {
      if (outcome === 'failed') throw refusedBy(store.name, `schedule ${requests[i]?.terms.name}`, error)
    })
  }

  /** The declaration of a schedule by a call, made at once. @throws JobchartError as `declare`; UNSUPPORTED */
  declarationNow(definition: ScheduleDefinition): PutSchedule {
    this.checkComputed(definition)
    const { name, job, input, options } = definition
    const made = isComputed(definition)
      ? this.template(definition)
      : withOverlap(name, options, this.options.prepareNow(job, input, jobOptions(options)))
    const request = this.request(definition, null, this.options.store.now(), made)
    this.learn(definition)
    return request
  }

  /** @throws JobchartError INVALID_OPTION for a function, if this process fires nothing */
  private checkComputed(definition: ScheduleDefinition): void {
    if (!isComputed(definition) || this.options.fires) return
    const hint = 'Declare it in the runtime that is to make the input: createRuntime({ schedules: [schedule(…)] }).'
    const what = `input of schedule ${definition.name}`
    throw invalidOption(what, 'no function: a client fires nothing', 'a function', hint)
  }

  /** The function that makes its input, if there is one, is that of the last declaration. */
  private learn(definition: ScheduleDefinition): void {
    if (isComputed(definition)) this.computed.set(definition.name, definition)
    else this.computed.delete(definition.name)
  }

  /** Removes schedules that the same application declared earlier and declares no longer. Returns their names. */
  async retire(owner: string, declared: readonly ScheduleDefinition[]): Promise<string[]> {
    const names = new Set(declared.map(({ name }) => name))
    const there = await this.options.store.schedules.list()
    const retired = there.filter((each) => each.owner === owner && !names.has(each.name)).map(({ name }) => name)
    return retired.length === 0 ? [] : this.options.store.schedules.remove(retired)
  }

  private request(
    definition: ScheduleDefinition,
    owner: string | null,
    now: number,
    job: ScheduledJob & Partial<NewJob>,
  ): PutSchedule {
    const { name, spec, timezone, options } = definition
    const { catchUp, overlap, jitter, paused } = options
    const times = { name, spec, timezone, catchUp, overlap, jitterMs: jitter }
    const terms: ScheduleTerms = { ...times, job: scheduledJob(job), computed: isComputed(definition), owner }
    return { terms, paused, nextAt: this.timesOf(terms).next(now) }
  }

  private jobFor(definition: ScheduleDefinition): ScheduledJob | Promise<ScheduledJob> {
    return isComputed(definition) ? this.template(definition) : this.prepared(definition, definition.input)
  }

  /** The part of a job that does not depend on its input. */
  private template({ job, options }: ScheduleDefinition): ScheduledJob {
    this.options.checkListed(job)
    const { priority = 0, tags = [] } = options
    const { type, maxAttempts, machine } = job
    const plain = { type, input: undefined, priority, maxAttempts, tags: [...tags], concurrencyKey: null, key: null }
    return { ...plain, onConflict: 'keep', ...(machine !== null && { version: machine.version }) }
  }

  private async prepared({ name, job, options }: ScheduleDefinition, input: unknown): Promise<NewJob> {
    return withOverlap(name, options, await this.options.prepare(job, input, jobOptions(options)))
  }

  /**
   * The ticks that a schedule fires now, with their jobs.
   * @throws UnfiredTicks if an input cannot be made or is refused
   */
  async firing(schedule: StoredSchedule, now: number): Promise<FireSchedule> {
    const { name, revision, nextAt, catchUp } = schedule
    if (nextAt === null) throw new TypeError(`schedule ${name} has no tick to fire`)
    const plan = planTicks(this.timesOf(schedule), nextAt, now, catchUp)
    const advance = { revision, nextAt: plan.nextAt, missed: plan.missed }
    try {
      const ticks = await Promise.all(plan.ticks.map(async (at) => ({ at, job: await this.jobOf(schedule, at) })))
      return { name, ticks, advance }
    } catch (error) {
      throw new UnfiredTicks(error, {
        name,
        ticks: [],
        advance: { ...advance, missed: plan.missed + plan.ticks.length },
      })
    }
  }

  /** The job of a tick. Its id contains the tick, so that two processes make the same job. */
  private async jobOf(schedule: StoredSchedule, at: number): Promise<NewJob> {
    const { name, jitterMs } = schedule
    const job = await this.made(schedule, { name, at: new Date(at), triggered: false })
    const runAt = jitterMs === 0 ? null : at + jitterOf(name, at, jitterMs)
    const id = `${name}@${timeText(at)}`
    return { ...this.options.prepareTick(job, id), id, runAt, delayMs: 0 }
  }

  private async made(schedule: StoredSchedule, tick: Tick): Promise<ScheduledJob> {
    if (!schedule.computed) return schedule.job
    const definition = this.computed.get(schedule.name)
    if (definition === undefined) throw noFunction(schedule.name)
    return this.prepared(definition, (definition.input as (tick: Tick) => unknown)(tick))
  }

  /** Makes a job now. If `overlap` prevents it, `answer` is null and `id` is that of the existing job. */
  async trigger(
    name: string,
  ): Promise<{ readonly job: NewJob; readonly answer: InsertAnswer | null; readonly id: string }> {
    const { store, hub } = this.options
    const at = store.now()
    const made = await this.made(await this.stored(name), { name, at: new Date(at), triggered: true })
    const id = `${name}@${timeText(at)}/${nanoid(8)}`
    const job = { ...this.options.prepareTick(made, id), id, runAt: null, delayMs: 0 }
    const request: FireSchedule = { name, ticks: [{ at, job }], advance: null }
    return promised(
      () => store.schedules.fire([request]),
      ([answer]) => {
        if (answer?.outcome === 'failed') throw refusedBy(store.name, `a job of schedule ${name}`, answer.error)
        const tick = answer?.ticks[0]
        if (answer === undefined || tick === undefined) throw noSchedule(name)
        hub.emitAll(answer.transitions)
        if (tick.outcome === 'skipped') return { job, answer: null, id: tick.id }
        this.options.inserted([job], [tick])
        return { job, answer: tick, id: tick.id }
      },
    )
  }

  async setPaused(name: string, paused: boolean): Promise<void> {
    const { store } = this.options
    // Another process may change the schedule meanwhile: then it is read again.
    for (let again: StoredSchedule | null = null; again === null;) {
      const schedule = await this.stored(name)
      const nextAt = paused ? null : this.timesOf(schedule).next(store.now())
      again = await store.schedules.pause({ name, revision: schedule.revision, paused, nextAt })
    }
  }

  async remove(name: string, options: RemoveScheduleOptions): Promise<boolean> {
    await this.options.ready()
    const { store, transactions } = this.options
    const tx = transactions.of(options)
    if (tx !== null) {
      await transactions.write(tx, [{ kind: 'unschedule', request: { name } }])
      return true
    }
    this.computed.delete(name)
    return (await store.schedules.remove([name])).length > 0
  }

  /** @throws JobchartError NOT_FOUND */
  async stored(name: string): Promise<StoredSchedule> {
    await this.options.ready()
    const [schedule] = await this.options.store.schedules.list([name])
    if (schedule === undefined) throw noSchedule(name)
    return schedule
  }

  async list(next: number): Promise<ScheduleRecord[]> {
    await this.options.ready()
    return (await this.options.store.schedules.list()).map((each) => this.record(each, next))
  }

  record(schedule: StoredSchedule, next: number): ScheduleRecord {
    const { name, spec, timezone, job, computed, catchUp, overlap, jitterMs, owner } = schedule
    const { paused, createdAt, last, fired, missed, skipped } = schedule
    const { type, input, priority, tags } = job
    const terms = { name, spec, timezone, type, input, computed, priority, tags, catchUp, overlap, jitterMs, owner }
    const nextRuns = paused ? [] : this.nextRuns(schedule, next)
    return { ...terms, paused, createdAt, nextRuns, last, fired, missed, skipped }
  }

  /** The next ticks. For a paused schedule, those after a resume now. */
  nextRuns(schedule: StoredSchedule, count: number): number[] {
    const { paused, nextAt } = schedule
    let times = this.timesOf(schedule)
    let tick = paused ? times.next(this.options.store.now()) : nextAt
    if (tick !== null) times = times.from(tick)
    const runs: number[] = []
    for (; tick !== null && runs.length < count; tick = times.next(tick)) runs.push(tick)
    return runs
  }

  private timesOf({ spec, timezone }: Pick<StoredSchedule, 'spec' | 'timezone'>): TickTimes {
    const key = `${timezone} ${spec}`
    let times = this.times.get(key)
    if (times === undefined) {
      times = tickTimes(spec, timezone, this.zones)
      if (this.times.size >= timesMax) this.times.clear()
      this.times.set(key, times)
    }
    return times
  }
}

/** The jobs of ticks could not be made: the schedule advances without them. */
export class UnfiredTicks extends Error {
  readonly request: FireSchedule

  constructor(cause: unknown, request: FireSchedule) {
    super(`the input of schedule ${request.name} could not be made`, { cause })
    this.request = request
  }
}

/** The part of a job that all ticks share. */
function scheduledJob(job: ScheduledJob & Partial<NewJob>): ScheduledJob {
  const { id: _id, runAt: _runAt, delayMs: _delayMs, ...shared } = job
  return shared
}

const isComputed = ({ input }: ScheduleDefinition): boolean => typeof input === 'function'

const withOverlap = (name: string, { overlap }: Pick<ScheduleOptions, 'overlap'>, job: NewJob): NewJob =>
  overlap === 'allow' ? job : { ...job, key: `schedule:${name}`, onConflict: 'keep' }

/** The options of a schedule that apply to each enqueue. */
const jobOptions = ({ priority, tags, meta, unique }: ScheduleOptions): EnqueueOptions => ({
  ...(priority !== undefined && { priority }),
  ...(tags !== undefined && { tags }),
  ...(meta !== undefined && { meta }),
  ...(unique !== undefined && { unique }),
})

/** The delay of a tick within the jitter, derived from name and tick: equal in all processes. */
function jitterOf(name: string, at: number, jitterMs: number): number {
  const { buffer, byteOffset } = digestBytes(`${name}@${at}`)
  const part = new DataView(buffer, byteOffset).getUint32(0) / 2 ** 32
  return Math.floor(part * jitterMs)
}

const timeText = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z')

const noFunction = (name: string): JobchartError =>
  new JobchartError(
    'NOT_ACCEPTED',
    `the input of schedule ${name} is made by a function, which this process does not have`,
    {
      hint: 'Trigger it in a process that declares it: createRuntime({ schedules: [schedule(…)] }).',
    },
  )
