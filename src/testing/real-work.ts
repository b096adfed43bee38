/**
 * Handlers that wait for something outside virtual time: a file, a socket, a child process, a real timer. Every such
 * resource that Node opens while it runs a handler belongs to that handler.
 */
import type { AsyncHook, AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '../core/logger.ts'
import { nodeModule, notHere } from '../core/platform.ts'

interface Handler {
  readonly name: string
}

interface Resource {
  readonly handler: Handler
  /** A timer that does not keep the process alive is not awaited. */
  readonly isAwaited: () => boolean
}

/** Resources that something is awaited from. */
const awaited = /REQ|^(Timeout|TCPWRAP|TLSWRAP|PROCESSWRAP|WORKER|ZLIB)$/

/** Time between two looks, ms. */
const lookEveryMs = 1

const hooks = nodeModule('node:async_hooks')

/** Can it be seen what a handler waits for? Not in a browser. */
export const seesRealWork = hooks !== undefined

export class RealWork {
  private readonly limitMs: number
  private readonly logger: Pick<Logger, 'warn'>
  private readonly running = new Set<Handler>()
  private readonly current: AsyncLocalStorage<Handler>
  private readonly open = new Map<number, Resource>()
  private readonly hook: AsyncHook

  /**
   * @param limitMs how long a handler is waited for, ms of real time
   * @throws JobchartError UNSUPPORTED where Node does not tell of resources
   */
  constructor(limitMs: number, logger: Pick<Logger, 'warn'>) {
    if (hooks === undefined) {
      throw notHere('realWait', 'Leave it out, and advance the clock when what a handler waits for has come.')
    }
    this.limitMs = limitMs
    this.logger = logger
    this.current = new hooks.AsyncLocalStorage()
    const closed = (id: number): void => void this.open.delete(id)
    this.hook = hooks
      .createHook({
        init: (id, kind, _trigger, resource: { hasRef?: () => boolean }) => {
          const handler = awaited.test(kind) ? this.current.getStore() : undefined
          if (handler === undefined) return
          this.open.set(id, { handler, isAwaited: () => kind !== 'Timeout' || resource.hasRef?.() !== false })
        },
        after: closed,
        destroy: closed,
      })
      .enable()
  }

  /** Runs a handler, whose resources are its own from here on. */
  async run<Output>(name: string, handle: () => Promise<Output>): Promise<Output> {
    const handler = { name }
    this.running.add(handler)
    try {
      return await this.current.run(handler, handle)
    } finally {
      this.running.delete(handler)
    }
  }

  /**
   * Waits until no running handler has an open resource. A handler that takes longer than the limit is named once, and
   * not waited for again.
   */
  async settle(): Promise<void> {
    const until = performance.now() + this.limitMs
    for (let busy = this.busy(); busy.size > 0; busy = this.busy()) {
      if (performance.now() >= until) {
        for (const handler of busy) this.running.delete(handler)
        const names = [...busy].map(({ name }) => name).join(', ')
        this.logger.warn(
          `virtual time passes without waiting for ${names}: real work takes longer than ${this.limitMs} ms`,
        )
        return
      }
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
    }
  }

  end(): void {
    this.hook.disable()
  }

  private busy(): ReadonlySet<Handler> {
    const busy = new Set<Handler>()
    for (const { handler, isAwaited } of this.open.values()) {
      if (this.running.has(handler) && isAwaited()) busy.add(handler)
    }
    return busy
  }
}
