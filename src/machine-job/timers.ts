/**
 * The timers of a machine and its children: kept as data with an absolute deadline, stored in each checkpoint, and
 * delivered when they are due by the process that runs the machine then.
 */
import type { AnyActorRef, AnyStateMachine, EventObject } from 'xstate'
import { JobchartError } from '../core/errors.ts'
import type { ActorAddresses } from './addresses.ts'
import { nodesOf } from './machines.ts'
import { afterEventType } from './xstate-internals.ts'

/**
 * The place of a delayed transition (`after`) in a chart. It outlives a change of the delay, which the event's type
 * does not.
 */
export interface DelayPlace {
  /** Id of the state node. */
  readonly node: string
  /** As written in `after`: milliseconds or a name. */
  readonly delay: string
  /** Position among the delays of that `after`, from 0. */
  readonly index: number
}

/** A delayed event, as a checkpoint stores it. */
export interface TimerRecord {
  /** For a delayed send: the id that the machine gave, or a number. For a delayed transition: the type of its event. */
  readonly id: string
  /** Address of the actor that set it. */
  readonly source: string
  /** Address of the actor that gets the event. */
  readonly target: string
  readonly event: EventObject
  /** When it is due, ms since the epoch. */
  readonly at: number
  /** When it was set, ms since the epoch. Earlier releases did not write it. */
  readonly setAt?: number
  /** For a delayed transition: which one. Earlier releases did not write it. */
  readonly after?: DelayPlace
  /** `cancel` does not reach it: after it another timer of its id was set, or before it one of its id has fired. */
  readonly detached?: true
}

/**
 * A delayed transition of an active state whose timer has fired: recorded so that a deployment does not set it again.
 */
export interface PassedDelay {
  /** Address of the machine. */
  readonly source: string
  readonly after: DelayPlace
}

/** Every delayed transition of a chart, by the type of its event. */
export function delayPlaces(machine: AnyStateMachine): ReadonlyMap<string, DelayPlace> {
  const places = nodesOf(machine).flatMap((node) =>
    Object.keys(node.config.after ?? {}).map((delay, index): [string, DelayPlace] => [
      afterEventType(delay, node.id),
      { node: node.id, delay, index },
    ]),
  )
  return new Map(places)
}

/** The delayed transitions of a machine actor; null for any other actor. */
type DelaysOf = (actor: AnyActorRef) => ReadonlyMap<string, DelayPlace> | null

interface TimersHost {
  /** ms since the epoch */
  now(): number
  /** A timer was set, cancelled or taken. */
  changed(): void
}

/** Replaces the scheduler of an actor system. */
export class DurableTimers {
  private readonly host: TimersHost
  private readonly addresses: ActorAddresses
  private readonly delaysOf: DelaysOf
  /** In the order in which they were set. */
  private readonly timers = new Set<TimerRecord>()
  /**
   * The timer that `cancel` reaches, by actor and id. As in XState that is the last one that was set, and none once any
   * timer of the id has fired: the others of the id fire in any case.
   */
  private readonly cancellable = new Map<string, TimerRecord>()
  private unnamed = 0

  constructor(host: TimersHost, addresses: ActorAddresses, delaysOf: DelaysOf) {
    this.host = host
    this.addresses = addresses
    this.delaysOf = delaysOf
  }

  schedule(source: AnyActorRef, target: AnyActorRef, event: EventObject, delayMs: number, id?: string): void {
    const { host, addresses } = this
    const from = addresses.of(source)
    const to = addresses.find(target)
    if (to === null) throw foreignTarget(from, event)
    const setAt = host.now()
    const after = id === event.type ? this.delaysOf(source)?.get(id) : undefined
    this.add({
      id: id ?? this.freshId(from),
      source: from,
      target: to,
      event,
      at: setAt + delayMs,
      setAt,
      ...(after && { after }),
    })
    host.changed()
  }

  cancel(source: AnyActorRef, id: string): void {
    const timer = this.cancellable.get(keyOf(this.addresses.of(source), id))
    if (timer !== undefined) this.take(timer)
  }

  cancelAll(source: AnyActorRef): void {
    const address = this.addresses.of(source)
    for (const timer of this.timers) {
      // A detached one for another actor fires, as in XState; the actor itself takes no event any more.
      if (timer.source === address && (timer.target === address || !this.isDetached(timer))) this.take(timer)
    }
  }

  /** Is a timer with this id set by the actor? */
  isSet(source: AnyActorRef, id: string): boolean {
    const address = this.addresses.of(source)
    if (this.cancellable.has(keyOf(address, id))) return true
    return [...this.timers].some((timer) => timer.source === address && timer.id === id)
  }

  /** Sets the timers of a checkpoint. */
  restore(records: readonly TimerRecord[]): void {
    for (const { detached, ...record } of records) this.add(record, detached)
  }

  get isEmpty(): boolean {
    return this.timers.size === 0
  }

  /** All timers for a checkpoint, in the order in which they were set. */
  records(): readonly TimerRecord[] {
    if (this.isEmpty) return noTimers
    return [...this.timers].map((timer) => (this.isDetached(timer) ? { ...timer, detached: true } : timer))
  }

  /** All timers, the earliest first. */
  list(): TimerRecord[] {
    const timers = [...this.timers]
    return timers.length < 2 ? timers : timers.toSorted((a, b) => a.at - b.at)
  }

  /** When the next one is due, ms since the epoch; null for none. */
  get nextAt(): number | null {
    let least: number | null = null
    for (const { at } of this.timers) if (least === null || at < least) least = at
    return least
  }

  /** Removes a timer that fires. Returns false if it is not set any more. */
  fire(timer: TimerRecord): boolean {
    if (!this.take(timer)) return false
    this.cancellable.delete(keyOf(timer.source, timer.id))
    return true
  }

  private take(timer: TimerRecord): boolean {
    if (!this.timers.delete(timer)) return false
    const key = keyOf(timer.source, timer.id)
    if (this.cancellable.get(key) === timer) this.cancellable.delete(key)
    this.host.changed()
    return true
  }

  private add(timer: TimerRecord, detached = false): void {
    this.timers.add(timer)
    if (!detached) this.cancellable.set(keyOf(timer.source, timer.id), timer)
  }

  private isDetached(timer: TimerRecord): boolean {
    return this.cancellable.get(keyOf(timer.source, timer.id)) !== timer
  }

  private freshId(source: string): string {
    let id: string
    do id = `#${++this.unnamed}`
    while (this.cancellable.has(keyOf(source, id)))
    return id
  }
}

const noTimers: readonly TimerRecord[] = []

const keyOf = (source: string, id: string): string => `${source}\n${id}`

const foreignTarget = (source: string, { type }: EventObject): JobchartError =>
  new JobchartError(
    'NOT_DURABLE',
    `the delayed event ${type} of ${source === '' ? 'the machine' : source} is for an actor of another actor system`,
    { hint: 'Send it to an actor of the same job: another actor system does not exist after a restart.' },
  )
