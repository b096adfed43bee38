/** The jobs of the naive store in a plain array: creating, changing and finding them. */
import { caps } from '../core/caps.ts'
import type { ErrorRecord } from '../core/failure.ts'
import { failureOf, type Failure } from '../core/fingerprint.ts'
import { historyEntry } from '../core/history.ts'
import type { JobRecord, Transition } from '../core/record.ts'
import { countersAfter, nextArrow, statesTagged, type ArrowEvent, type JobState } from '../core/lifecycle.ts'
import type { CheckpointEntry, Gather } from '../core/machine-record.ts'
import type { Json } from '../core/payload.ts'
import type * as contract from '../store.ts'

export interface Job {
  record: { -readonly [K in keyof JobRecord]: JobRecord[K] }
  seq: number
  place: number
  /** Does it hold its unique key? A job that is superseded or followed gives it up before its end. */
  holdsKey: boolean
  untilStart: boolean
  keyWeight: number
  token: string | null
  leaseUntil: number
  steps: Record<string, Json> | null
  /** Was it cancelled in this generation, and with which grace, ms? */
  marked: boolean
  graceMs: number | null
  /** Its `maxAttempts`, without the attempts that led to a checkpoint. */
  base: number
  pins: contract.JobPins | null
  /** The type of the job that is inserted if it dies. */
  onDead: string | null
  checkpoints: readonly CheckpointEntry[]
  /** Keys of the latest messages. */
  keys: readonly string[]
  /** How it gathers messages, set when it is parked. */
  gather: Gather | null
  settled: { token: string; attempt: number; answer: contract.SettleAnswer } | null
  /** Set while it waits for the end of an earlier job with its unique key: its own due time. */
  waits: { readonly dueAt: number } | null
}

/** Failed attempts with the same fingerprint; `seq` is that of the last one. */
interface Group {
  readonly type: string
  readonly failure: Failure
  readonly firstAt: number
  count: number
  lastAt: number
  lastId: string
  seq: number
}

interface ApplyOptions {
  error?: ErrorRecord | undefined
  reason?: string | null | undefined
  fatal?: boolean | undefined
  dueAt?: number | null
}

export const is = (tag: Parameters<typeof statesTagged>[0], job: Job): boolean =>
  statesTagged(tag).has(job.record.state)
export const byPriority = (a: Job, b: Job): number => b.record.priority - a.record.priority
const anyOf = <T>(value: T, wanted: T | readonly T[] | undefined): boolean =>
  wanted === undefined || (Array.isArray(wanted) ? wanted.includes(value) : wanted === value)
export class NaiveJobs {
  time = 0
  protected jobs: Job[] = []
  protected readonly log: Transition[] = []
  /** Shares of keys: the virtual clock by type, and the start of each key (see `core/shares.ts`). */
  protected readonly clocks = new Map<string, number>()
  protected starts = new Map<string, number>()
  private groups: Group[] = []
  /** How machines have ended. */
  protected readonly outcomes: { readonly type: string; readonly outcome: string }[] = []

  protected add(job: contract.NewJob): Job {
    const dueAt = job.runAt ?? this.time + job.delayMs
    const waits = this.predecessor(job.type, job.key) === undefined ? null : { dueAt }
    const due = waits === null ? dueAt : Infinity
    const record: Job['record'] = {
      id: job.id,
      type: job.type,
      input: job.input,
      tags: job.tags,
      meta: job.meta ?? {},
      key: job.key,
      priority: job.priority,
      maxAttempts: job.maxAttempts,
      concurrencyKey: job.concurrencyKey,
      state: due > this.time ? 'scheduled' : 'queued',
      attempt: 0,
      generation: 1,
      output: undefined,
      error: null,
      errors: [],
      checkin: null,
      logs: [],
      history: [],
      checkpoint: null,
      machineStates: [],
      machineTags: [],
      takesCancel: false,
      inbox: [],
      deferred: [],
      lastMessageNumber: 0,
      parent: job.parent ?? null,
      version: job.version ?? null,
      unsupported: null,
      worker: null,
      startedAt: null,
      finishedAt: null,
      cancelReason: null,
      enqueuedAt: this.time,
      dueAt: waits === null && due > this.time ? due : null,
    }
    const seq = this.log.length + 1
    const holdsKey = job.key !== null
    const lease = { token: null, leaseUntil: 0, steps: null, marked: false, graceMs: null, settled: null }
    const pins = job.pins ?? null
    const machine = {
      base: job.maxAttempts,
      pins,
      onDead: null,
      checkpoints: [],
      keys: [],
      gather: null,
    }
    const untilStart = job.until === 'start'
    const keyWeight = job.keyWeight ?? 1
    const added: Job = { record, seq, place: seq, holdsKey, untilStart, keyWeight, waits, ...lease, ...machine }
    this.jobs.push(added)
    this.note(added, 'ENQUEUE', null, undefined)
    this.startKey(added)
    if (job.checkpoint !== undefined) {
      record.checkpoint = { number: 1, state: job.checkpoint }
      added.checkpoints = [{ ...record.checkpoint, seq, at: this.time, note: 'fork' }]
    }
    return added
  }

  protected find(id: string): Job | undefined {
    return this.jobs.find((job) => job.record.id === id)
  }

  protected holder(type: string, key: string): Job | undefined {
    return this.jobs.find((job) => job.holdsKey && job.record.type === type && job.record.key === key)
  }

  /** A live job that has given up this key. */
  protected predecessor(type: string, key: string | null): Job | undefined {
    return this.jobs.find(
      (job) => key !== null && job.record.key === key && job.record.type === type && is('live', job) && !job.holdsKey,
    )
  }

  /** Releases the job that waits for the end of this one. */
  protected releaseSuccessor({ record: { type, key, state } }: Job): contract.WrittenTransition | undefined {
    const next = key === null || !statesTagged('ended').has(state) ? undefined : this.holder(type, key)
    if (!next?.waits) return undefined
    const { dueAt } = next.waits
    next.waits = null
    if (dueAt <= this.time) return this.applyEvent(next, 'DUE')
    next.record.dueAt = dueAt
    return undefined
  }

  /** A job has ended: if it is dead, its hook is inserted. */
  protected callHook({ record, onDead }: Job): contract.WrittenTransition | undefined {
    if (record.state !== 'dead' || onDead === null) return undefined
    const { id, type, generation, attempt, maxAttempts, input, error, key, enqueuedAt, tags, meta, priority } = record
    const death = { id, type, generation, attempt, maxAttempts, error, key, enqueuedAt, diedAt: this.time }
    const first = `${id}/dead/${generation}`
    let free = first
    for (let n = 2; this.find(free) !== undefined; n++) free = `${first}.${n}`
    const given = structuredClone({ ...death, ...(input !== undefined && { input }) }) as Json
    const own = { id: free, type: onDead, input: given, tags, meta, priority, maxAttempts: 10 }
    this.add({ ...own, concurrencyKey: null, runAt: null, delayMs: 0, key: null, onConflict: 'keep' })
    return this.log.at(-1)
  }

  protected matches({ record }: Job, filter: contract.JobFilter): boolean {
    const { type, state, tag, key, concurrencyKey, failure, unsupported, parent, machineState, machineTag } = filter
    const { meta = {} } = filter
    const { enqueuedAfter, enqueuedBefore, finishedAfter, finishedBefore } = filter
    const since = (at: number | null, from: number | undefined): boolean =>
      from === undefined || (at !== null && at >= from)
    const before = (at: number | null, to: number | undefined): boolean => to === undefined || (at !== null && at < to)
    return (
      (parent === undefined || record.parent?.id === parent) &&
      (failure === undefined || (record.error !== null && anyOf(failureOf(record.error).fingerprint, failure))) &&
      (machineState === undefined || record.machineStates.includes(machineState)) &&
      (machineTag === undefined || record.machineTags.includes(machineTag)) &&
      Object.entries(meta).every(([name, value]) => record.meta[name] === value) &&
      since(record.enqueuedAt, enqueuedAfter) &&
      before(record.enqueuedAt, enqueuedBefore) &&
      since(record.finishedAt, finishedAfter) &&
      before(record.finishedAt, finishedBefore) &&
      anyOf(record.type, type) &&
      anyOf(record.state, state) &&
      (tag === undefined || record.tags.includes(tag)) &&
      anyOf(record.key, key) &&
      (unsupported === undefined || record.unsupported !== null) &&
      anyOf(record.concurrencyKey, concurrencyKey)
    )
  }

  protected findEach(ids: readonly string[]): { jobs: Job[]; notFound: string[] } {
    const wanted = [...new Set(ids)]
    return { jobs: wanted.flatMap((id) => this.find(id) ?? []), notFound: wanted.filter((id) => !this.find(id)) }
  }

  protected keepError({ record }: Job, error: ErrorRecord): void {
    const { attempt, generation, worker, startedAt } = record
    const entry = { attempt, generation, error, startedAt: startedAt ?? 0, failedAt: this.time, worker: worker ?? '' }
    record.error = error
    record.errors = [...record.errors, entry].slice(-caps.errors)
  }

  protected applyEvent(job: Job, event: ArrowEvent, options: ApplyOptions = {}): Transition {
    const { reason, fatal, dueAt = null, error } = options
    const { record } = job
    const from = record.state
    const arrow = nextArrow(from, event, record, fatal)
    if (arrow === null) throw new Error(`the chart has no ${event} from ${from}`)
    const { attempt, generation } = countersAfter(arrow, record)
    Object.assign(record, { attempt, generation, state: arrow.to })
    record.dueAt = is('timed', job) ? dueAt : null
    record.finishedAt = is('ended', job) ? this.time : null
    // Attempts are counted from 0 again, including those that led to a checkpoint.
    if (event === 'RETRY' || record.state === 'waiting') record.maxAttempts = job.base
    if (is('ended', job)) job.holdsKey = false
    if (is('ended', job)) record.unsupported = null
    if (record.state === 'queued' && !statesTagged('leased').has(from)) job.place = this.log.length + 1
    this.startKey(job)
    const transition = this.note(job, event, from, reason)
    if (error && record.state !== 'cancelled') this.addFailure(error, transition)
    return transition
  }

  protected addFailure(
    error: ErrorRecord,
    { id, type, at, seq }: Pick<Transition, 'id' | 'type' | 'at' | 'seq'>,
  ): void {
    const failure = failureOf(error)
    const isSame = (group: Group): boolean => group.type === type && group.failure.fingerprint === failure.fingerprint
    const group = this.groups.find(isSame) ?? { type, failure, firstAt: at, count: 0, lastAt: at, lastId: id, seq }
    const others = this.groups.filter((each) => !isSame(each))
    this.groups = [...others, Object.assign(group, { count: group.count + 1, lastAt: at, lastId: id, seq })]
    const ofType = this.groups.filter((each) => each.type === type)
    if (ofType.length > caps.failureGroups) this.groups = this.groups.filter((each) => each !== ofType[0])
  }

  failures(): contract.FailureGroup[] {
    return this.groups.toReversed().map(({ type, failure, firstAt, count, lastAt, lastId }) => {
      const dead = this.jobs.filter(({ record }) => {
        const isOfGroup =
          record.type === type && record.error !== null && failureOf(record.error).fingerprint === failure.fingerprint
        return isOfGroup && record.state === 'dead' && (record.finishedAt ?? 0) >= firstAt
      })
      return { type, ...failure, count, dead: dead.length, firstAt, lastAt, lastId }
    })
  }

  protected keyOf({ record: { type, concurrencyKey } }: Job): string {
    return JSON.stringify([type, concurrencyKey])
  }

  /** Sets the start of a key when its first job is queued. */
  private startKey(job: Job): void {
    const ofKey = this.jobs.filter((each) => each.record.state === 'queued' && this.keyOf(each) === this.keyOf(job))
    if (job.record.state === 'queued' && ofKey.length === 1) {
      this.starts.set(this.keyOf(job), this.clocks.get(job.record.type) ?? 0)
    }
  }

  protected note(
    { record }: Job,
    event: Transition['event'],
    from: JobState | null,
    reason: string | null | undefined,
  ): Transition {
    const { id, type, state: to, attempt, worker } = record
    const isLeased = [from, to].some((state) => state !== null && statesTagged('leased').has(state))
    const seq = this.log.length + 1
    const entry = historyEntry({ event, from, to }, seq, this.time, attempt, isLeased ? worker : null, reason ?? null)
    if (event !== 'CHECKPOINT') record.history = [...record.history, entry].slice(-caps.history)
    const transition: Transition = { id, type, ...entry }
    this.log.push(transition)
    return transition
  }
}
