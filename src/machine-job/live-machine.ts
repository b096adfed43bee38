/**
 * The live machine of a run: starts or restores it, delivers events and timers to it, and reads its state for
 * checkpoints.
 */
import {
  createActor,
  type Actor,
  type AnyActorLogic,
  type AnyActorRef,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventObject,
  type InspectionEvent,
  type StateValue,
} from 'xstate'
import { actorInWords, checkpointNote, eventInWords } from '../core/event-words.ts'
import { recordError } from '../core/failure.ts'
import type { Inspect } from '../core/inspection.ts'
import type { FailedPromise } from '../core/machine-record.ts'
import { lineOf } from '../core/platform.ts'
import { factsOf } from './actor-facts.ts'
import { ActorAddresses, childrenOf, type Children } from './addresses.ts'
import { encoder, withActors, type Encode } from './codec.ts'
import { jobOf } from './from-job.ts'
import { isNamedByState, activeNodes, standingOf, type StandingNodes } from './machines.ts'
import { LiveAttempts, type AttemptHost } from './live-attempts.ts'
import { attemptNote, failedAttempt, isNextAttempt, isWaiting } from './durable.ts'
import type { MachineRunServices, JobActorServices } from './machine-run-services.ts'
import { pendingOf, outboxOf } from './outbox.ts'
import { HeatRecorder } from './heat-recorder.ts'
import { Inspector } from './inspector.ts'
import { Plan, type PendingEffect } from './plan.ts'
import { Recorder } from './recorder.ts'
import { isSnapshotOnly, isMachineActor, plannedLogicOf, doesWork, type PlannedLogic } from './actor-kinds.ts'
import { restoreContexts, withoutContexts } from './references.ts'
import type { MachineState, WrittenState } from './state.ts'
import { DurableTimers, type PassedDelay } from './timers.ts'
import type { LeanMachine, MachineVersion } from './versions.ts'
import { dropChild, replaceScheduler, takeInPlace, watchSnapshots, wrapRelays } from './xstate-internals.ts'

/** The run that a machine lives in. */
export interface MachineHost extends AttemptHost {
  readonly logic: PlannedLogic
  readonly version: MachineVersion
  readonly jobId: string
  readonly input: unknown
  readonly jobs: JobActorServices
  readonly inspect: Inspect | null
  /** ms since the epoch */
  now(): number
  /** Called when the state of a machine, a timer, a pending effect or the failure has changed. */
  changed(): void
}

/**
 * Limit of the events that follow from one event. A step that starts ten thousand children sends and receives that many
 * each.
 */
const sentInTurnMax = 50_000

/**
 * Failed attempts that one checkpoint counts: a machine with more promises than this at once counts so many of them.
 */
const failuresMax = 100

/** What is asked while timers fire. */
interface Firing {
  /** Has enough happened for one checkpoint? Then the timers that are due later wait for the next call. */
  readonly isFull?: () => boolean
  /** Called with the time of each timer before it fires, and after it has fired. */
  readonly before?: (at: number) => void
  readonly after?: () => void
}

/** A delivery to a machine that is delayed, from an actor that may be stopped before it is made. */
interface Relay {
  readonly relay: () => void
  readonly source: AnyActorRef | undefined
  readonly wasStopped: boolean
}

type Status = 'active' | 'done' | 'error' | 'stopped'

export class LiveMachine implements MachineRunServices {
  readonly timers: DurableTimers
  readonly plan: Plan
  readonly attempts: LiveAttempts
  readonly encode: Encode
  /** Events and states since the last checkpoint, for its note. */
  private readonly notes: string[] = []
  /** What else has changed since the last checkpoint: its note if no state of the root has. */
  readonly asides = new Set<string>()
  /** Attempts of promises that have failed since the last checkpoint. */
  readonly failures: FailedPromise[] = []
  private readonly root: Actor<AnyActorLogic>
  private readonly inspector: Inspector | null
  private readonly host: MachineHost
  private readonly addresses: ActorAddresses
  /** Deliveries to machines that are delayed until all actors of a step have started; null outside of `startWork`. */
  private relays: Relay[] | null = null
  /** Number of events sent in the current turn; null between turns. */
  private sentInTurn: number | null = null
  private failed: { readonly error: unknown } | null = null
  private readonly recorder: Recorder
  private readonly heat: HeatRecorder
  private readonly isNew: boolean
  /** Timers that were due by then have fired. */
  private firedBy = 0
  private isFiring = false
  /** Actors of child jobs by the id of the job; complete while `plan.actorsAdded` equals `jobActorsListedAt`. */
  private jobActors: Map<string, AnyActorRef> | null = null
  private jobActorsListedAt = -1

  constructor(host: MachineHost, from: MachineState | null) {
    const { jobId, input, inspect } = host
    this.host = host
    this.addresses = new ActorAddresses(jobId, from?.actors ?? null, () => this.root)
    const { addresses } = this
    this.isNew = from === null
    this.encode = encoder((actor) => addresses.find(actor))
    this.recorder = new Recorder(this.encode)
    this.timers = new DurableTimers(host, addresses, delaysOf)
    this.heat = new HeatRecorder(host.version.version, host)
    this.plan = new Plan(host, addresses, this.heat, from?.actorNumber ?? 0)
    this.attempts = new LiveAttempts(host, this.plan, this.timers, addresses)
    const inspector = inspect === null ? null : new Inspector({ jobId, now: () => host.now(), inspect })
    this.inspector = inspector
    const logic: AnyActorLogic & { readonly runServices: MachineRunServices } = { ...host.logic, runServices: this }
    this.root = createActor(logic, {
      id: jobId,
      logger: (...args: unknown[]) => host.log(lineOf(...args)),
      ...(from === null ? { input } : { snapshot: withoutContexts(from.snapshot) as never }),
      ...(inspector !== null && { inspect: (inspected: InspectionEvent) => inspector.take(inspected) }),
    })
    watchSnapshots(this.root.system, (actor, snapshot, event) => this.snapshotChanged(actor, snapshot, event))
    takeInPlace(this.root)
    addresses.of(this.root)
    replaceScheduler(this.root.system, this.timers)
    wrapRelays(this.root.system, (source, target, event, deliver) => {
      if (source !== undefined && this.plan.isStopPending(source)) return
      const isMachine = isMachineActor(target)
      const relay = (): void => {
        if (isMachine && (source === undefined || !isSnapshotOnly(source))) this.record(event, target)
        this.withinTurn(deliver)
      }
      if (this.relays === null || !isMachine) relay()
      else this.relays.push({ relay, source, wasStopped: isStopped(source) })
    })
    this.root.subscribe({ error: (error) => this.fail(error) })
    if (from === null) {
      if (this.status !== 'error') this.heat.begin(this.standing.nodes)
      return
    }
    this.heat.restore(this.standing.nodes, from.entered)
    const actorAt = (address: string): AnyActorRef => addresses.referenceAt(address)
    restoreContexts(this.root, from.snapshot, actorAt)
    this.timers.restore(
      from.timers.map((timer) => ({ ...timer, event: withActors(timer.event, actorAt) as EventObject })),
    )
    // Restoring alone needs no checkpoint.
    for (const actor of [this.root, ...this.actors()]) factsOf(actor).lastSnapshot = actor.getSnapshot()
  }

  /** The services for the actors of child jobs. */
  get jobs(): JobActorServices {
    return this.host.jobs
  }

  start(): void {
    this.inspector?.begin()
    if (this.isNew) this.record({ type: 'xstate.init' }, this.root)
    this.withinTurn(() => this.root.start())
  }

  /** Limits the events that follow from one: machines that send each other events endlessly would block the process. */
  private withinTurn(run: () => void): void {
    if (this.sentInTurn !== null) {
      if (++this.sentInTurn > sentInTurnMax) {
        this.sentInTurn = 0
        throw new Error(
          `infinite loop: machines have sent ${sentInTurnMax} events, to themselves or each other, in one turn`,
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

  /** Why the machine failed; null if it did not. A refusal of the plan comes first: no `onError` can handle it. */
  get failure(): { readonly error: unknown } | null {
    return this.plan.refused === null ? this.failed : { error: this.plan.refused }
  }

  get status(): Status {
    return this.root.getSnapshot().status as Status
  }

  /** Another object after each step that has changed the machine. */
  get snapshot(): unknown {
    return this.root.getSnapshot()
  }

  get output(): unknown {
    return this.root.getSnapshot().output
  }

  /** Does the current state handle this event? */
  can(event: EventObject): boolean {
    const snapshot = this.root.getSnapshot() as { readonly can?: (event: EventObject) => boolean }
    return this.status === 'active' && snapshot.can?.(event) === true
  }

  /** Does the current state handle this event by its name, not by a wildcard? */
  namesEvent(event: EventObject): boolean {
    if (!this.host.logic.events.has(event.type)) return false
    return this.status === 'active' && isNamedByState(this.root.getSnapshot(), event)
  }

  /** The active states, the outer ones first, and the tags. Child machines are not included. */
  get standing(): StandingNodes {
    const { machine, value } = this.root.getSnapshot() as AnyMachineSnapshot
    return standingOf(machine as AnyStateMachine, value as StateValue)
  }

  /** How the machine has gone through its chart since the last call. */
  takeHeat(): ReturnType<HeatRecorder['take']> {
    return this.heat.take()
  }

  send(event: AnyEventObject): void {
    this.root.send(event)
  }

  /** Sends an event. @returns whether the machine has handled it, be it through an `always` transition */
  offer(event: AnyEventObject): boolean {
    const before: unknown = this.root.getSnapshot()
    const handles = this.can(event)
    this.root.send(event)
    return handles || this.root.getSnapshot() !== before
  }

  /** Starts the work of an actor. */
  startActor(actor: AnyActorRef): void {
    factsOf(actor).beganAt = this.host.now()
    this.plan.startWork(actor)
  }

  /** Delivers the timers due at `by`, the earliest first. Timers that are set meanwhile wait for the next call. */
  fireTimers(by: number, { isFull, before, after }: Firing = {}): void {
    for (const timer of this.timers.list()) {
      if (timer.at > by) break
      // A replay fires all timers of an instant at once.
      if (timer.at > this.firedBy && isFull?.() === true) return
      before?.(timer.at)
      if (!this.timers.fire(timer)) continue
      this.firedBy = Math.max(this.firedBy, timer.at)
      this.isFiring = true
      try {
        this.addresses.actorAt(timer.target)?.send(timer.event)
      } finally {
        this.isFiring = false
      }
      if (timer.target === '') this.noteAside(() => eventInWords(timer.event.type))
      after?.()
    }
    this.firedBy = Math.max(this.firedBy, by)
  }

  private record(event: EventObject, target: AnyActorRef): void {
    const { firedBy: by, isFiring: timer } = this
    this.recorder.record(event, { at: this.host.now(), by, to: this.addresses.of(target), timer })
  }

  /** Sends a recorded event to a machine of the job. */
  deliver(address: string, event: EventObject): void {
    const machine = this.addresses.actorAt(address)
    if (machine?.getSnapshot().status === 'active') machine.send(event)
  }

  /**
   * Starts actors that do work. As in XState, all actors of a step start before a machine gets an event from one of
   * them.
   * @param first handles what comes before these events; those of an actor that it stops are dropped
   */
  startWork(run: () => void, first: () => void): void {
    const relays: Relay[] = (this.relays = [])
    try {
      run()
    } finally {
      this.relays = null
    }
    first()
    for (const { relay, source, wasStopped } of relays) if (wasStopped || !isStopped(source)) relay()
  }

  /** The actor of a child job; null if there is none. */
  jobActor(jobId: string): AnyActorRef | null {
    const jobActors = (this.jobActors ??= new Map())
    if (this.jobActorsListedAt !== this.plan.actorsAdded) {
      this.jobActorsListedAt = this.plan.actorsAdded
      for (const actor of this.actors()) {
        const job = jobOf(actor)
        if (job !== null) jobActors.set(job.id, actor)
      }
    }
    return jobActors.get(jobId) ?? null
  }

  /** The ids of the child jobs that active actors wait for. */
  get jobIds(): string[] {
    const ids: string[] = []
    for (const actor of this.actors()) {
      const job = actor.getSnapshot().status === 'active' ? jobOf(actor) : null
      if (job !== null) ids.push(job.id)
    }
    return ids
  }

  /** Does no actor do work in this process? Machines only wait for events, child jobs report their ends as messages. */
  get isIdle(): boolean {
    return !hasWorker(this.root)
  }

  /** Is there an actor at this address that has not ended? */
  isActive(address: string): boolean {
    return this.addresses.actorAt(address)?.getSnapshot().status === 'active'
  }

  /** The state for a checkpoint. @throws JobchartError NOT_DURABLE */
  state(pending: readonly PendingEffect[]): Omit<WrittenState, 'read' | 'jobs' | 'cancel'> {
    const passed: PassedDelay[] = []
    eachMachine(this.root, (actor, logic) => {
      dropEnded(actor, logic)
      if (logic.delays.size > 0) passed.push(...this.passedDelays(actor, logic))
    })
    return {
      format: 1,
      machine: this.host.version,
      job: this.host.jobId,
      snapshot: this.persisted(),
      entered: this.status === 'active' ? this.heat.timesOf(this.standing.nodes) : undefined,
      timers: this.timers.records(),
      passed: passed.length > 0 ? passed : undefined,
      actors: this.addresses.state(),
      actorNumber: this.plan.nextActorNumber,
      outbox: outboxOf(pending, this.addresses),
      events: this.recorder.take(),
    }
  }

  /** Delayed transitions of active states whose timer has fired or was cancelled. */
  private *passedDelays(actor: AnyActorRef, { machine, delays }: PlannedLogic): Iterable<PassedDelay> {
    const { status, value } = actor.getSnapshot() as { readonly status: Status; readonly value: StateValue }
    if (status !== 'active') return
    const active = activeNodes(machine.root, value)
    for (const [type, after] of delays) {
      if (active.every(({ id }) => id !== after.node) || this.timers.isSet(actor, type)) continue
      yield { source: this.addresses.of(actor), after }
    }
  }

  private persisted(): LeanMachine {
    const snapshot = this.root.getPersistedSnapshot() as unknown as LeanMachine
    if (snapshot.status !== 'done' || snapshot.children === undefined) return snapshot
    // All actors are stopped. Child machines are kept: the outbox may hold actions of theirs.
    const machines = Object.entries(snapshot.children).filter(([, { kind }]) => kind === 'machine')
    return { ...snapshot, children: machines.length === 0 ? undefined : Object.fromEntries(machines) }
  }

  /** The pending effects that the outbox of a checkpoint holds. */
  pendingOf(from: MachineState): PendingEffect[] {
    return pendingOf(from.outbox, { logic: this.host.logic, addresses: this.addresses })
  }

  /** Stops all actors. Pending effects are dropped: the last checkpoint holds those that matter. */
  stop(): void {
    this.plan.stopAll()
    // XState copies all children of a machine for each that it stops, which is quadratic.
    for (const machine of this.actors()) if (isMachineActor(machine)) dropChildren(machine)
    dropChildren(this.root)
    this.root.stop()
    this.plan.pending = []
  }

  /** Adds to the note of the next checkpoint, unless it names a state already. */
  noteAside(what: () => string): void {
    if (this.notes.length === 0) this.asides.add(what())
  }

  /** What led to the checkpoint that is written now. */
  takeNote(): string {
    const { asides } = this
    const notes = this.notes.splice(0)
    const note = checkpointNote(notes.length > 0 ? notes : [...asides])
    // To clear an empty set makes a new table, too.
    if (asides.size > 0) asides.clear()
    return note
  }

  private fail(error: unknown): void {
    this.failed ??= { error }
    this.host.changed()
  }

  private snapshotChanged(actor: AnyActorRef, snapshot: unknown, event: EventObject): void {
    const facts = factsOf(actor)
    if (facts.lastSnapshot === snapshot) return
    facts.lastSnapshot = snapshot
    if (actor.getSnapshot().status !== 'active') this.plan.ended(actor)
    const note = attemptNote(event, actor, snapshot)
    this.noticeFailure(event, actor, snapshot)
    // Work in this process starts again after a crash: only its end and the number of its attempt need a checkpoint.
    if (note === null && actor !== this.root && doesWork(actor) && actor.getSnapshot().status === 'active') return
    if (note !== null) this.notes.push(note)
    if (actor === this.root) this.notes.push(noteOf(event, snapshot))
    else this.asides.add(asideOf(event, actor))
    this.host.changed()
  }

  /**
   * Counts an attempt of a promise that has failed. An error that no machine handles is the failure of the job itself.
   */
  private noticeFailure(event: EventObject, actor: AnyActorRef, snapshot: unknown): void {
    const facts = factsOf(actor)
    if (isNextAttempt(event)) facts.beganAt = this.host.now()
    if (actor === this.root || !doesWork(actor) || this.failures.length >= failuresMax) return
    const failure = failedAttempt(event, actor, snapshot)
    if (failure === null) return
    const now = this.host.now()
    this.failures.push({ error: recordError(failure.error), ms: Math.max(0, now - (facts.beganAt ?? now)) })
  }

  /** All actors below the root, parents first. */
  private actors(): AnyActorRef[] {
    const actors: AnyActorRef[] = []
    addDescendants(this.root, actors)
    return actors
  }
}

const delaysOf = (actor: AnyActorRef) => plannedLogicOf(actor)?.delays ?? null

const isStopped = (actor: AnyActorRef | undefined): boolean => actor !== undefined && factsOf(actor).isStopped

/** Does an actor below this one do work? */
function hasWorker(of: AnyActorRef): boolean {
  const children = childrenOf(of)
  for (const id in children) {
    const actor = children[id]
    if (actor !== undefined && (isWorking(actor) || hasWorker(actor))) return true
  }
  return false
}

const isWorking = (actor: AnyActorRef): boolean =>
  actor.getSnapshot().status === 'active' && doesWork(actor) && !isWaiting(actor)

function addDescendants(of: AnyActorRef, actors: AnyActorRef[]): void {
  for (const actor of Object.values(childrenOf(of))) {
    if (actor === undefined) continue
    actors.push(actor)
    addDescendants(actor, actors)
  }
}

/** Calls back for a machine and all machines below it, parents first. Only machines have children. */
function eachMachine(actor: AnyActorRef, visit: (actor: AnyActorRef, logic: PlannedLogic) => void): void {
  const logic = plannedLogicOf(actor)
  if (logic === null) return
  visit(actor, logic)
  const children = childrenOf(actor)
  for (const id in children) {
    const child = children[id]
    if (child !== undefined) eachMachine(child, visit)
  }
}

/**
 * Removes spawned actors that have ended from their machine: else the state of a machine that spawns many would grow
 * without limit. An invoked actor stays until its state is left: without it, a restore would start it again.
 */
function dropEnded(machine: AnyActorRef, logic: PlannedLogic): void {
  const { value, children } = machine.getSnapshot() as { readonly value?: StateValue; readonly children?: Children }
  if (value === undefined || children === undefined) return
  let invoked: Set<string> | null = null
  for (const id in children) {
    const actor = children[id]
    if (actor === undefined || actor.getSnapshot().status === 'active' || isSnapshotOnly(actor)) continue
    invoked ??= new Set(activeNodes(logic.machine.root, value).flatMap((node) => node.invoke.map((each) => each.id)))
    if (!invoked.has(id)) dropChild(children, id)
  }
}

function dropChildren(machine: AnyActorRef): void {
  const children = childrenOf(machine)
  for (const id of Object.keys(children)) dropChild(children, id)
}

/** `APPROVE → paid.shipping` */
function noteOf({ type }: EventObject, snapshot: unknown): string {
  const value = typeof snapshot === 'object' && snapshot !== null && 'value' in snapshot ? snapshot.value : undefined
  return `${type} → ${stateName(value)}`
}

/** What has happened to an actor below the root. */
function asideOf({ type }: EventObject, actor: AnyActorRef): string {
  if (type === 'xstate.init') return 'work started'
  if (isMachineActor(actor)) return `${actorInWords(actor.id)}: ${eventInWords(type)}`
  return actor.getSnapshot().status === 'active' ? 'work changed' : 'work ended'
}

function stateName(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Object.entries(value).map(([key, inner]) => {
    const name = stateName(inner)
    return name === '' ? key : `${key}.${name}`
  })
  return parts.length === 1 ? (parts[0] as string) : parts.length === 0 ? '' : `(${parts.join(', ')})`
}
