/**
 * The timers of a machine and its children: what XState would set on a clock is kept as data with an absolute deadline,
 * goes into each checkpoint, and is delivered when its time has come, in whichever process the machine lives then.
 */
import type { AnyActorRef, AnyStateMachine, EventObject } from 'xstate'
import { JobchartError } from '../core/errors.ts'
import type { ActorAddresses } from './addresses.ts'
import { nodesOf } from './machines.ts'

/** The place of a delayed transition (`after`) in a chart. Its event's type holds the delay, which a deployment may change. */
export interface DelayPlace {
  /** Id of the state node. */
  readonly node: string
  /** As it stands in `after`: milliseconds or a name. */
  readonly delay: string
  /** Among the delays of that `after`, from 0. */
  readonly index: number
}

/** A delayed event, as a checkpoint keeps it. */
export interface TimerRecord {
  /** Of a delayed send: as the machine has named it, or a number. Of a delayed transition: the type of its event. */
  readonly id: string
  /** Address of the actor that has set it. */
  readonly source: string
  /** Address of the actor that gets the event. */
  readonly target: string
  readonly event: EventObject
  /** When it is due, ms since the epoch. */
  readonly at: number
  /** When it was set, ms since the epoch. Timers of an earlier release do not have it. */
  readonly setAt?: number
  /** Of a delayed transition: which one. Timers of an earlier release do not have it. */
  readonly after?: DelayPlace
}

/** A delayed transition that has passed in a state that is still active: no deployment makes it begin again. */
export interface PassedDelay {
  /** Address of the machine. */
  readonly source: string
  readonly after: DelayPlace
}

/** Every delayed transition of a chart, by the type of its event. */
export function delayPlaces(machine: AnyStateMachine): ReadonlyMap<string, DelayPlace> {
  const places = nodesOf(machine).flatMap((node) =>
    Object.keys(node.config.after ?? {}).map((delay, index): [string, DelayPlace] => {
      const ms = Number(delay)
      return [`xstate.after.${Number.isNaN(ms) ? delay : ms}.${node.id}`, { node: node.id, delay, index }]
    }),
  )
  return new Map(places)
}

export interface DurableTimersOptions {
  /** ms since the epoch */
  readonly now: () => number
  readonly addresses: ActorAddresses
  /** The delayed transitions of the machine that an actor is. */
  readonly delaysOf: (actor: AnyActorRef) => ReadonlyMap<string, DelayPlace> | null
  /** A timer was set, cancelled or taken. */
  readonly changed: () => void
}

/** Takes the place of an actor system's scheduler. */
export class DurableTimers {
  private readonly options: DurableTimersOptions
  /** In the order in which they were set. */
  private readonly timers = new Set<TimerRecord>()
  /** The last that was set under each id: as in XState it is the one that `cancel` means, and earlier ones come too. */
  private readonly lastOf = new Map<string, TimerRecord>()
  private unnamed = 0

  constructor(options: DurableTimersOptions) {
    this.options = options
  }

  schedule(source: AnyActorRef, target: AnyActorRef, event: EventObject, delayMs: number, id?: string): void {
    const { now, addresses, delaysOf } = this.options
    const from = addresses.of(source)
    const to = addresses.find(target)
    if (to === null) throw foreignTarget(from, event)
    const setAt = now()
    const after = id === event.type ? delaysOf(source)?.get(id) : undefined
    this.add({
      id: id ?? this.freshId(from),
      source: from,
      target: to,
      event,
      at: setAt + delayMs,
      setAt,
      ...(after && { after }),
    })
    this.options.changed()
  }

  cancel(source: AnyActorRef, id: string): void {
    const timer = this.lastOf.get(keyOf(this.options.addresses.of(source), id))
    if (timer !== undefined) this.take(timer)
  }

  cancelAll(source: AnyActorRef): void {
    const address = this.options.addresses.of(source)
    for (const timer of this.timers) if (timer.source === address) this.take(timer)
  }

  /** Is a timer of this id set for its actor? */
  isSet(source: AnyActorRef, id: string): boolean {
    return this.lastOf.has(keyOf(this.options.addresses.of(source), id))
  }

  /** Sets again what a checkpoint has kept. */
  restore(records: readonly TimerRecord[]): void {
    for (const record of records) this.add(record)
  }

  /** What a checkpoint keeps: all of them, in the order in which they were set. */
  records(): TimerRecord[] {
    return [...this.timers]
  }

  /** All of them, the earliest first. */
  list(): TimerRecord[] {
    return this.records().toSorted((a, b) => a.at - b.at)
  }

  /** When the next one is due, ms since the epoch; null for none. */
  get nextAt(): number | null {
    return this.list()[0]?.at ?? null
  }

  /** Takes a timer that is still set. */
  take(timer: TimerRecord): boolean {
    if (!this.timers.delete(timer)) return false
    const key = keyOf(timer.source, timer.id)
    if (this.lastOf.get(key) === timer) this.lastOf.delete(key)
    this.options.changed()
    return true
  }

  private add(record: TimerRecord): void {
    this.timers.add(record)
    this.lastOf.set(keyOf(record.source, record.id), record)
  }

  private freshId(source: string): string {
    let id: string
    do id = `#${++this.unnamed}`
    while (this.lastOf.has(keyOf(source, id)))
    return id
  }
}

const keyOf = (source: string, id: string): string => `${source}\n${id}`

const foreignTarget = (source: string, { type }: EventObject): JobchartError =>
  new JobchartError(
    'NOT_DURABLE',
    `the delayed event ${type} of ${source === '' ? 'the machine' : source} is for an actor of another actor system`,
    { hint: 'Send it to an actor of the same job: another system does not exist after a restart.' },
  )
