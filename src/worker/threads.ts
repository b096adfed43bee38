/**
 * Handlers in threads. A thread runs one job at a time and is kept for the next job of its module. A run holds its slot
 * until its thread can take another job or has ended, so that there are never more threads than slots: to start one
 * where only idle threads of other modules hold the room, the one that has been idle longest is ended first.
 */
import type { MessagePort, Worker as NodeWorker } from 'node:worker_threads'
import type { Timer } from '../core/clock.ts'
import type { RunContext, ThreadSource } from '../core/definition.ts'
import { JobchartError } from '../core/errors.ts'
import { recordError, reviveError } from '../core/failure.ts'
import type { Json } from '../core/payload.ts'
import { nodeModule, notHere } from '../core/platform.ts'
import type { Logger } from '../core/logger.ts'
import type { Timers } from '../client/timers.ts'
import {
  packThrown,
  unpackThrown,
  type FromThread,
  type ThreadJob,
  type ThreadStart,
  type ToThread,
} from '../thread/messages.ts'

/** An idle thread is ended after this time. */
const idleMs = 30_000

/**
 * MiB for young objects in a thread with a limit. At the limit Node.js adds 16 MiB while it ends the thread. A
 * collection that moves more than that from the young to the old objects makes V8 abort the process. The default is 48.
 */
const youngMb = 16

interface ThreadsOptions {
  /** Threads at most. */
  readonly slots: () => number
  readonly timers: Timers
  readonly logger: Logger
}

/** A handler that runs in a thread. */
export interface ThreadRun {
  /**
   * What the handler returns. Rejects with its error; with THREAD_FAILED if its thread ends; after `terminate` with the
   * reason of `signal`.
   */
  readonly output: Promise<unknown>
  /** Ends the handler with its thread. Resolves when the thread has ended. */
  terminate(): Promise<void>
}

export class Threads {
  private readonly options: ThreadsOptions
  private readonly live = new Set<Thread>()
  /** The one that has been idle longest comes first. */
  private readonly idle = new Map<Thread, Timer>()
  private closed = false

  constructor(options: ThreadsOptions) {
    this.options = options
  }

  /** Threads that have not ended. */
  get size(): number {
    return this.live.size
  }

  /** Runs the handler of a job with this input. Its abort, check-ins, log and steps are those of `context`. */
  run(source: ThreadSource, context: RunContext, input: unknown): ThreadRun {
    const run = new HandlerInThread(context, input)
    void this.assign(run, source)
    return run
  }

  /** Ends all threads. Resolves when they have ended. */
  async close(): Promise<void> {
    this.closed = true
    for (const timer of this.idle.values()) timer.cancel()
    this.idle.clear()
    await Promise.all([...this.live].map((thread) => thread.end()))
  }

  private async assign(run: HandlerInThread, source: ThreadSource): Promise<void> {
    try {
      const thread = await this.threadFor(source)
      if (run.over) this.keep(thread)
      else thread.start(run)
    } catch (error) {
      run.fail(error)
    }
  }

  private async threadFor(source: ThreadSource): Promise<Thread> {
    for (const [thread, timer] of this.idle) {
      if (thread.source.url !== source.url || thread.source.memoryMb !== source.memoryMb) continue
      timer.cancel()
      this.idle.delete(thread)
      return thread
    }
    while (this.live.size >= this.options.slots()) {
      // Other than idle and ending ones there are none, unless the slots were reduced while they ran.
      const [oldest] = this.idle.keys()
      const ending = oldest ?? [...this.live].find((thread) => thread.isEnding)
      if (ending === undefined) break
      this.forget(ending)
      await ending.end()
    }
    if (this.closed) throw new JobchartError('STOPPED', 'the runtime has stopped')
    const thread = new Thread(source, {
      ...this.options,
      idle: (each) => this.keep(each),
      ended: (each) => this.remove(each),
    })
    this.live.add(thread)
    return thread
  }

  /** A thread has no job any more. */
  private keep(thread: Thread): void {
    if (this.closed || this.live.size > this.options.slots()) return void thread.end()
    const end = (): void => {
      this.idle.delete(thread)
      void thread.end()
    }
    this.idle.set(thread, this.options.timers.after(idleMs, end, false))
  }

  private forget(thread: Thread): void {
    this.idle.get(thread)?.cancel()
    this.idle.delete(thread)
  }

  private remove(thread: Thread): void {
    this.forget(thread)
    this.live.delete(thread)
  }
}

/** The run of a handler: waits for its thread, then answers its messages. */
class HandlerInThread implements ThreadRun {
  readonly output: Promise<unknown>
  over = false
  readonly input: unknown
  readonly context: RunContext
  thread: Thread | null = null
  private readonly settle: PromiseWithResolvers<unknown>

  constructor(context: RunContext, input: unknown) {
    this.context = context
    this.input = input
    this.settle = Promise.withResolvers()
    this.output = this.settle.promise
  }

  async terminate(): Promise<void> {
    const { thread, over } = this
    if (over) return
    if (thread === null) this.fail(this.context.signal.reason)
    else await thread.end()
  }

  return(output: unknown): void {
    this.over = true
    this.settle.resolve(output)
  }

  fail(error: unknown): void {
    this.over = true
    this.settle.reject(error)
  }
}

interface ThreadOwner extends ThreadsOptions {
  readonly idle: (thread: Thread) => void
  readonly ended: (thread: Thread) => void
}

class Thread {
  readonly source: ThreadSource
  /** Was it asked to end? */
  isEnding = false
  private readonly owner: ThreadOwner
  private readonly worker: NodeWorker
  private readonly port: MessagePort
  private readonly ended: Promise<void>
  private run: HandlerInThread | null = null
  private runs = 0
  /** Steps whose work runs in the thread, by call. */
  private readonly works = new Map<number, PromiseWithResolvers<Json | undefined>>()
  /** Stops to listen to the signal of the run. */
  private unlisten: () => void = () => {}
  private error: unknown = undefined

  constructor(source: ThreadSource, owner: ThreadOwner) {
    this.source = source
    this.owner = owner
    const { MessageChannel: Channel, Worker } = workerThreads()
    const { port1, port2 } = new Channel()
    const start: ThreadStart = { url: source.url, port: port2 }
    const { memoryMb } = source
    this.worker = new Worker(mainModule(), {
      name: 'jobchart handler',
      workerData: start,
      transferList: [port2],
      ...(memoryMb !== null && {
        resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: youngMb },
      }),
    })
    this.port = port1
    port1.on('message', (message: FromThread) => this.receive(message))
    this.worker.on('error', (error: unknown) => (this.error = error))
    this.ended = new Promise((resolve) => {
      this.worker.once('exit', (code) => {
        this.hasEnded(code)
        resolve()
      })
    })
    this.keepProcess(false)
  }

  /**
   * The process stays alive for a thread only while it has a job: for its messages, and for its end, because its port
   * closes before.
   */
  private keepProcess(isWorking: boolean): void {
    for (const each of [this.worker, this.port]) {
      if (isWorking) each.ref()
      else each.unref()
    }
  }

  start(run: HandlerInThread): void {
    const { context, input } = run
    const { id, type, attempt, maxAttempts, deadline, signal, trace } = context
    run.thread = this
    this.run = run
    this.runs++
    this.keepProcess(true)
    const abort = (): void => {
      const { code, message } = signal.reason as JobchartError
      this.send({ kind: 'abort', run: this.runs, code, message })
    }
    const job: ThreadJob = { id, type, attempt, maxAttempts, deadline, trace, input }
    try {
      this.send({ kind: 'start', run: this.runs, job })
    } catch (error) {
      // What the schema has made of the input cannot be cloned.
      const hint =
        'Let the schema of a job in a thread give plain data, Maps, Sets or Dates: no functions, no instances of classes.'
      const cause = new JobchartError('INVALID_INPUT', `the input of job ${id} (${type}) cannot be sent to a thread`, {
        hint,
        cause: error,
      })
      return this.finish(() => run.fail(cause))
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort)
    this.unlisten = () => signal.removeEventListener('abort', abort)
  }

  /** Resolves when the thread has ended, with whatever runs in it. */
  async end(): Promise<void> {
    this.isEnding = true
    await this.worker.terminate()
    await this.ended
  }

  private receive(message: FromThread): void {
    const { run } = this
    // A result that comes while the thread is being ended is too late: the thread cannot take another job.
    if (run === null || this.isEnding || message.run !== this.runs) return
    try {
      this.apply(message, run)
    } catch (error) {
      this.finish(() => run.fail(error))
    }
  }

  private apply(message: FromThread, run: HandlerInThread): void {
    const { checkin, log } = run.context
    if (message.kind === 'report') {
      if (message.checkin !== null) checkin(message.checkin.value)
      for (const { message: text, fields } of message.lines) log(text, fields)
    } else if (message.kind === 'step') void this.step(message.call, message.name, run)
    else if (message.kind === 'worked') {
      const work = this.works.get(message.call)
      this.works.delete(message.call)
      if (message.result === null) work?.reject(workThrew)
      else work?.resolve(message.result.value)
    } else if (message.kind === 'returned') this.finish(() => run.return(message.output))
    else if (message.kind === 'threw') this.finish(() => run.fail(unpackThrown(message.error)))
    else {
      // The next job tries again with another thread: the file may be there by then.
      this.error = reviveError(message.error)
      void this.end()
    }
  }

  /** `ctx.step` of the run decides whether its work is done; the work is done in the thread. */
  private async step(call: number, name: string, run: HandlerInThread): Promise<void> {
    const number = this.runs
    const work = (): Promise<Json | undefined> => {
      const working = Promise.withResolvers<Json | undefined>()
      this.works.set(call, working)
      this.send({ kind: 'work', run: number, call })
      return working.promise
    }
    try {
      const result = await run.context.step(name, work)
      this.send({ kind: 'stepped', run: number, call, end: { kind: 'stored', result } })
    } catch (error) {
      const end =
        error === workThrew ? ({ kind: 'threw' } as const) : ({ kind: 'refused', error: packThrown(error) } as const)
      this.send({ kind: 'stepped', run: number, call, end })
    }
  }

  /** The job has ended, and the thread can take another one. */
  private finish(settle: () => void): void {
    this.leaveRun()
    this.keepProcess(false)
    this.owner.idle(this)
    settle()
  }

  private hasEnded(code: number): void {
    // What the thread sent before its end may still be under way.
    const { receiveMessageOnPort } = workerThreads()
    let received
    while ((received = receiveMessageOnPort(this.port)) !== undefined) this.receive(received.message as FromThread)
    this.port.close()
    const { run, error } = this
    this.leaveRun()
    this.owner.ended(this)
    if (run === null) {
      if (!this.isEnding)
        this.owner.logger.warn('an idle thread has ended by itself', { module: this.source.url, error, code })
      return
    }
    const { signal } = run.context
    run.fail(this.isEnding && signal.aborted ? signal.reason : this.failure(run.context, code))
  }

  private leaveRun(): void {
    this.unlisten()
    this.unlisten = () => {}
    this.run = null
    for (const work of this.works.values()) work.reject(workThrew)
    this.works.clear()
  }

  private failure({ id, type, attempt }: RunContext, code: number): JobchartError {
    const { error } = this
    const reason = error === undefined ? `it exited with code ${code}` : recordError(error).message
    return new JobchartError(
      'THREAD_FAILED',
      `the thread of attempt ${attempt} of job ${id} (${type}) failed: ${reason}`,
      {
        hint: 'Look at the cause: an error outside the promise of the handler, process.exit, more memory than memoryMb, or a module that cannot be loaded.',
        ...(error !== undefined && { cause: error }),
      },
    )
  }

  private send(message: ToThread): void {
    this.port.postMessage(message)
  }
}

/** Options were checked: without threads there is no definition that needs one. */
function workerThreads() {
  const found = nodeModule('node:worker_threads')
  if (found === undefined) throw notHere('a handler in a thread', 'Run its jobs in a process of Node.js.')
  return found
}

/** The work of a step has thrown: its error stays in the thread. */
const workThrew = new Error('the work of a step in a thread has thrown')

/**
 * The main module of threads: beside the entry `jobchart/thread`, which is found by its name, because this module may
 * be built into a file in another folder.
 * @throws JobchartError UNSUPPORTED in a bundle, which has no such file
 */
function mainModule(): URL {
  try {
    const entry = import.meta.resolve('jobchart/thread')
    return new URL(entry.endsWith('.ts') ? './main.ts' : './main.js', entry)
  } catch (cause) {
    // A bundle without jobchart beside it; a bundle in CommonJS form cannot resolve at all.
    throw new JobchartError(
      'UNSUPPORTED',
      'a job with `thread` needs the installed package jobchart, which was not found',
      {
        hint: 'Tell the bundler to leave jobchart out (external: jobchart and jobchart/*), and make each thread module an entry of its own.',
        cause,
      },
    )
  }
}
