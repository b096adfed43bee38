/**
 * Inserts jobs. Calls of the same turn of the event loop share one write (group commit), and each gets its own answer.
 * Calls that find no room wait in the order of arrival: those of a type with a capacity in a line of their own.
 */
import { systemClock, type Timer } from '../core/clock.ts'
import { counted } from '../core/counted.ts'
import { AbortError, JobchartError } from '../core/errors.ts'
import { TurnBudget } from '../core/turn-budget.ts'
import type { InsertAnswer, NewJob, QueueLimit, Store } from '../store.ts'
import { refusedBy, whenAnswered } from './answer.ts'
import { HeldError, heldMs } from './held.ts'
import { InsertCall, type WaitOptions } from './insert-call.ts'
import type { Timers } from './timers.ts'

/** Limit of the requests in one write, which bounds its duration. */
const batchMax = 1_000
/** A turn with this many calls starts its write before the turn ends. */
const earlyFlushCalls = 500
/**
 * After this many jobs it is looked at how long inserts have worked in this turn: to read the clock for each would cost
 * a part of an insert.
 */
const jobsPerLook = 64
/** Interval in which waiting calls are tried again, because hints may be missed. */
const roomPollMs = 500
/** Delays before a failed write is repeated, which is safe: the ids are fixed before the first try. */
const retryDelaysMs = [20, 100, 500]

export interface InserterOptions {
  readonly store: Store
  readonly capacity: number | null
  /** The limit of the queue of a type; null if no queue has one. */
  readonly queueLimit: ((type: string) => QueueLimit | undefined) | null
  readonly timers: Timers
  /** Called after each write with the inserted jobs, in order, before the callers get their answers. */
  readonly inserted: (jobs: readonly NewJob[], answers: readonly InsertAnswer[]) => void
  /** Called right behind a call to the store, with the jobs that it inserts. */
  readonly sent: (requests: readonly { readonly jobs: readonly NewJob[] }[]) => void
  /** Called when `pending` has become less: calls were answered or refused, or their callers have given up. */
  readonly answered: () => void
  /** Called with each call that may wait for room. @returns to be called at its end */
  readonly awaitsRoom: () => () => void
}

/** Calls that wait for the same room. */
class Line {
  /** Those that found no room, in the order of arrival. A call keeps its place until it is answered. */
  readonly waiters = new Set<InsertCall>()
  roomHinted = false
  /** How many waiters the next try takes: doubled while all find room. */
  tryCount = 1
  /** Of the write that is being answered. */
  written = 0
  refused = 0

  /** After a write: all found room, so there may be room for more; or some did not. */
  adjust(): void {
    const { written, refused } = this
    this.tryCount = refused === 0 ? Math.min(this.tryCount * 2, batchMax) : Math.max(1, written - refused)
    if (refused === 0) this.roomHinted = true
    this.written = this.refused = 0
  }
}

export class Inserter {
  /** Calls that were not tried yet. */
  private newCalls: InsertCall[] = []
  /** By type; null: of the types without a capacity of their own. Those of a try come to the end: each has its turn. */
  private readonly lines = new Map<string | null, Line>()
  private writing: readonly InsertCall[] = []
  /** Calls that are tried again soon, because somebody else holds what they change. */
  private readonly held = new Set<InsertCall>()
  private flushing = false
  private roomTimer: Timer | null = null
  /** Why all calls are refused; null while they are accepted. */
  private closed: JobchartError | null = null
  /** Why calls may not wait for room; null while they may. */
  private waitRefusal: JobchartError | null = null
  /** Timer of a failed write that is to be repeated; `repeatNow` repeats it at once. */
  private repeat: Timer | null = null
  private repeatNow: () => void = nothing
  private flushScheduled = false
  private readonly options: InserterOptions
  /** An insert that is answered synchronously is followed by the next one of its caller in the same turn. */
  private readonly budget: TurnBudget
  /** Jobs since the budget was looked at. */
  private unmeasured = 0

  constructor(options: InserterOptions) {
    this.options = options
    this.budget = new TurnBudget(options.timers.clock)
  }

  /** Number of calls without an answer. */
  get pending(): number {
    return this.newCalls.length + this.waiting + this.writing.length + this.held.size
  }

  private get waiting(): number {
    let sum = 0
    for (const { waiters } of this.lines.values()) sum += waiters.size
    return sum
  }

  private lineOf({ queue }: InsertCall): Line {
    const type = queue?.type ?? null
    let line = this.lines.get(type)
    if (line === undefined) this.lines.set(type, (line = new Line()))
    return line
  }

  /**
   * Inserts all of these jobs or none.
   * @param bounded does the capacity apply? Not to enqueues of a running job: it could wait for its own slot
   * @param wait limits of the wait for room; undefined waits without a limit, null does not wait
   * @param finish makes the caller's result of the answers; null if there was no room and `wait` is null
   * @throws TIMEOUT, ABORTED, CAPACITY, ID_TAKEN, STORE_UNAVAILABLE, and the error given to `close`
   */
  insert<T>(
    jobs: readonly NewJob[],
    bounded: boolean,
    wait: WaitOptions | null | undefined,
    finish: (call: InsertCall<T>, answers: InsertAnswer[] | null) => T,
  ): Promise<T> {
    const { capacity, queueLimit } = this.options
    const queue = bounded && queueLimit !== null ? queueLimit(jobs[0]?.type ?? '') : undefined
    const call = new InsertCall({ jobs, capacity: bounded ? capacity : null, queue }, wait !== null, finish)
    const refusal = this.refusal(call, wait)
    if (refusal !== null) call.reject(refusal)
    else {
      if (call.waits && call.isBounded) call.ended = this.options.awaitsRoom()
      this.accept(call as InsertCall, wait)
    }
    return call.promise
  }

  /** A hint: there may be room again. @param type for jobs of this type */
  room(type?: string): void {
    let hinted = false
    for (const [ofType, line] of this.lines) {
      if (line.waiters.size === 0 || (type !== undefined && type !== ofType)) continue
      line.roomHinted = hinted = true
    }
    if (!hinted) return
    if (!this.flushing && !this.flushScheduled) this.scheduleFlush()
  }

  /**
   * Refuses every call that waits for room, and from now on every call that would have to: the worker that takes jobs
   * out of the backlog is about to stop.
   */
  refuseWaiting(error: JobchartError): void {
    this.waitRefusal = error
    // A call that is being written is refused after the write, if it found no room.
    for (const { waiters } of this.lines.values()) {
      for (const call of waiters) if (!this.writing.includes(call)) call.reject(error)
      waiters.clear()
    }
    this.roomTimer?.cancel()
    this.roomTimer = null
    this.options.answered()
  }

  /** Refuses waiting and future calls. A failed write is repeated once more, at once. */
  close(error: JobchartError): void {
    // The store is still open: calls that wait for the next turn are written.
    if (this.flushScheduled && !this.flushing) this.flush()
    this.closed = error
    for (const call of this.held) call.reject(error)
    this.held.clear()
    this.refuseWaiting(error)
    this.repeat?.cancel()
    this.repeatNow()
  }

  /** Why a call is refused without a try; null if it is tried. */
  private refusal(
    { jobs, capacity, queue }: Omit<InsertCall, 'finish'>,
    wait: WaitOptions | null | undefined,
  ): JobchartError | null {
    if (this.closed !== null) return this.closed
    // Of a hand-over the slots are the limit, and these may become more.
    const most = Math.min(capacity ?? Infinity, queue?.capacity || Infinity)
    if (wait !== null && jobs.length > most) return tooMany(jobs.length, most)
    if (queue?.capacity === 0 && jobs.some(({ runAt, delayMs }) => runAt !== null || delayMs > 0)) return delayed(queue)
    return wait?.signal?.aborted ? new AbortError('the enqueue was aborted', wait.signal.reason) : null
  }

  private accept(call: InsertCall, wait: WaitOptions | null | undefined): void {
    if (wait) call.watch(wait, this.options.timers, (error) => this.giveUp(call, error))
    this.newCalls.push(call)
    this.unmeasured += call.jobs.length
    if (this.flushing) return
    // A turn with many calls is written in parts, which keeps fewer objects alive at a time.
    if (this.newCalls.length >= earlyFlushCalls) this.flush()
    else if (!this.flushScheduled) this.scheduleFlush()
  }

  /**
   * Flushes when this turn's callers have made their calls; in the next turn if inserts have used up their time in this
   * one.
   */
  private scheduleFlush(): void {
    this.flushScheduled = true
    const looks = this.unmeasured >= jobsPerLook
    if (looks) this.unmeasured = 0
    if (looks && this.budget.spent) this.budget.nextTurn(this.flushNow)
    else queueMicrotask(this.flushNow)
  }

  private readonly flushNow = (): void => {
    this.flushScheduled = false
    if (!this.flushing) this.flush()
  }

  private flush(): void {
    this.flushing = true
    for (let calls = this.nextCalls(); calls.length > 0; calls = this.nextCalls()) {
      let answered = false
      let asynchronous = false
      this.write(calls, 0, () => {
        answered = true
        if (asynchronous) this.flush()
      })
      asynchronous = !answered
      if (asynchronous) return
    }
    this.flushing = false
  }

  /** The calls of the next write: those of each line that may find room now, and new calls behind them. */
  private nextCalls(): readonly InsertCall[] {
    if (this.waiting === 0) return this.takeNewCalls(batchMax)
    this.queueNewCalls()
    this.roomTimer ??= this.options.timers.after(roomPollMs, () => {
      this.roomTimer = null
      this.room()
    })
    // A steady stream of new calls does not hold up the waiters, nor the waiters the stream: each has a half of the
    // write.
    const waiters = this.takeWaiters(this.newCalls.length === 0 ? batchMax : batchMax / 2)
    return waiters.concat(this.takeNewCalls(batchMax - waiters.length))
  }

  /** New calls that need room queue behind the waiters of their line. The others are written without a wait. */
  private queueNewCalls(): void {
    const free: InsertCall[] = []
    for (const call of this.newCalls) {
      const line = call.isBounded ? this.lineOf(call) : null
      if (line === null || line.waiters.size === 0) free.push(call)
      else if (call.waits) line.waiters.add(call)
      else call.done(null)
    }
    this.newCalls = free
  }

  /** They keep their places in the lines until they are answered. */
  private takeWaiters(most: number): InsertCall[] {
    const calls: InsertCall[] = []
    // A line that moves to the end is met again, without its hint.
    for (const [type, line] of this.lines) {
      if (calls.length === most) break
      if (!line.roomHinted || line.waiters.size === 0) continue
      line.roomHinted = false
      this.lines.delete(type)
      this.lines.set(type, line)
      const first = line.waiters
        .values()
        .take(Math.min(line.tryCount, most - calls.length))
        .toArray()
      calls.push(...first.slice(0, this.callsPerWrite(first)))
    }
    return calls
  }

  private takeNewCalls(most: number): InsertCall[] {
    const count = Math.min(most, this.callsPerWrite(this.newCalls))
    if (count < this.newCalls.length) return this.newCalls.splice(0, count)
    const calls = this.newCalls
    this.newCalls = []
    return calls
  }

  /**
   * How many of the first calls may share a write. With a capacity, a call with several jobs is the last of its line:
   * it may find no room where a smaller call behind it does, and must not be overtaken.
   */
  private callsPerWrite(calls: readonly InsertCall[]): number {
    const count = Math.min(calls.length, batchMax)
    if (this.options.capacity === null && this.options.queueLimit === null) return count
    const ended = new Set<Line>()
    for (let i = 0; i < count; i++) {
      const call = calls[i] as InsertCall
      if (!call.isBounded) continue
      const line = this.lineOf(call)
      if (ended.has(line)) return i
      if (call.jobs.length > 1) ended.add(line)
    }
    return count
  }

  /** Writes, repeats the write while the store is unavailable, and calls `next` when every call has its answer. */
  private write(calls: readonly InsertCall[], tries: number, next: () => void): void {
    this.writing = calls
    this.repeatNow = nothing
    whenAnswered(
      () => this.options.store.insert(calls),
      (answers) => {
        this.writing = []
        this.answer(calls, answers)
        this.options.answered()
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
          this.leaveLine(call)
          call.reject(error)
        }
        if (this.closed !== null) this.refuseNewCalls(this.closed)
        this.options.answered()
        next()
      },
    )
    this.options.sent(calls)
  }

  /** The store was closed before their turn. */
  private refuseNewCalls(reason: JobchartError): void {
    for (const call of this.newCalls) call.reject(reason)
    this.newCalls = []
  }

  private answer(calls: readonly InsertCall[], answers: readonly InsertAnswer[][]): void {
    const lines = new Set<Line>()
    for (let i = 0; i < calls.length; i++) {
      const call = calls[i] as InsertCall
      const answer = answers[i] as InsertAnswer[]
      const outcome = answer[0]?.outcome
      const givenUp = call.givenUp ?? this.waitRefusal
      if (call.isBounded) {
        const line = this.lineOf(call)
        lines.add(line)
        line.written++
        if (outcome === 'full' && call.waits && givenUp === null) {
          line.refused++
          line.waiters.add(call)
          call.refused(answer[0]?.full)
          continue
        }
        line.waiters.delete(call)
      }
      if (outcome === 'full') {
        if (givenUp !== null) call.reject(givenUp)
        else call.done(null)
      } else if (answer.some((each) => each.outcome === 'id-taken')) call.reject(idTaken(answer))
      else if (outcome === 'failed') {
        const error = refusedBy(this.options.store.name, `job ${answer[0]?.id}`, answer[0]?.error)
        if (!this.tryLater(call, error)) call.reject(call.givenUp ?? error)
      } else {
        this.options.inserted(call.jobs, answer)
        call.done(answer)
      }
    }
    for (const line of lines) line.adjust()
  }

  /** @returns false: it is not tried again */
  private tryLater(call: InsertCall, error: JobchartError): boolean {
    if (!(error instanceof HeldError) || this.closed !== null || call.givenUp !== null) return false
    const now = systemClock.monotonic()
    call.heldUntil ??= now + heldMs.most
    if (now > call.heldUntil) return false
    this.held.add(call)
    this.options.timers.after(heldMs.every, () => {
      if (this.held.delete(call)) this.accept(call, null)
    })
    return true
  }

  private leaveLine(call: InsertCall): void {
    if (call.isBounded) this.lineOf(call).waiters.delete(call)
  }

  private giveUp(call: InsertCall, error: JobchartError): void {
    if (this.writing.includes(call)) {
      call.giveUp(error)
      return
    }
    this.leaveLine(call)
    this.held.delete(call)
    this.newCalls = this.newCalls.filter((each) => each !== call)
    call.reject(error)
    this.options.answered()
  }
}

const nothing = (): void => {}

function tooMany(count: number, capacity: number): JobchartError {
  return new JobchartError(
    'CAPACITY',
    `${counted(count, 'job')} in one call never fit into a \`capacity\` of ${capacity}`,
    {
      hint: 'Enqueue fewer jobs per call, or raise `capacity`.',
    },
  )
}

const delayed = ({ type }: QueueLimit): JobchartError =>
  new JobchartError(
    'INVALID_OPTION',
    `a job of type ${type} is handed over at once, and cannot have a delay or runAt`,
    {
      hint: 'Leave out delay and runAt, or give the type a `capacity` of 1 or more.',
    },
  )

function idTaken(answers: readonly InsertAnswer[]): JobchartError {
  const ids = answers.filter(({ outcome }) => outcome === 'id-taken').map(({ id }) => id)
  return new JobchartError('ID_TAKEN', `id ${ids.slice(0, 10).join(', ')} belongs to a job of another type`, {
    hint: 'Use different ids for different types, e.g. with the type as prefix.',
  })
}
