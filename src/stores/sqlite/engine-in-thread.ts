/** The engine in a thread of its own, as the main thread uses it. */
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { JobchartError } from '../../core/errors.ts'
import type { Hint } from '../../store.ts'
import type { EngineOptions, Outcome } from './engine.ts'
import type { EngineRunner } from './engine-runner.ts'
import { unpackError, unpackOutcome, type Ask, type ThreadMessage } from './messages.ts'
import type { Call } from './operations.ts'

interface Waiter {
  readonly answered: (message: ThreadMessage) => void
  readonly died: (error: JobchartError) => void
}

export class EngineInThread implements EngineRunner {
  private readonly options: EngineOptions
  private readonly hinted: (hints: readonly Hint[]) => void
  private worker: Worker | null = null
  /** Resolves the pending request; there is one at a time. */
  private waiter: Waiter | null = null
  private looking = false

  constructor(options: EngineOptions, hinted: (hints: readonly Hint[]) => void) {
    this.options = options
    this.hinted = hinted
  }

  async open(): Promise<void> {
    const message = await this.ask({ kind: 'open' })
    if (message.kind !== 'opened' || message.error === null) return
    await this.close()
    throw unpackError(message.error)
  }

  async run(calls: readonly Call[], now: number, waitedMs: number): Promise<Outcome> {
    try {
      const message = await this.ask({ kind: 'run', calls, now, waitedMs })
      if (message.kind === 'ran') return unpackOutcome(message.outcome)
      throw died(this.options.path, `it sent ${message.kind} in answer to run`)
    } catch (error) {
      // It is unknown whether the calls were committed. They may be repeated: their answers are the same.
      return { kind: 'failed', error }
    }
  }

  look(on: boolean): void {
    this.looking = on
    this.worker?.postMessage({ kind: 'look', on } satisfies Ask)
  }

  async close(): Promise<void> {
    if (this.worker === null) return
    await this.ask({ kind: 'close' })
    this.worker = null
  }

  /** The thread keeps the process alive only while a request waits for its answer. */
  private ask(ask: Ask): Promise<ThreadMessage> {
    const worker = (this.worker ??= this.start())
    return new Promise<ThreadMessage>((resolve, reject) => {
      this.waiter = { answered: resolve, died: reject }
      worker.ref()
      worker.postMessage(ask)
    }).finally(() => worker.unref())
  }

  private start(): Worker {
    const { path, full, transitionsMax } = this.options
    const file = threadFile()
    const worker = new Worker(file, { workerData: { path, full, transitionsMax }, name: 'jobchart sqlite' })
    worker.on('message', (message: ThreadMessage) => {
      if (message.kind === 'hints') return this.hinted(message.hints)
      const { waiter } = this
      this.waiter = null
      waiter?.answered(message)
    })
    const ended = (cause: unknown): void => {
      if (this.worker !== worker) return
      const { waiter } = this
      this.worker = this.waiter = null
      waiter?.died(died(path, cause))
    }
    // A thread that replaces another one continues its polling.
    if (this.looking) worker.postMessage({ kind: 'look', on: true } satisfies Ask)
    worker.on('error', ended)
    worker.on('exit', (code) => ended(`exit code ${code}`))
    return worker
  }
}

/**
 * The file of the thread, which is beside this one: as source or as built.
 * @throws JobchartError UNSUPPORTED in a bundle, which has no such file
 */
function threadFile(): URL {
  // A CommonJS bundle has no URL.
  const { url } = import.meta as { readonly url?: string }
  const file = url === undefined ? null : new URL(url.endsWith('.ts') ? './thread.ts' : './thread.js', url)
  if (file !== null && existsSync(file)) return file
  throw new JobchartError(
    'UNSUPPORTED',
    'thread: true needs the file thread.js of jobchart, which is not in this bundle',
    {
      hint: 'Tell the bundler to leave jobchart out (external: jobchart and jobchart/*), or leave `thread` out.',
    },
  )
}

const died = (path: string, cause: unknown): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `the thread that writes ${path} has died`, {
    hint: 'The next call starts another one; if it dies again, look at the cause.',
    cause,
  })
