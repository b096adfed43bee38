/** A live machine in its run: begun or restored, told what happens, looked at for a checkpoint. */
import {
  createActor,
  type Actor,
  type AnyActorLogic,
  type AnyActorRef,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventObject,
  type StateValue,
} from 'xstate'
import { ActorAddresses, childrenOf, type Children } from './addresses.ts'
import { withActors } from './codec.ts'
import { jobOf } from './from-job.ts'
import { isNamed, activeNodes } from './machines.ts'
import type { ActorSteps } from './actor-steps.ts'
import { attemptNote, isWaiting } from './durable.ts'
import type { AttemptServices, RunnerRef, JobActorServices } from './job-actors.ts'
import { pendingOf, outboxOf } from './outbox.ts'
import { Plan, type PendingEffect } from './plan.ts'
import { isItsSnapshot, isPlanned, plannedLogicOf, worksOutside, type PlannedLogic } from './actor-kinds.ts'
import { restoreContexts, withoutContexts } from './references.ts'
import type { MachineState } from './state.ts'
import { DurableTimers, type PassedDelay } from './timers.ts'
import type { MachineVersion, PersistedMachine } from './versions.ts'
import { wrapRelays } from './xstate-internals.ts'

export interface LiveMachineOptions {
  readonly logic: PlannedLogic
  readonly version: MachineVersion
  readonly jobId: string
  readonly input: unknown
  readonly now: () => number
  readonly jobs: JobActorServices
  readonly attempts: Pick<AttemptServices, 'random' | 'after' | 'log'>
  readonly steps: ActorSteps
  readonly logger: (...args: unknown[]) => void
  /** Something has changed: a machine's state, a timer, what is held, or whether it failed. */
  readonly changed: () => void
}

/** Events that may follow from one. A step with ten thousand children sends each one, and hears of each. */
const sentInTurnMax = 50_000

type Status = 'active' | 'done' | 'error' | 'stopped'

export class LiveMachine {
  readonly timers: DurableTimers
  readonly plan: Plan
  /** What has led to its present state, for people. */
  notes: string[] = []
  private readonly root: Actor<AnyActorLogic>
  private readonly options: LiveMachineOptions
  private readonly addresses: ActorAddresses
  /** Events for machines that wait until all of a step have started; null if none waits. */
  private relays: (() => void)[] | null = null
  /** Events that were sent since the last event from outside; null between two. */
  private sentInTurn: number | null = null
  private failed: { readonly error: unknown } | null = null
  private readonly seen = new WeakMap<AnyActorRef, unknown>()
  /** Actors of jobs, by the id of the job, as they were when the plan had seen so many actors. */
  private readonly jobActors = new Map<string, AnyActorRef>()
  private jobActorsOf = -1

  constructor(options: LiveMachineOptions, from: MachineState | null) {
    const { jobId, input, now, jobs, logger, changed } = options
    this.options = options
    this.addresses = new ActorAddresses(jobId, from?.actors ?? null, () => this.root)
    const { addresses } = this
    const delaysOf = (actor: AnyActorRef) => plannedLogicOf(actor)?.delays ?? null
    this.timers = new DurableTimers({ now, addresses, delaysOf, changed })
    this.plan = new Plan({ addresses, nextActorNumber: from?.booked ?? 0, changed })
    const logic: AnyActorLogic & { readonly hosting: RunnerRef } = {
      ...options.logic,
      hosting: { jobs, plan: this.plan, attempts: this.attemptServices() },
    }
    this.root = createActor(logic, {
      id: jobId,
      logger,
      ...(from === null ? { input } : { snapshot: withoutContexts(from.snapshot) as never }),
      inspect: (seen) => {
        if (seen.type === '@xstate.snapshot') this.look(seen.actorRef as AnyActorRef, seen.snapshot, seen.event)
      },
    })
    addresses.of(this.root)
    this.root.system.scheduler = this.timers
    wrapRelays(this.root.system, (source, target, deliver) => {
      if (source !== undefined && this.plan.isLeaving(source)) return
      if (this.relays !== null && isPlanned(target)) this.relays.push(deliver)
      else this.turn(deliver)
    })
    this.root.subscribe({ error: (error) => this.fail(error) })
    if (from === null) return
    const actorAt = (address: string): AnyActorRef => addresses.referenceAt(address)
    restoreContexts(this.root, from.snapshot, actorAt)
    this.timers.restore(
      from.timers.map((timer) => ({ ...timer, event: withActors(timer.event, actorAt) as EventObject })),
    )
    // Nothing has changed by being restored.
    for (const actor of [this.root, ...this.actors()]) this.seen.set(actor, actor.getSnapshot())
  }

  private attemptServices(): AttemptServices {
    const { timers, addresses } = this
    const { attempts, steps } = this.options
    return {
      ...attempts,
      begin: (begin) => this.plan.hold({ kind: 'attempt', begin }),
      isTimerSet: (actor, id) => timers.isSet(actor, id),
      steps: (actor, attempt, over) => steps.of(addresses.of(actor), attempt, over),
    }
  }

  start(): void {
    this.turn(() => this.root.start())
  }

  /** What follows from one event: machines that send each other events for ever would never give anybody else a turn. */
  private turn(run: () => void): void {
    if (this.sentInTurn !== null) {
      if (++this.sentInTurn > sentInTurnMax) {
        this.sentInTurn = 0
        throw new Error(
          `infinite loop: machines have sent ${sentInTurnMax} events, to themselves or each other, without coming to rest`,
        )
      }
      run()
      return
    }
    this.sentInTurn = 0
    try {
      run()
    } finally {
      this.sentInTurn = null
    }
  }

  /** Why it failed, if it did. What cannot be durable is no failure that a machine could deal with. */
  get failure(): { readonly error: unknown } | null {
    return this.plan.refused === null ? this.failed : { error: this.plan.refused }
  }

  get status(): Status {
    return this.root.getSnapshot().status as Status
  }

  get output(): unknown {
    return this.root.getSnapshot().output
  }

  /** Would its present state take this event? */
  can(event: EventObject): boolean {
    const snapshot = this.root.getSnapshot() as { readonly can?: (event: EventObject) => boolean }
    return this.status === 'active' && snapshot.can?.(event) === true
  }

  /** Is this event named by its present state? A wildcard does not name it. */
  names(event: EventObject): boolean {
    return this.status === 'active' && isNamed(this.root.getSnapshot(), event)
  }

  /** Paths of the states that it stands in, the outer ones first, and its tags; not those of the machines it has invoked. */
  get standing(): { readonly states: readonly string[]; readonly tags: readonly string[] } {
    const { machine, value, tags } = this.root.getSnapshot() as AnyMachineSnapshot
    const nodes = [...activeNodes((machine as AnyStateMachine).root, value as StateValue)]
    return { states: nodes.slice(1).map(({ path }) => path.join('.')), tags: [...tags] }
  }

  send(event: AnyEventObject): void {
    this.root.send(event)
  }

  /** Delivers the timers that are due by then, the earliest first. Those that are set meanwhile have their turn later. */
  fire(by: number): void {
    for (const timer of this.timers.list()) {
      if (timer.at > by) return
      if (this.timers.take(timer)) this.addresses.actorAt(timer.target)?.send(timer.event)
    }
  }

  /** Starts actors that do work. As in XState, all of a step have started before their machines hear of any. */
  startWork(run: () => void): void {
    this.relays = []
    try {
      run()
    } finally {
      const relays = this.relays
      this.relays = null
      for (const relay of relays) relay()
    }
  }

  /** The address of an actor of this job; null of any other. */
  addressOf(actor: AnyActorRef): string | null {
    return this.addresses.find(actor)
  }

  /** The actor of a job that it has invoked. */
  jobActor(jobId: string): AnyActorRef | null {
    if (this.jobActorsOf !== this.plan.actorsSeen) {
      this.jobActorsOf = this.plan.actorsSeen
      for (const actor of this.actors()) {
        const job = jobOf(actor)
        if (job !== null) this.jobActors.set(job.id, actor)
      }
    }
    return this.jobActors.get(jobId) ?? null
  }

  /** The jobs that its actors wait for. */
  get jobIds(): string[] {
    return [...this.actors()].flatMap((actor) => {
      const job = actor.getSnapshot().status === 'active' ? jobOf(actor) : null
      return job === null ? [] : [job.id]
    })
  }

  /** Does none of its actors do work of its own? Machines wait, and so do jobs that were invoked: they tell when they end. */
  get atRest(): boolean {
    for (const actor of this.actors()) {
      if (actor.getSnapshot().status === 'active' && worksOutside(actor) && !isWaiting(actor)) return false
    }
    return true
  }

  /** Is the actor at this address there, and has not ended? */
  isActive(address: string): boolean {
    return this.addresses.actorAt(address)?.getSnapshot().status === 'active'
  }

  /** Its state, to be kept. @throws JobchartError NOT_DURABLE */
  state(held: readonly PendingEffect[]): Omit<MachineState, 'read' | 'jobs'> {
    this.dropEnded()
    const passed = this.passedDelays()
    return {
      format: 2,
      machine: this.options.version,
      job: this.options.jobId,
      snapshot: this.persisted(),
      timers: this.timers.records(),
      ...(passed.length > 0 && { passed }),
      actors: this.addresses.state(),
      booked: this.plan.nextActorNumber,
      outbox: outboxOf(held, this.addresses),
    }
  }

  /** Delayed transitions of active states that no timer is set for any more. */
  private passedDelays(): PassedDelay[] {
    const set = new Set(this.timers.records().map(({ source, id }) => `${source}\n${id}`))
    return [this.root, ...this.actors()].flatMap((actor) => {
      const logic = plannedLogicOf(actor)
      if (logic === null || logic.delays.size === 0) return []
      const { status, value } = actor.getSnapshot() as { readonly status: Status; readonly value: StateValue }
      if (status !== 'active') return []
      const active = new Set([...activeNodes(logic.machine.root, value)].map(({ id }) => id))
      const source = this.addresses.of(actor)
      return [...logic.delays].flatMap(([type, after]) =>
        active.has(after.node) && !set.has(`${source}\n${type}`) ? [{ source, after }] : [],
      )
    })
  }

  /**
   * Takes spawned actors that have done their work out of their machines: nothing reaches them any more, and a machine that
   * spawns many would carry all of them to its end. An invoked one stays until its state is left: it must not begin again.
   */
  private dropEnded(): void {
    for (const machine of [this.root, ...this.actors()]) {
      const logic = plannedLogicOf(machine)
      const { value, children } = machine.getSnapshot() as { readonly value?: StateValue; readonly children?: Children }
      if (logic === null || value === undefined || children === undefined) continue
      let invoked: Set<string> | null = null
      for (const [id, actor] of Object.entries(children)) {
        if (actor === undefined || actor.getSnapshot().status === 'active' || isItsSnapshot(actor)) continue
        invoked ??= new Set(
          [...activeNodes(logic.machine.root, value)].flatMap((node) => node.invoke.map((each) => each.id)),
        )
        if (!invoked.has(id)) Reflect.deleteProperty(children, id)
      }
    }
  }

  private persisted(): PersistedMachine {
    const snapshot = this.root.getPersistedSnapshot() as unknown as PersistedMachine
    if (snapshot.status !== 'done') return snapshot
    // Its actors are stopped, and nobody asks what they have made of that; its machines may still have something to do.
    const machines = Object.entries(snapshot.children).filter(([, child]) => isPersistedMachine(child.snapshot))
    return { ...snapshot, children: Object.fromEntries(machines) }
  }

  /** What was decided with a checkpoint. */
  pendingOf(from: MachineState): PendingEffect[] {
    return pendingOf(from.outbox, { logic: this.options.logic, addresses: this.addresses })
  }

  /** Stops all that goes on. Nothing is written any more. */
  stop(): void {
    this.plan.stopAll()
    // XState would copy all children of a machine for each that it stops.
    for (const machine of this.actors()) if (isPlanned(machine)) forgetChildren(machine)
    forgetChildren(this.root)
    this.root.stop()
    this.plan.pending = []
  }

  private fail(error: unknown): void {
    this.failed ??= { error }
    this.options.changed()
  }

  private look(actor: AnyActorRef, snapshot: unknown, event: EventObject): void {
    if (this.seen.get(actor) === snapshot) return
    this.seen.set(actor, snapshot)
    if (actor.getSnapshot().status !== 'active') this.plan.ended(actor)
    const note = attemptNote(event, actor, snapshot)
    // What works outside is begun anew after a crash: its inner state need not be kept, only whether it has ended, or which
    // attempt it has come to.
    if (note === null && actor !== this.root && worksOutside(actor) && actor.getSnapshot().status === 'active') return
    if (note !== null) this.notes.push(note)
    if (actor === this.root) this.notes.push(noteOf(event, snapshot))
    this.options.changed()
  }

  private *actors(of: AnyActorRef = this.root): Iterable<AnyActorRef> {
    for (const actor of Object.values(childrenOf(of))) {
      if (actor === undefined) continue
      yield actor
      yield* this.actors(actor)
    }
  }
}

/** Of a machine that is about to be thrown away. */
function forgetChildren(machine: AnyActorRef): void {
  const children = childrenOf(machine)
  for (const id of Object.keys(children)) Reflect.deleteProperty(children, id)
}

const isPersistedMachine = (snapshot: unknown): snapshot is PersistedMachine =>
  typeof snapshot === 'object' && snapshot !== null && 'children' in snapshot

/** `APPROVE → paid.shipping` */
function noteOf({ type }: EventObject, snapshot: unknown): string {
  const value = typeof snapshot === 'object' && snapshot !== null && 'value' in snapshot ? snapshot.value : undefined
  return `${type} → ${stateName(value)}`
}

function stateName(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Object.entries(value).map(([key, inner]) => {
    const name = stateName(inner)
    return name === '' ? key : `${key}.${name}`
  })
  return parts.length === 1 ? (parts[0] as string) : parts.length === 0 ? '' : `(${parts.join(', ')})`
}
