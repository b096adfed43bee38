/**
 * The queue of calls to the engine, in order: the calls of one turn of the event loop are one batch, and so are those
 * that arrive while the engine works. If another process is writing, the batch is repeated after a delay.
 */
import type { Clock, Timer } from '../../core/clock.ts'
import { JobchartError } from '../../core/errors.ts'
import type { Hint, Lease, Standing } from '../../store.ts'
import type { Reply } from './engine.ts'
import type { EngineRunner } from './engine-runner.ts'
import type { Answer, Arguments, Call, Method } from './operations.ts'

/** Maximum number of calls in a batch. */
const batchSize = 1_000

/** The longest wait for transactions of other processes, ms. */
const patienceMs = 5_000
const triesMs = { first: 1, max: 4 }

interface Waiting extends Call {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

export class CallQueue {
  private readonly path: string
  private readonly listeners = new Set<(hint: Hint) => void>()
  private clock: Clock | null = null
  private engine: EngineRunner | null = null
  private opening: Promise<void> = Promise.resolve()
  private opened = 0
  private calls: Waiting[] = []
  /** Does the engine work, or is a batch scheduled? */
  private working = false
  /** When the wait for another process began, monotonic ms; null without one. */
  private busySince: number | null = null
  private tries = 0
  private retryTimer: Timer | null = null

  constructor(path: string) {
    this.path = path
  }

  /** @throws JobchartError UNSUPPORTED, STORE_UNAVAILABLE, STORE_CORRUPT */
  async open(clock: Clock, makeRunner: () => EngineRunner): Promise<void> {
    if (this.opened++ === 0) {
      this.clock = clock
      this.engine = makeRunner()
      this.opening = this.engine.open()
    }
    try {
      await this.opening
    } catch (error) {
      if (--this.opened === 0) this.engine = null
      throw error
    }
    if (this.listeners.size > 0) this.engine?.look(true)
  }

  async close(): Promise<void> {
    // Earlier calls are completed first. Somebody else may open it meanwhile.
    if (this.opened === 1 && (this.calls.length > 0 || this.working)) await this.ask('counts').catch(() => {})
    if (this.opened === 0 || --this.opened > 0) return
    this.retryTimer?.cancel()
    this.retryTimer = null
    const { engine } = this
    this.engine = null
    this.rejectAll(closed(this.path))
    await engine?.close()
  }

  ask<M extends Method>(method: M, ...args: Arguments<M>): Promise<Answer<M>> {
    if (this.opened === 0) return Promise.reject(closed(this.path))
    return new Promise<Answer<M>>((resolve, reject) => {
      // The type of the answer follows from the method, which the engine does not express.
      this.calls.push({ method, args, resolve: resolve as (answer: unknown) => void, reject })
      this.schedule()
    })
  }

  /**
   * Runs a call synchronously, before the queued ones. Only for calls that read, and only if the engine is in this
   * thread.
   * @throws JobchartError STORE_UNAVAILABLE, STORE_CORRUPT
   */
  askNow<M extends Method>(method: M, ...args: Arguments<M>): Answer<M> {
    const { engine, clock } = this
    if (this.opened === 0 || engine?.readNow === undefined || clock === null) throw closed(this.path)
    const outcome = engine.readNow({ method, args }, Math.floor(clock.now()))
    if (outcome.kind !== 'done') throw asError(outcome.error)
    this.notify(outcome.hints)
    const [reply] = outcome.replies
    if (reply === undefined) throw closed(this.path)
    if ('error' in reply) throw asError(reply.error)
    // The type of the answer follows from the method, which the engine does not express.
    return reply.answer as Answer<M>
  }

  /** The state of a claimed job within a transaction of the user. @throws JobchartError STORE_UNAVAILABLE */
  standingWithin(lease: Lease): Standing {
    const { engine, clock } = this
    if (this.opened === 0 || engine?.standingWithin === undefined || clock === null) throw closed(this.path)
    return engine.standingWithin(lease, Math.floor(clock.now()))
  }

  watch(listener: (hint: Hint) => void): () => void {
    // A function of its own per call: the same listener may watch twice.
    const own = (hint: Hint): void => listener(hint)
    this.listeners.add(own)
    this.engine?.look(true)
    return () => {
      this.listeners.delete(own)
      if (this.listeners.size === 0) this.engine?.look(false)
    }
  }

  notify(hints: readonly Hint[]): void {
    for (const hint of hints) for (const listener of this.listeners) listener(hint)
  }

  /** Waits for the end of the turn: more calls may follow in it. */
  private schedule(): void {
    if (this.working || this.retryTimer !== null) return
    this.working = true
    this.clock?.nextTurn(() => void this.work())
  }

  private async work(): Promise<void> {
    const { engine, clock } = this
    const calls = this.calls.slice(0, batchSize)
    // It may have been closed since this turn was scheduled.
    if (engine === null || clock === null || calls.length === 0) {
      this.working = false
      return
    }
    const run = engine.run(
      calls.map(({ method, args }) => ({ method, args })),
      Math.floor(clock.now()),
      this.busySince === null ? 0 : clock.monotonic() - this.busySince,
    )
    clock.during?.(run)
    const outcome = await run
    this.working = false
    if (outcome.kind === 'busy') return this.later(clock, outcome.error)
    this.busySince = null
    this.tries = 0
    if (outcome.kind === 'failed') return this.rejectAll(outcome.error)
    this.calls = this.calls.slice(outcome.replies.length)
    if (this.calls.length > 0) this.schedule()
    outcome.replies.forEach((reply, i) => answer(calls[i] as Waiting, reply))
    this.notify(outcome.hints)
  }

  /** Another process is writing. */
  private later(clock: Clock, error: unknown): void {
    const now = clock.monotonic()
    this.busySince ??= now
    if (now - this.busySince >= patienceMs) {
      this.busySince = null
      this.tries = 0
      return this.rejectAll(error)
    }
    const delayMs = Math.min(triesMs.first * 2 ** this.tries++, triesMs.max)
    this.retryTimer = clock.timer(
      () => {
        this.retryTimer = null
        this.schedule()
      },
      delayMs,
      { keepAlive: true },
    )
  }

  private rejectAll(error: unknown): void {
    const { calls } = this
    this.calls = []
    for (const call of calls) call.reject(error)
  }
}

function answer(call: Waiting, reply: Reply): void {
  if ('error' in reply) call.reject(reply.error)
  else call.resolve(reply.answer)
}

const closed = (path: string): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `${path} is not open`, {
    hint: 'Open the store first; a stopped runtime closes it.',
  })

/** The engine throws errors only, which the type of its outcome does not express. */
const asError = (error: unknown): Error => (error instanceof Error ? error : new TypeError(String(error)))
