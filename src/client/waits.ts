/**
 * The asynchronous context of handlers, and what they await by this client, the ends of jobs and room for enqueues: the
 * context tells in which run a wait begins. A wait outside of handlers is not kept, and in a browser, which has no such
 * context, none is.
 */
import { nodeModule } from '../core/platform.ts'

/** An attempt whose handler may wait. */
export interface Waiting {
  readonly claimed: { readonly id: string; readonly type: string }
  /** How it ended; null while it runs. */
  readonly ending: unknown
}

interface Wait {
  /** Of the awaited job; null: room for an enqueue. */
  readonly id: string | null
}

const hooks = nodeModule('node:async_hooks')

export class Waits {
  /**
   * Calls in the asynchronous context in which the client was made. That of the moment is of whichever call has led
   * here: the enqueue of a request, for example, whose transaction is none of the job that it wakes.
   */
  readonly outside: <T>(work: () => T) => T = hooks?.AsyncLocalStorage.snapshot() ?? ((work) => work())
  private readonly current = hooks === undefined ? null : new hooks.AsyncLocalStorage<Waiting>()
  private readonly awaited = new Map<Waiting, Set<Wait>>()
  private readonly listeners = new Set<() => void>()

  /** The run whose handler makes the present call; undefined outside of handlers. */
  get run(): Waiting | undefined {
    const run = this.current?.getStore()
    return run?.ending === null ? run : undefined
  }

  /** The runs that wait. */
  get runs(): Waiting[] {
    return [...this.awaited.keys()].filter(({ ending }) => ending === null)
  }

  /** Ids of jobs that a run awaits, and null for room, the oldest waits first. */
  awaitedBy(run: Waiting, max: number): readonly (string | null)[] {
    return Array.from(this.awaited.get(run)?.values().take(max) ?? [], ({ id }) => id)
  }

  /** Calls the handler of a run. */
  call<Output>(run: Waiting, handler: () => Output): Output {
    return this.outside(() => (this.current === null ? handler() : this.current.run(run, handler)))
  }

  /** Calls back whenever a run begins to wait. */
  onWait(listener: () => void): void {
    this.listeners.add(listener)
  }

  /** A wait for a job begins, or for room (null). @returns to be called at its end */
  begin(id: string | null): () => void {
    const { run, awaited } = this
    if (run === undefined) return nothing
    const waits = awaited.get(run) ?? new Set()
    awaited.set(run, waits)
    const wait = { id }
    waits.add(wait)
    for (const listener of this.listeners) listener()
    return () => {
      waits.delete(wait)
      // A later wait of the run may be in another set.
      if (waits.size === 0 && awaited.get(run) === waits) awaited.delete(run)
    }
  }
}

const nothing = (): void => {}
