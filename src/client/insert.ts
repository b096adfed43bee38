/**
 * Insert: calls made in the same turn share one write (group commit), each learns its own answer, and what finds no room
 * waits for it, first come, first served.
 */
import type { Timer } from '../core/clock.ts'
import { AbortError, JobchartError } from '../core/errors.ts'
import type { InsertAnswer, InsertRequest, NewJob, Store } from '../store.ts'
import { refusedBy, whenAnswered } from './answer.ts'
import { InsertCall, type WaitOptions } from './insert-call.ts'
import type { Timers } from './timers.ts'

/** Requests of one write at most: it bounds how long a store is busy with it. */
const batchMax = 1_000
/** So many calls of one turn are written at once. */
const batchBytesHint = 500
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

export class Inserter {
  /** Calls of this turn, not tried yet. */
  private fresh: InsertCall[] = []
  /** Calls that found no room, in the order in which they came; each keeps its place until it is answered. */
  private readonly waiters = new Set<InsertCall>()
  private writing: readonly InsertCall[] = []
  private flushing = false
  private roomSeen = false
  private roomTimer: Timer | null = null
  /** How many of the line the next try takes: doubled while all find room. */
  private tryCount = 1
  /** Why nothing is taken any more, if so. */
  private closed: JobchartError | null = null
  /** Why no call may wait for room any more, if so. */
  private waitRefusal: JobchartError | null = null
  /** A write that is to be repeated, later or at once. */
  private repeat: Timer | null = null
  private repeatNow: () => void = nothing
  private announced = false
  private readonly options: InserterOptions

  constructor(options: InserterOptions) {
    this.options = options
  }

  /** Calls whose answer is not known yet. */
  get pending(): number {
    return this.fresh.length + this.waiters.size + this.writing.length
  }

  /**
   * Inserts all of these jobs or none.
   * @param bounded do they need room? What a running job enqueues does not: it would wait for its own slot
   * @param wait for room: as long as it takes, as long as it allows, or null: not at all, then there are no answers
   * @param finish makes the caller's value of the answers
   * @throws TIMEOUT, ABORTED, CAPACITY, ID_TAKEN, STORE_UNAVAILABLE, and why the inserter was closed
   */
  insert<T>(
    jobs: readonly NewJob[],
    bounded: boolean,
    wait: WaitOptions | null | undefined,
    finish: (call: InsertCall<T>, answers: InsertAnswer[] | null) => T,
  ): Promise<T> {
    const call = new InsertCall(jobs, bounded ? this.options.capacity : null, wait !== null, finish)
    const refusal = this.refusal(call, wait)
    if (refusal !== null) call.reject(refusal)
    else this.take(call as InsertCall, wait)
    return call.promise
  }

  /** There may be room again. */
  room(): void {
    if (this.waiters.size === 0) return
    this.roomSeen = true
    if (!this.flushing && !this.announced) this.announce()
  }

  /**
   * Refuses every call that waits for room, and from now on every call that would have to wait, those on their way into the
   * store included: whoever takes jobs out of the backlog is about to end.
   */
  refuseWaiting(error: JobchartError): void {
    this.waitRefusal = error
    // A call that is being written learns it with the answer of the write.
    for (const call of this.waiters) if (!this.writing.includes(call)) call.reject(error)
    this.waiters.clear()
    this.roomTimer?.cancel()
    this.roomTimer = null
  }

  /** Refuses every call from now on, and those that wait. A write that failed is repeated once more, at once. */
  close(error: JobchartError): void {
    this.closed = error
    this.refuseWaiting(error)
    this.repeat?.cancel()
    this.repeatNow()
  }

  /** Why a call is not even tried, if so. */
  private refusal({ jobs, capacity }: InsertRequest, wait: WaitOptions | null | undefined): JobchartError | null {
    if (this.closed !== null) return this.closed
    if (wait !== null && capacity !== null && jobs.length > capacity) return tooMany(jobs.length, capacity)
    return wait?.signal?.aborted ? new AbortError('the enqueue was aborted', wait.signal.reason) : null
  }

  private take(call: InsertCall, wait: WaitOptions | null | undefined): void {
    if (wait) call.watch(wait, this.options.timers, (error) => this.giveUp(call, error))
    this.fresh.push(call)
    if (this.flushing) return
    // A large turn is written in parts, while what it has made is young.
    if (this.fresh.length >= batchBytesHint) this.flush()
    else if (!this.announced) this.announce()
  }

  /** At the end of the turn. */
  private announce(): void {
    this.announced = true
    queueMicrotask(() => {
      this.announced = false
      if (!this.flushing) this.flush()
    })
  }

  private flush(): void {
    this.flushing = true
    for (let calls = this.next(); calls.length > 0; calls = this.next()) {
      let answered = false
      let left = false
      this.write(calls, 0, () => {
        answered = true
        if (left) this.flush()
      })
      left = !answered
      // The answer comes later, and goes on from there.
      if (left) return
    }
    this.flushing = false
  }

  /** What is to be written next. While a line waits for room nobody overtakes it. */
  private next(): readonly InsertCall[] {
    if (this.waiters.size === 0) return this.takeFresh()
    const unbounded: InsertCall[] = []
    for (const call of this.fresh) {
      if (call.capacity === null) unbounded.push(call)
      else if (call.waits) this.waiters.add(call)
      else call.done(null)
    }
    this.fresh = []
    if (unbounded.length > 0) return unbounded
    if (!this.roomSeen) {
      this.roomTimer ??= this.options.timers.after(roomPollMs, () => {
        this.roomTimer = null
        this.room()
      })
      return []
    }
    this.roomSeen = false
    const first = this.waiters.values().take(this.tryCount).toArray()
    return first.slice(0, this.batch(first))
  }

  private takeFresh(): readonly InsertCall[] {
    const count = this.batch(this.fresh)
    if (count < this.fresh.length) return this.fresh.splice(0, count)
    const calls = this.fresh
    this.fresh = []
    return calls
  }

  /**
   * How many of the first calls may share a write. With a capacity, a call of several jobs goes alone: it may find no room
   * where a smaller one behind it would, and must not be overtaken.
   */
  private batch(calls: readonly InsertCall[]): number {
    const count = Math.min(calls.length, batchMax)
    if (this.options.capacity === null) return count
    for (let i = 0; i < count; i++) if ((calls[i] as InsertCall).jobs.length > 1) return Math.max(1, i)
    return count
  }

  /** Writes, again if the store is not there, and calls `next` when every call has its answer. */
  private write(calls: readonly InsertCall[], tries: number, next: () => void): void {
    this.writing = calls
    this.repeatNow = nothing
    whenAnswered(
      () => this.options.store.insert(calls),
      (answers) => {
        this.writing = []
        this.answer(calls, answers)
        next()
      },
      (error) => {
        const delayMs = retryDelaysMs[tries]
        const again = error instanceof JobchartError && error.code === 'STORE_UNAVAILABLE' && this.closed === null
        if (again && delayMs !== undefined) {
          this.repeat = this.options.timers.after(delayMs, () => this.write(calls, tries + 1, next))
          this.repeatNow = () => this.write(calls, retryDelaysMs.length, next)
          return
        }
        this.writing = []
        for (const call of calls) {
          this.waiters.delete(call)
          call.reject(error)
        }
        next()
      },
    )
  }

  private answer(calls: readonly InsertCall[], answers: readonly InsertAnswer[][]): void {
    let refused = 0
    for (let i = 0; i < calls.length; i++) {
      const call = calls[i] as InsertCall
      const answer = answers[i] as InsertAnswer[]
      const outcome = answer[0]?.outcome
      const givenUp = call.givenUp ?? this.waitRefusal
      if (outcome === 'full' && call.waits && givenUp === null) {
        refused++
        this.waiters.add(call)
        continue
      }
      this.waiters.delete(call)
      if (outcome === 'full') {
        if (givenUp !== null) call.reject(givenUp)
        else call.done(null)
      } else if (answer.some((each) => each.outcome === 'id-taken')) call.reject(idTaken(answer))
      else if (outcome === 'failed') {
        call.reject(refusedBy(this.options.store.name, `job ${answer[0]?.id}`, answer[0]?.error))
      } else {
        this.options.inserted(call.jobs, answer)
        call.done(answer)
      }
    }
    this.tryCount = refused === 0 ? Math.min(this.tryCount * 2, batchMax) : Math.max(1, calls.length - refused)
    // All found room: so may the next ones.
    if (refused === 0) this.roomSeen = true
  }

  private giveUp(call: InsertCall, error: JobchartError): void {
    if (this.writing.includes(call)) {
      call.giveUp(error)
      return
    }
    this.waiters.delete(call)
    this.fresh = this.fresh.filter((each) => each !== call)
    call.reject(error)
  }
}

const nothing = (): void => {}

function tooMany(count: number, capacity: number): JobchartError {
  return new JobchartError('CAPACITY', `${count} jobs in one call never fit into a \`capacity\` of ${capacity}`, {
    hint: 'Enqueue them in smaller parts, or raise `capacity`.',
  })
}

function idTaken(answers: readonly InsertAnswer[]): JobchartError {
  const ids = answers.filter(({ outcome }) => outcome === 'id-taken').map(({ id }) => id)
  return new JobchartError('ID_TAKEN', `id ${ids.slice(0, 10).join(', ')} belongs to a job of another type`, {
    hint: 'Use an id of its own for each type, e.g. prefixed with the type.',
  })
}
