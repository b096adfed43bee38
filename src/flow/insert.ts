/**
 * Insert: calls made in the same turn share one write (group commit), each learns its own answer, and what finds no room
 * waits for it, first come, first served.
 */
import type { Timer } from '../clock.ts'
import { AbortError, JobchartError } from '../errors.ts'
import type { InsertAnswer, NewJob, Store } from '../store.ts'
import { Call, type WaitOptions } from './insert-call.ts'
import type { Timers } from './timers.ts'

export type { WaitOptions }

/** Requests of one write at most: it bounds how long a store is busy with it. */
const batchMax = 1_000
/** Where hints may be missed, room is looked for this often. */
const roomPollMs = 500
/** A write that failed is repeated, which is safe because ids are fixed before the first try. */
const retryDelaysMs = [20, 100, 500]

export interface InserterOptions {
  readonly store: Store
  readonly capacity: number | null
  readonly timers: Timers
  /** Told after each write what was inserted, in order, before the caller is. */
  readonly inserted: (jobs: readonly NewJob[], answers: readonly InsertAnswer[]) => void
}

const waitForEver: WaitOptions = {}

export class Inserter {
  /** Calls of this turn, not tried yet. */
  private fresh: Call[] = []
  /** Calls that found no room, in the order in which they came; each keeps its place until it is answered. */
  private readonly line = new Set<Call>()
  private writing: readonly Call[] = []
  private flushing = false
  private roomSeen = false
  private roomTimer: Timer | null = null
  /** How many of the line the next try takes: doubled while all find room. */
  private tryCount = 1
  /** Why nothing is taken any more, if so. */
  private closed: JobchartError | null = null
  /** Ends the rest before a write is repeated. */
  private wake: () => void = () => {}
  private readonly options: InserterOptions

  constructor(options: InserterOptions) {
    this.options = options
  }

  /** Calls whose answer is not known yet. */
  get pending(): number {
    return this.fresh.length + this.line.size + this.writing.length
  }

  /** Waits for room as long as it takes or `wait` allows. @throws TIMEOUT, ABORTED, CAPACITY, STORE_UNAVAILABLE */
  insert(jobs: readonly NewJob[], wait: WaitOptions = waitForEver): Promise<InsertAnswer[]> {
    const { capacity } = this.options
    if (capacity !== null && jobs.length > capacity) return Promise.reject(tooMany(jobs.length, capacity))
    return this.add(jobs, wait) as Promise<InsertAnswer[]>
  }

  /** null, and nothing stored, if there is no room now, or if others wait for it. */
  tryInsert(jobs: readonly NewJob[]): Promise<InsertAnswer[] | null> {
    return this.add(jobs, null)
  }

  /** There may be room again. */
  room(): void {
    if (this.line.size === 0) return
    this.roomSeen = true
    this.schedule()
  }

  /** Refuses every call that waits for room. */
  refuseWaiting(error: JobchartError): void {
    for (const call of this.line) {
      if (!this.writing.includes(call)) call.reject(error)
      else call.givenUp = error
    }
    this.line.clear()
    this.roomTimer?.cancel()
    this.roomTimer = null
  }

  /** Refuses every call from now on, and those that wait. A write that failed is repeated once more, at once. */
  close(error: JobchartError): void {
    this.closed = error
    this.refuseWaiting(error)
    this.wake()
  }

  private add(jobs: readonly NewJob[], wait: WaitOptions | null): Promise<InsertAnswer[] | null> {
    if (this.closed !== null) return Promise.reject(this.closed)
    return new Promise((resolve, reject) => {
      const call = new Call(jobs, this.options.capacity, wait, resolve, reject)
      if (wait !== null && wait !== waitForEver) {
        if (wait.signal?.aborted) return reject(new AbortError('the enqueue was aborted', wait.signal.reason))
        call.watch(wait, this.options.timers, (error) => this.giveUp(call, error))
      }
      this.fresh.push(call)
      this.schedule()
    })
  }

  private schedule(): void {
    if (this.flushing) return
    this.flushing = true
    queueMicrotask(() => void this.flush())
  }

  private async flush(): Promise<void> {
    for (let calls = this.next(); calls.length > 0; calls = this.next()) {
      this.writing = calls
      try {
        const answers = await this.write(calls)
        this.writing = []
        this.answer(calls, answers)
      } catch (error) {
        this.writing = []
        for (const call of calls) {
          this.line.delete(call)
          call.reject(error)
        }
      }
    }
    this.flushing = false
  }

  /** What is to be written next. While a line waits for room nobody overtakes it. */
  private next(): readonly Call[] {
    if (this.line.size === 0) return this.takeFresh()
    for (const call of this.fresh) {
      if (call.wait === null) call.resolve(null)
      else this.line.add(call)
    }
    this.fresh = []
    if (!this.roomSeen) {
      this.roomTimer ??= this.options.timers.after(roomPollMs, () => {
        this.roomTimer = null
        this.room()
      })
      return []
    }
    this.roomSeen = false
    const first = this.line.values().take(this.tryCount).toArray()
    return first.slice(0, this.together(first))
  }

  private takeFresh(): readonly Call[] {
    const count = this.together(this.fresh)
    if (count < this.fresh.length) return this.fresh.splice(0, count)
    const calls = this.fresh
    this.fresh = []
    return calls
  }

  /**
   * How many of the first calls may share a write. With a capacity, a call of several jobs goes alone: it may find no room
   * where a smaller one behind it would, and must not be overtaken.
   */
  private together(calls: readonly Call[]): number {
    const count = Math.min(calls.length, batchMax)
    if (this.options.capacity === null) return count
    const large = calls.findIndex((call) => call.jobs.length > 1)
    return large < 0 || large >= count ? count : Math.max(1, large)
  }

  private async write(calls: readonly Call[]): Promise<InsertAnswer[][]> {
    const { store, timers } = this.options
    for (const delayMs of retryDelaysMs) {
      try {
        return await store.insert(calls)
      } catch (error) {
        if (!(error instanceof JobchartError) || error.code !== 'STORE_UNAVAILABLE') throw error
        if (this.closed !== null) throw error
        await new Promise<void>((resolve) => {
          this.wake = resolve
          timers.after(delayMs, resolve)
        })
      }
    }
    return store.insert(calls)
  }

  private answer(calls: readonly Call[], answers: readonly InsertAnswer[][]): void {
    let refused = 0
    for (let i = 0; i < calls.length; i++) {
      const call = calls[i] as Call
      const answer = answers[i] as InsertAnswer[]
      const outcome = answer[0]?.outcome
      const givenUp = call.givenUp ?? this.closed
      if (outcome === 'full' && call.wait !== null && givenUp === null) {
        refused++
        this.line.add(call)
        continue
      }
      this.line.delete(call)
      if (outcome === 'full') {
        if (givenUp !== null) call.reject(givenUp)
        else call.resolve(null)
      } else if (answer.some((each) => each.outcome === 'id-taken')) call.reject(idTaken(answer))
      else {
        this.options.inserted(call.jobs, answer)
        call.resolve(answer)
      }
    }
    this.tryCount = refused === 0 ? Math.min(this.tryCount * 2, batchMax) : Math.max(1, calls.length - refused)
    // All found room: so may the next ones.
    if (refused === 0) this.roomSeen = true
  }

  private giveUp(call: Call, error: JobchartError): void {
    if (this.writing.includes(call)) {
      call.givenUp = error
      return
    }
    this.line.delete(call)
    this.fresh = this.fresh.filter((each) => each !== call)
    call.reject(error)
  }
}

function tooMany(count: number, capacity: number): JobchartError {
  return new JobchartError('CAPACITY', `${count} jobs at once never fit into a capacity of ${capacity}`, {
    hint: 'Enqueue them in smaller parts.',
  })
}

function idTaken(answers: readonly InsertAnswer[]): JobchartError {
  const ids = answers.filter(({ outcome }) => outcome === 'id-taken').map(({ id }) => id)
  return new JobchartError('ID_TAKEN', `id ${ids.join(', ')} belongs to a job of another type`, {
    hint: 'Use an id of its own for each type, e.g. prefixed with the type.',
  })
}
