/**
 * Delivers job events to listeners in this process, after the commit.
 *
 * Listeners of a single job are stored by its id, so that many of them do not slow down other events; callers make an
 * event only if it has a listener. An event emitted during a delivery is queued, so that all listeners get the same
 * order.
 */
import { jobEvent, type AnyJobEvent, type JobEvent } from '../core/record.ts'
import type { Logger } from '../core/logger.ts'
import type { Stream } from '../core/stream.ts'
import { GuardedStream } from './stream.ts'

type Listener = (event: AnyJobEvent) => void

export class EventHub {
  /** All events. */
  readonly events$: Stream<JobEvent>
  private all: readonly Listener[] = []
  private readonly routes = new Map<string, readonly Listener[]>()
  private readonly queue: AnyJobEvent[] = []
  private emitting = false
  private readonly logger: Logger
  private readonly completers = new Set<() => void>()
  private completed = false

  constructor(logger: Logger) {
    this.logger = logger
    this.events$ = new GuardedStream(logger, (subscriber) => {
      if (this.completed) return subscriber.complete()
      const off = this.onAll((event) => subscriber.next(jobEvent(event)))
      const complete = (): void => subscriber.complete()
      this.completers.add(complete)
      return () => {
        off()
        this.completers.delete(complete)
      }
    })
  }

  /** Does an event of this job have a listener? */
  hasListener(id: string): boolean {
    return this.all.length > 0 || (this.routes.size > 0 && this.routes.has(id))
  }

  get hasListeners(): boolean {
    return this.all.length > 0 || this.routes.size > 0
  }

  onAll(listener: Listener): () => void {
    this.all = [...this.all, listener]
    return () => {
      this.all = this.all.filter((each) => each !== listener)
    }
  }

  onJob(id: string, listener: Listener): () => void {
    const others = this.routes.get(id)
    this.routes.set(id, others === undefined ? [listener] : [...others, listener])
    return () => {
      const left = this.routes.get(id)?.filter((each) => each !== listener) ?? []
      if (left.length > 0) this.routes.set(id, left)
      else this.routes.delete(id)
    }
  }

  emit(event: AnyJobEvent): void {
    if (this.emitting) {
      this.queue.push(event)
      return
    }
    this.emitting = true
    this.deliver(event)
    if (this.queue.length > 0) {
      // Deliveries may add to the queue.
      for (let i = 0; i < this.queue.length; i++) this.deliver(this.queue[i] as AnyJobEvent)
      this.queue.length = 0
    }
    this.emitting = false
  }

  emitAll(events: readonly AnyJobEvent[]): void {
    if (this.hasListeners) for (const event of events) this.emit(event)
  }

  /** Completes every stream. */
  complete(): void {
    this.completed = true
    for (const complete of this.completers) complete()
  }

  private deliver(event: AnyJobEvent): void {
    for (const listener of this.all) this.call(listener, event)
    if (this.routes.size === 0) return
    const routed = this.routes.get(event.id)
    if (routed !== undefined) for (const listener of routed) this.call(listener, event)
  }

  private call(listener: Listener, event: AnyJobEvent): void {
    try {
      listener(event)
    } catch (error) {
      this.logger.error('a listener threw', { error, id: event.id, event: event.event })
    }
  }
}
