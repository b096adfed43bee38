/**
 * Notifies waiters of the end of a job, in whichever process it ends. An event of this process that has the output is
 * enough for waiters that need no more. Otherwise records are read, many in one query: those of jobs that are awaited
 * from now on, those of jobs that have ended according to an event or a hint, and on shared stores, by polling, those
 * of all awaited jobs.
 */
import type { Timer } from '../core/clock.ts'
import type { JobchartError } from '../core/errors.ts'
import type { AnyJobEvent, JobRecord } from '../core/record.ts'
import { isEnded } from '../core/lifecycle.ts'
import type { RepeatedCalls } from '../core/repeated-calls.ts'
import type { Hint, Store } from '../store.ts'
import type { EventHub } from './event-hub.ts'
import type { CallDeadline } from './call-deadline.ts'
import type { Timers } from './timers.ts'

/** Jobs per call of the store. */
const jobsPerQuery = 500
/** Polling time for each `jobsPerQuery` awaited jobs: hints of other processes may be missed. */
const pollMs = 1_000
const readFailed = 'awaited jobs could not be read from the store; the read is repeated'

/** While this many jobs are awaited, ended jobs are collected for this long before they are read, ms. */
const collectFrom = 100
const collectMs = 10

function queriesOf(ids: readonly string[]): readonly (readonly string[])[] {
  if (ids.length <= jobsPerQuery) return [ids]
  const queries: (readonly string[])[] = []
  for (let i = 0; i < ids.length; i += jobsPerQuery) queries.push(ids.slice(i, i + jobsPerQuery))
  return queries
}

/** Called once, with the ended job, or null if it is not in the store. */
type WhenEnded = (record: JobRecord | null) => void

interface Waiter {
  readonly ended: WhenEnded
  /**
   * Called instead with the event of this process by which the job is done, for those who want no more than its output.
   */
  readonly done?: (event: AnyJobEvent) => void
  readonly closed: (reason: JobchartError) => void
}

interface ResultsOptions {
  readonly store: Store
  readonly hub: EventHub
  readonly timers: Timers
  readonly repeated: RepeatedCalls
}

export class Results {
  private readonly waiting = new Map<string, Set<Waiter>>()
  /** Jobs to be read by the next query. */
  private readonly wanted = new Set<string>()
  /** Awaited jobs that have ended and whose records are being read. */
  private readonly fetching = new Set<string>()
  /** Is a query scheduled in this turn? */
  private announced: 'no' | 'at its end' | 'after it' = 'no'
  private collecting: Timer | null = null
  private timer: Timer | null = null
  private timerAt = Infinity
  /** Why waiters are refused; null until the close. */
  private closed: JobchartError | null = null
  private readonly options: ResultsOptions

  constructor(options: ResultsOptions) {
    this.options = options
  }

  /**
   * Calls `ended` when the job has ended, also if it already has, or `closed` when this is closed before; neither after
   * the returned function was called.
   * @param done is called instead of `ended` with the event of this process by which the job became done
   * @param mayEndSoon the job was inserted just now: it is read after this turn, if no event has told its end by then
   */
  whenEnded(
    id: string,
    ended: WhenEnded,
    closed: Waiter['closed'] = () => {},
    done?: (event: AnyJobEvent) => void,
    mayEndSoon = false,
  ): () => void {
    const waiter: Waiter = { ended, closed, ...(done !== undefined && { done }) }
    const waiters = this.waiting.get(id) ?? new Set()
    waiters.add(waiter)
    if (waiters.size === 1) this.waiting.set(id, waiters)
    const leave = (): void => {
      off()
      waiters.delete(waiter)
      if (waiters.size === 0 && this.waiting.get(id) === waiters) {
        this.waiting.delete(id)
        if (this.wanted.delete(id)) this.fetching.delete(id)
      }
      if (this.waiting.size > 0) return
      this.stopPolling()
      this.options.repeated.givenUp(readFailed)
    }
    const off = this.options.hub.onJob(id, (event) => {
      if (!isEnded(event.to)) return
      if (event.event !== 'COMPLETE' || event.to !== 'done' || waiter.done === undefined) return this.fetch([id])
      leave()
      waiter.done(event)
    })
    this.wanted.add(id)
    this.announce(mayEndSoon)
    this.schedulePoll()
    return leave
  }

  hint(hint: Hint): void {
    if (this.waiting.size === 0) return
    this.options.store.watchEnds?.()
    const { kind } = hint
    if (kind === 'ended' && hint.ids !== undefined) this.fetch(hint.ids)
    else if (kind === 'ended' || kind === 'missed' || kind === 'rollback' || kind === 'restart') this.scheduleQuery(0)
  }

  /** Reads ended jobs, each once. */
  private fetch(ended: readonly string[]): void {
    const ids = ended.filter((id) => this.waiting.has(id) && !this.fetching.has(id))
    if (ids.length === 0) return
    for (const id of ids) {
      this.fetching.add(id)
      this.wanted.add(id)
    }
    if (this.waiting.size < collectFrom || this.wanted.size >= jobsPerQuery) this.announce(false)
    else if (this.announced === 'no') this.collecting ??= this.options.timers.after(collectMs, () => this.queryWanted())
  }

  /** Reads what is wanted in this turn together, at its end or after it: an event of the turn may be enough. */
  private announce(afterTurn: boolean): void {
    if (this.announced === 'at its end' || (this.announced === 'after it' && afterTurn)) return
    this.announced = afterTurn ? 'after it' : 'at its end'
    const query = (): void => {
      this.announced = 'no'
      this.queryWanted()
    }
    if (afterTurn) this.options.timers.clock.nextTurn(query)
    else queueMicrotask(query)
  }

  private queryWanted(): void {
    this.collecting?.cancel()
    this.collecting = null
    if (this.wanted.size === 0) return
    const ids = [...this.wanted]
    this.wanted.clear()
    for (const some of queriesOf(ids)) {
      void this.queryStore(some).then(() => {
        for (const id of some) this.fetching.delete(id)
        // A waiter that is added after the close would otherwise wait endlessly.
        if (this.closed !== null) this.refuse(some, this.closed)
      })
    }
  }

  /** Reads the awaited jobs a last time, then refuses the remaining waiters. */
  async close(reason: JobchartError, deadline: CallDeadline): Promise<void> {
    this.stopPolling()
    this.collecting?.cancel()
    this.collecting = null
    if (this.waiting.size > 0) await deadline.wait(this.queryStore([...this.waiting.keys()]))
    this.stopPolling()
    this.closed = reason
    this.refuse([...this.waiting.keys()], reason)
  }

  private refuse(ids: readonly string[], reason: JobchartError): void {
    for (const id of ids) {
      const waiters = this.waiting.get(id) ?? []
      this.waiting.delete(id)
      for (const { closed } of waiters) closed(reason)
    }
  }

  private stopPolling(): void {
    this.timer?.cancel()
    this.timer = null
    this.timerAt = Infinity
  }

  private schedulePoll(): void {
    // A store of a single process hints at every end.
    if (this.options.store.capabilities.shared) this.scheduleQuery(pollMs * Math.ceil(this.waiting.size / jobsPerQuery))
  }

  private scheduleQuery(delayMs: number): void {
    const at = this.options.timers.clock.monotonic() + delayMs
    if (at >= this.timerAt) return
    this.timer?.cancel()
    this.timerAt = at
    this.timer = this.options.timers.after(delayMs, () => {
      this.stopPolling()
      void this.queryStore([...this.waiting.keys()]).then(() => {
        if (this.waiting.size > 0) this.schedulePoll()
      })
    })
  }

  private async queryStore(ids: readonly string[]): Promise<void> {
    try {
      this.options.store.watchEnds?.()
      for (const some of queriesOf(ids)) {
        const records = await this.options.store.get(some)
        for (let i = 0; i < some.length; i++) this.notify(some[i] as string, records[i] ?? null)
      }
      this.options.repeated.succeeded(readFailed)
    } catch (error) {
      // A read was under way when the store was closed.
      if (this.closed !== null) return
      this.options.repeated.failed(readFailed, { error, jobs: ids.length })
      this.scheduleQuery(pollMs)
    }
  }

  private notify(id: string, record: JobRecord | null): void {
    if (record !== null && !isEnded(record.state)) return
    const waiters = this.waiting.get(id)
    if (waiters === undefined) return
    this.waiting.delete(id)
    for (const { ended } of waiters) ended(record)
  }
}
