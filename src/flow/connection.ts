/**
 * What a client and a runtime stand on: the store, opened once and watched, and the parts that every call shares.
 *
 *   enqueue ─▶ prepare (check, validate) ─▶ insert (batch, room) ─▶ store ─▶ handle
 */
import type { JobDefinition } from '../define-job.ts'
import { JobchartError } from '../errors.ts'
import { JobHandle, type HandleHost } from '../handle.ts'
import { durationMs } from '../job/duration.ts'
import type { JobEvent, JobRecord } from '../job/job.ts'
import type { JobCounters, JobState } from '../job/lifecycle.ts'
import type { EnqueueOptions } from '../call-options.ts'
import type { ClientSettings } from '../options.ts'
import type { Hint, InsertAnswer, NewJob, Store } from '../store.ts'
import { prepare } from './enqueue.ts'
import { Hub } from './events.ts'
import type { FollowOptions } from './follow.ts'
import { asEvent, followJob, lastCheckIn } from './follow-job.ts'
import { Ids } from './ids.ts'
import { Inserter } from './insert.ts'
import type { Call, WaitOptions } from './insert-call.ts'
import { Leave } from './leave.ts'
import { Results } from './results.ts'
import { Stream } from './stream.ts'
import { Timers } from './timers.ts'

/** What only the owner of a connection knows. */
export interface ConnectionOwner extends Pick<HandleHost, 'cancel' | 'retry'> {
  /** Why no new jobs are taken, if so. */
  refusing(): JobchartError | null
  /** Hints of the store, after the connection has taken its own part. */
  hint(hint: Hint): void
}

export class Connection {
  readonly store: Store
  readonly settings: ClientSettings
  readonly hub: Hub
  readonly timers: Timers
  readonly inserter: Inserter
  private readonly ids: Ids
  private readonly results: Results
  private readonly owner: ConnectionOwner
  private readonly handleHost: HandleHost
  private readonly changeListeners = new Set<() => void>()
  private readonly endListeners = new Set<() => void>()
  private freshCounters: JobCounters = { attempt: 0, maxAttempts: 3, generation: 1 }
  private opening: Promise<void> | null = null
  private isOpen = false
  /** Why it was closed, if it was. */
  private closedBecause: JobchartError | null = null
  private unwatch: () => void = () => {}

  constructor(store: Store, settings: ClientSettings, owner: ConnectionOwner) {
    const { logger, clock, capacity } = settings
    this.store = store
    this.settings = settings
    this.owner = owner
    this.ids = new Ids(clock)
    const timers = (this.timers = new Timers(clock))
    const hub = (this.hub = new Hub(logger))
    this.results = new Results({ store, hub, timers, logger })
    this.inserter = new Inserter({ store, capacity, timers, inserted: (jobs, answers) => this.inserted(jobs, answers) })
    this.handleHost = this.makeHandleHost()
  }

  get opened(): boolean {
    return this.isOpen
  }

  /** Opens the store, the first time. @throws JobchartError STORE_UNAVAILABLE */
  ready(): Promise<void> {
    return (this.opening ??= this.store.open({ clock: this.settings.clock }).then(
      async () => {
        if (this.closedBecause !== null) {
          // It was waited for no longer.
          await this.store.close()
          throw this.closedBecause
        }
        this.isOpen = true
        this.unwatch = this.store.watch((hint) => this.hint(hint))
      },
      (error: unknown) => {
        this.opening = null
        throw error
      },
    ))
  }

  /** Ends every stream and wait, whether the store answers or not, then lets go of it. */
  async close(reason: JobchartError, leave = new Leave(this.settings.clock)): Promise<void> {
    const { isOpen } = this
    this.closedBecause = reason
    this.inserter.close(reason)
    this.unwatch()
    if (isOpen) await this.results.close(reason, leave)
    for (const ended of this.endListeners) ended()
    this.hub.complete()
    this.timers.cancelAll()
    this.isOpen = false
    try {
      if (isOpen) await leave.wait(this.store.close())
    } finally {
      leave.end()
    }
  }

  /** @param fromRun a running job may enqueue while others are refused, and needs no room */
  enqueue<Output>(
    job: JobDefinition<unknown, Output>,
    input: unknown,
    options?: EnqueueOptions,
    fromRun = false,
  ): Promise<JobHandle<Output>> {
    let made: NewJob | Promise<NewJob>
    let wait: WaitOptions | undefined
    try {
      made = this.prepare(job, input, options, fromRun)
      wait = waitOf(options)
    } catch (error) {
      // A promise is promised, whatever is wrong.
      return Promise.reject(error)
    }
    return made instanceof Promise
      ? made.then((later) => this.insertOne(later, !fromRun, wait))
      : this.insertOne(made, !fromRun, wait)
  }

  /** The job to insert, checked. @throws JobchartError STOPPED, and what `prepare` throws */
  prepare(job: JobDefinition, input: unknown, options?: EnqueueOptions, fromRun = false): NewJob | Promise<NewJob> {
    const refusal = fromRun ? null : this.owner.refusing()
    if (refusal !== null) throw refusal
    const made = prepare(this.settings.jobs, this.ids, job, input, options)
    return this.isOpen ? made : this.ready().then(() => made)
  }

  /** All of these or, with `wait` null and no room, none: then it answers null. */
  insert<Output>(jobs: readonly NewJob[], wait: WaitOptions | null | undefined): Promise<JobHandle<Output>[] | null> {
    return this.inserter.insert(jobs, true, wait, (_, answers) =>
      answers === null ? null : jobs.map((made, i) => this.handle<Output>(made, answers[i] as InsertAnswer)),
    )
  }

  private insertOne<Output>(made: NewJob, bounded: boolean, wait?: WaitOptions): Promise<JobHandle<Output>> {
    return this.inserter.insert([made], bounded, wait, this.finishOne<Output>)
  }

  /** One function for all calls. */
  private readonly finishOne = <Output>(
    call: Call<JobHandle<Output>>,
    answers: InsertAnswer[] | null,
  ): JobHandle<Output> => this.handle<Output>(call.jobs[0] as NewJob, answers?.[0] as InsertAnswer)

  private handle<Output>({ type, maxAttempts }: NewJob, { id, outcome, state, seq }: InsertAnswer): JobHandle<Output> {
    const counters = this.fresh(maxAttempts)
    return new JobHandle<Output>(this.handleHost, id, type, outcome !== 'inserted', state, seq, counters)
  }

  handleOf({ id, type, state, attempt, maxAttempts, generation, history }: JobRecord): JobHandle {
    const counters = { attempt, maxAttempts, generation }
    return new JobHandle(this.handleHost, id, type, true, state, history.at(-1)?.seq ?? 0, counters)
  }

  /** The counters of a new job, one object for all that have the same. */
  private fresh(maxAttempts: number): JobCounters {
    const last = this.freshCounters
    if (last.maxAttempts === maxAttempts) return last
    return (this.freshCounters = { attempt: 0, maxAttempts, generation: 1 })
  }

  async get(id: string): Promise<JobRecord | null> {
    await this.ready()
    return (await this.store.get([id]))[0] ?? null
  }

  /** For streams over the store. */
  get follow(): FollowOptions {
    const listen = (listeners: Set<() => void>) => (listener: () => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
    const { store, timers, hub } = this
    return {
      store,
      timers,
      logger: this.settings.logger,
      onChange: (changed) => {
        const offHints = listen(this.changeListeners)(changed)
        const offEvents = hub.onAll(changed)
        return () => {
          offHints()
          offEvents()
        }
      },
      onEnd: listen(this.endListeners),
      ready: () => this.ready(),
    }
  }

  private hint(hint: Hint): void {
    if (hint.kind === 'room') this.inserter.room()
    this.results.hint(hint)
    this.owner.hint(hint)
    for (const changed of this.changeListeners) changed()
  }

  private inserted(jobs: readonly NewJob[], answers: readonly InsertAnswer[]): void {
    const { hub } = this
    if (!hub.observed) return
    answers.forEach(({ outcome, id, state, seq, at, superseded }, i) => {
      if (superseded !== undefined) hub.tell(superseded)
      if (outcome !== 'inserted' || !hub.wants(id)) return
      const { type } = jobs[i] as NewJob
      hub.tell({ seq, at, id, type, event: 'ENQUEUE', from: null, to: state, attempt: 0 })
    })
  }

  private makeHandleHost(): HandleHost {
    const { owner, results, timers, hub } = this
    const { logger } = this.settings
    const followed = { hub, results, get: (id: string) => this.get(id) }
    return {
      whenEnded: (id, told, closed) => results.whenEnded(id, told, closed),
      after: (delayMs, run) => timers.after(delayMs, run),
      record: async (id) => (await this.get(id)) ?? Promise.reject(notFound(id)),
      cancel: (id, options) => owner.cancel(id, options),
      retry: (id) => owner.retry(id),
      state$: (id) =>
        new Stream<JobState>(logger, (subscriber) =>
          followJob(followed, id, {
            record: (record) => (record === null ? subscriber.error(notFound(id)) : subscriber.next(record.state)),
            event: ({ from, to }) => {
              if (from !== to) subscriber.next(to)
            },
            end: () => subscriber.complete(),
            failed: (error) => subscriber.error(error),
          }),
        ),
      events$: (id) =>
        new Stream<JobEvent>(logger, (subscriber) =>
          followJob(followed, id, {
            record: (record) => {
              if (record === null) return subscriber.error(notFound(id))
              const last = record.history.at(-1)
              if (last !== undefined) subscriber.next(asEvent(id, record.type, last))
              const checkin = lastCheckIn(record)
              if (checkin !== null) subscriber.next(checkin)
            },
            event: (event) => subscriber.next(event),
            end: () => subscriber.complete(),
            failed: (error) => subscriber.error(error),
          }),
        ),
      eventsSince: (id, seq, told) =>
        followJob(followed, id, {
          record: (record) => {
            for (const entry of record?.history ?? []) if (entry.seq > seq) told(asEvent(id, record?.type ?? '', entry))
          },
          event: told,
          end: () => {},
          failed: (error) => logger.warn('could not follow a job', { error, id }),
        }),
    }
  }
}

export const waitOf = ({ signal, timeout }: EnqueueOptions = {}): WaitOptions | undefined =>
  signal === undefined && timeout === undefined
    ? undefined
    : { signal, timeoutMs: timeout === undefined ? undefined : durationMs(timeout, 'timeout') }

export const notFound = (id: string): JobchartError =>
  new JobchartError('NOT_FOUND', `job ${id} is not in the store`, {
    hint: 'It never was, or it was pruned or discarded; keep ended jobs longer with `retention`.',
  })
