/**
 * Handlers that wait for something outside virtual time: a file, a socket, a child process, a real timer. Node tells how many such
 * resources are open; more than at the start of a handler are taken for its own.
 */

interface Handler {
  readonly name: string
  readonly openAtStart: number
}

const kinds =
  /^(FSReq|GetAddrInfoReq|GetNameInfoReq|QueryReq|TCPSocket|TCPConnect|Pipe|Write|Shutdown|Process|Timeout|Worker|Zlib|RandomBytes|PBKDF2|Scrypt|Hash|Sign)/

const openResources = (): number => process.getActiveResourcesInfo().filter((kind) => kinds.test(kind)).length

/** Time between two looks, ms. */
const lookEveryMs = 1

export class RealWork {
  private readonly limitMs: number
  private readonly warn: (message: string) => void
  private readonly handlers = new Set<Handler>()

  /** @param limitMs how long a handler is waited for, ms of real time */
  constructor(limitMs: number, warn: (message: string) => void) {
    this.limitMs = limitMs
    this.warn = warn
  }

  /** A handler has started. @returns to be called at its end */
  begin(name: string): () => void {
    const handler = { name, openAtStart: openResources() }
    this.handlers.add(handler)
    return () => void this.handlers.delete(handler)
  }

  /** Waits until no handler seems to wait for real work. A handler that takes longer than the limit is named once, and not waited for again. */
  async settle(): Promise<void> {
    const until = performance.now() + this.limitMs
    for (let busy = this.busy(); busy.length > 0; busy = this.busy()) {
      if (performance.now() >= until) {
        for (const handler of busy) this.handlers.delete(handler)
        const names = busy.map(({ name }) => name).join(', ')
        this.warn(`after ${this.limitMs} ms of real time, time passes without what these still wait for: ${names}`)
        return
      }
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
    }
  }

  private busy(): Handler[] {
    if (this.handlers.size === 0) return []
    const open = openResources()
    return [...this.handlers].filter(({ openAtStart }) => open > openAtStart)
  }
}
