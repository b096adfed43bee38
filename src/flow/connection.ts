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
import type { JobState } from '../job/lifecycle.ts'
import type { EnqueueOptions } from '../call-options.ts'
import type { ClientSettings } from '../options.ts'
import type { Hint, InsertAnswer, NewJob, Store } from '../store.ts'
import { prepare } from './enqueue.ts'
import { Hub } from './events.ts'
import type { FollowOptions } from './follow.ts'
import { asEvent, followJob, lastCheckIn } from './follow-job.ts'
import { Inserter, type WaitOptions } from './insert.ts'
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
  private readonly results: Results
  private readonly owner: ConnectionOwner
  private readonly handleHost: HandleHost
  private readonly changeListeners = new Set<() => void>()
  private readonly endListeners = new Set<() => void>()
  private opening: Promise<void> | null = null
  private isOpen = false
  private unwatch: () => void = () => {}

  constructor(store: Store, settings: ClientSettings, owner: ConnectionOwner) {
    const { logger, clock, capacity } = settings
    this.store = store
    this.settings = settings
    this.owner = owner
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
      () => {
        this.isOpen = true
        this.unwatch = this.store.watch((hint) => this.hint(hint))
      },
      (error: unknown) => {
        this.opening = null
        throw error
      },
    ))
  }

  /** Ends every stream and wait, then lets go of the store. */
  async close(reason: JobchartError): Promise<void> {
    this.inserter.refuseWaiting(reason)
    this.unwatch()
    if (this.isOpen) await this.results.close(reason)
    for (const ended of this.endListeners) ended()
    this.hub.complete()
    this.timers.cancelAll()
    if (this.isOpen) await this.store.close()
    this.isOpen = false
  }

  /** @param fromRun a running job may enqueue while others are refused */
  async enqueue<Output>(
    job: JobDefinition<unknown, Output>,
    input: unknown,
    options?: EnqueueOptions,
    fromRun = false,
  ): Promise<JobHandle<Output>> {
    const made = await this.prepare(job, input, options, fromRun)
    const answers = await this.inserter.insert([made], waitOf(options))
    return this.handle<Output>(made, answers[0] as InsertAnswer)
  }

  /** The job to insert, checked. @throws JobchartError STOPPED, and what `prepare` throws */
  async prepare(job: JobDefinition, input: unknown, options?: EnqueueOptions, fromRun = false): Promise<NewJob> {
    const refusal = fromRun ? null : this.owner.refusing()
    if (refusal !== null) throw refusal
    const made = await prepare(this.settings.jobs, job, input, options)
    if (!this.isOpen) await this.ready()
    return made
  }

  handle<Output>(made: NewJob, { id, outcome, state, seq }: InsertAnswer): JobHandle<Output> {
    // A write that was repeated after a lost reply finds its own job: that is no duplicate, unless the id is the caller's.
    const deduplicated = outcome !== 'inserted'
    const seen = { state, attempt: 0, maxAttempts: made.maxAttempts, generation: 1, seq }
    return new JobHandle<Output>(this.handleHost, id, made.type, deduplicated, seen)
  }

  handleOf({ id, type, state, attempt, maxAttempts, generation, history }: JobRecord): JobHandle {
    const seen = { state, attempt, maxAttempts, generation, seq: history.at(-1)?.seq ?? 0 }
    return new JobHandle(this.handleHost, id, type, true, seen)
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
