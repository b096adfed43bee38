/**
 * Converts a checkpoint for a machine that has changed since: by `migrate` if another version wrote it, and with its
 * timers. The timer of a delayed transition (`after`) is matched by the state and the index in `after`, not by the
 * delay, because a deployment may change the delay.
 */
import type { AnyStateMachine, AnyStateNode, EventObject, OutputFrom, SnapshotFrom } from 'xstate'
import { describe, JobchartError, messageOf } from '../core/errors.ts'
import { machineAt, MachineActions } from './actions.ts'
import { childAddress, type AddressState } from './addresses.ts'
import { encode } from './codec.ts'
import { activeNodes, isMachine } from './machines.ts'
import type { MachineState } from './state.ts'
import { delayPlaces, type DelayPlace, type PassedDelay, type TimerRecord } from './timers.ts'
import { actorLogic, incompatibilities, type MachineVersion, type PersistedMachine } from './versions.ts'
import { afterEventType } from './xstate-internals.ts'

/** A timer that a job waits for. */
export interface MachineTimer {
  /** The machine that set it: '' for the job's own, `kid/1` for the first start of its child `kid`. */
  readonly machine: string
  /** The actor that gets the event, in the same form. */
  readonly target: string
  /** The id for `cancel(id)`. For a delayed transition it is derived from `state` and `delay`. */
  readonly id: string
  /** For a delayed transition: the id of its state (`order.review`). Absent for a delayed `raise` or `sendTo`. */
  readonly state?: string
  /** For a delayed transition: its delay as it is written in `after`. */
  readonly delay?: string
  /** The event that is delivered. For a delayed transition it is derived from `state` and `delay`. */
  readonly event: { readonly type: string }
  /** When it is due, ms since the epoch; 0 if it has passed. */
  readonly at: number
  /** When it was set, ms since the epoch, if that is known. */
  readonly setAt?: number
  /** It has fired or was cancelled, and the machine is still in its state: it is not set again. */
  readonly passed?: true
}

/** The third argument of `migrate`. */
export interface MigrateDetails {
  /** The timers that the job waits for, and behind them those of active states that have passed. */
  readonly timers: readonly MachineTimer[]
}

/**
 * The snapshot of a machine as a checkpoint has it: data without methods.
 */
export interface PersistedSnapshotFrom<Machine extends AnyStateMachine> {
  readonly status: 'active' | 'done' | 'error' | 'stopped'
  /** The state: `'paid'`, or `{ paid: 'shipping' }`. */
  readonly value: SnapshotFrom<Machine>['value']
  readonly context: SnapshotFrom<Machine>['context']
  readonly output?: OutputFrom<Machine> | undefined
  readonly error?: unknown
  /** Its actors, by id. Default: none. */
  readonly children?: Readonly<Record<string, unknown>>
  /** What its history states remember. */
  readonly historyValue?: Readonly<Record<string, unknown>>
  readonly tags?: readonly string[]
}

/** A snapshot and its timers; timers that are left out are dropped. */
export interface Migrated<Snapshot = unknown> {
  readonly snapshot: Snapshot
  readonly timers: readonly MachineTimer[]
}

/**
 * Converts a snapshot of another version to this one: `(snapshot, from, { timers }) => …`, where `from` is the version
 * that wrote it. It returns the snapshot, which keeps its timers, or `{ snapshot, timers }`. With two machines it is
 * typed by both versions; without them nothing is known of the snapshots.
 * @example const migrate: Migrate<typeof orderV1, typeof orderV2> = (old) => ({ ...old, context: { lines:
 * [old.context.line] } })
 */
export type Migrate<From = unknown, To = unknown> = MigrateSnapshot<PersistedOf<From>, PersistedOf<To>>

type PersistedOf<Machine> = Machine extends AnyStateMachine ? PersistedSnapshotFrom<Machine> : unknown

/** The same by the snapshots. */
export type MigrateSnapshot<From, To> = (
  snapshot: From,
  from: MachineVersion,
  details: MigrateDetails,
) => unknown extends To ? unknown : To | Migrated<To>

/** A delayed transition of an active state that a deployment has added: its timer is neither set nor passed. */
interface NewDelay {
  readonly source: string
  readonly place: DelayPlace
  readonly machine: AnyStateMachine
  readonly context: unknown
}

export interface Adopted {
  readonly state: MachineState
  readonly newDelays: readonly NewDelay[]
}

interface Version {
  readonly identity: MachineVersion
  readonly machine: AnyStateMachine
  readonly migrate: Migrate | null
}

/** @throws JobchartError UNSUPPORTED if the machine cannot resume from the state, or `migrate` throws (`cause`) */
export function adopt(state: MachineState, { identity, machine, migrate }: Version): Adopted {
  const same = state.machine.id === identity.id && state.machine.version === identity.version
  if (!same && migrate === null) throw unknownVersion(state.machine, identity)
  const lost = lostActions(machine, state.outbox)
  if (lost.length > 0) throw incompatible(identity, lost, same)
  if (same && state.machine.hash === identity.hash) return { state, newDelays: [] }
  const taken = same || migrate === null ? state : migrated(state, migrate)
  const problems = incompatibilities(machine, taken.snapshot)
  const fitted = problems.length > 0 ? null : fitTimers(machine, { ...state, ...taken })
  problems.push(...(fitted?.problems ?? []), ...lostEvents(state, taken))
  if (fitted === null || problems.length > 0) throw incompatible(identity, problems, same)
  return {
    state: {
      ...state,
      machine: identity,
      snapshot: taken.snapshot,
      // The states of another version are others.
      entered: same ? state.entered : undefined,
      timers: fitted.timers,
    },
    newDelays: fitted.newDelays,
  }
}

/** Actions in the outbox that the machine does not have any more. */
const lostActions = (machine: AnyStateMachine, outbox: MachineState['outbox']): string[] =>
  outbox.flatMap((entry) => {
    if (entry.kind !== 'action') return []
    const owner = machineAt(machine, entry.machine)
    const found = owner !== null && new MachineActions(owner).find(entry) !== undefined
    return found ? [] : [`the action ${entry.type} is missing, and the checkpoint has yet to execute it`]
  })

// ── migrate ────────────────────────────────────────────────────────────────────────────────────────────────────────

type Taken = Pick<MachineState, 'snapshot' | 'timers' | 'passed'>

/** A machine that was stopped never ends. */
const statuses = new Set<unknown>(['active', 'done', 'error'])

function migrated(state: MachineState, migrate: Migrate): Taken {
  const result = converted(state, migrate)
  const both = isObject(result) && 'snapshot' in result && 'timers' in result ? result : null
  const snapshot = both === null ? result : both['snapshot']
  if (!isObject(snapshot) || !('value' in snapshot) || !statuses.has(snapshot['status'])) {
    throw unsupportedState(
      `migrate returned ${isObject(snapshot) && 'value' in snapshot ? `the status ${describe(snapshot['status'])}` : describe(snapshot)}`,
      'Return the persisted snapshot of this version, or { snapshot, timers }.',
    )
  }
  const persisted = { ...snapshot, children: snapshot['children'] ?? {} } as unknown as PersistedMachine
  if (both === null) return storable({ ...state, snapshot: persisted })
  if (!Array.isArray(both['timers'])) throw badTimers('timers', both['timers'])
  const given = both['timers'] as readonly MachineTimer[]
  const records = given.map((timer, i) => recordOf(timer, `timers[${i}]`))
  const passed = records.flatMap(({ source, after }, i) =>
    given[i]?.passed === true && after !== undefined ? [{ source, after }] : [],
  )
  return storable({ snapshot: persisted, timers: records.filter((_, i) => given[i]?.passed !== true), passed })
}

/** The first checkpoint would fail, and the job be dead. @throws JobchartError UNSUPPORTED */
function storable(taken: Taken): Taken {
  try {
    encode({ snapshot: taken.snapshot, timers: taken.timers })
    return taken
  } catch (error) {
    throw new JobchartError('UNSUPPORTED', `migrate returned what cannot be stored: ${messageOf(error)}`, {
      cause: error,
      hint: 'Let `migrate` return plain data.',
    })
  }
}

function converted({ snapshot, machine, timers, passed = [] }: MachineState, migrate: Migrate): unknown {
  try {
    return migrate(snapshot, machine, { timers: [...timers.map(timerOf), ...passed.map(timerOfPassed)] })
  } catch (error) {
    throw new JobchartError('UNSUPPORTED', `migrate threw for version ${machine.version}: ${messageOf(error)}`, {
      cause: error,
      hint: 'Let `migrate` convert this snapshot, or run a process that has that version among its `jobs`.',
    })
  }
}

function timerOf({ source, target, id, event, at, setAt, after }: TimerRecord): MachineTimer {
  const kept = { machine: source, target, id, event, at, ...(setAt !== undefined && { setAt }) }
  return after === undefined ? kept : { ...kept, state: after.node, delay: after.delay }
}

function timerOfPassed({ source, after }: PassedDelay): MachineTimer {
  const type = afterEventType(after.delay, after.node)
  return { ...timerOf({ source, target: source, id: type, event: { type }, at: 0, after }), passed: true }
}

function recordOf(timer: MachineTimer, place: string): TimerRecord {
  if (!isObject(timer)) throw badTimers(place, timer)
  const { machine, target, id, state, delay = '', event, at, setAt } = timer
  for (const [name, value] of Object.entries({ machine, target, id, state: state ?? '', delay })) {
    if (typeof value !== 'string') throw badTimers(`${place}.${name}`, value)
  }
  if (!Number.isFinite(at)) throw badTimers(`${place}.at`, at)
  if (typeof event?.type !== 'string') throw badTimers(`${place}.event`, event)
  const kept = { source: machine, target, id, event: event as EventObject, at, ...(setAt !== undefined && { setAt }) }
  return state === undefined ? kept : { ...kept, after: { node: state, delay, index: 0 } }
}

const badTimers = (place: string, value: unknown): JobchartError =>
  unsupportedState(
    `migrate returned ${describe(value)} as ${place}`,
    'Return timers from the list that migrate gets, changed or not.',
  )

// ── timers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Fitted {
  readonly timers: TimerRecord[]
  readonly newDelays: NewDelay[]
  readonly problems: string[]
}

/** Finds the delayed transition of each timer in the current machine. */
function fitTimers(machine: AnyStateMachine, state: MachineState): Fitted {
  const { timers, passed = [] } = state
  const fitted: Fitted = { timers: [], newDelays: [], problems: [] }
  const moved = new Map<TimerRecord | PassedDelay, DelayPlace>()
  for (const each of machinesIn(machine, state)) {
    for (const node of each.active) {
      const old = [...timers, ...passed].filter(
        ({ source, after }) => source === each.address && after?.node === node.id,
      )
      const places = [...delayPlaces(each.machine).values()].filter((place) => place.node === node.id)
      const { pairs, left } = pair(old, places)
      for (const [timer, place] of pairs) moved.set(timer, place)
      for (const place of left) {
        fitted.newDelays.push({ source: each.address, place, machine: each.machine, context: each.snapshot.context })
      }
    }
  }
  for (const timer of timers) {
    const place = moved.get(timer)
    if (timer.after === undefined) fitted.timers.push(timer)
    else if (place !== undefined) fitted.timers.push(movedTo(timer, place))
    else {
      const whose = timer.source === '' ? '' : `${timer.source}: `
      fitted.problems.push(
        `${whose}the timer after ${timer.after.delay} of ${timer.after.node} has no transition any more`,
      )
    }
  }
  return fitted
}

/** Delayed events of actors, or for actors, that `migrate` has renamed or left out: they would be dropped. */
function lostEvents({ actors, snapshot, timers }: MachineState, taken: Taken): string[] {
  const [before, now] = [snapshot, taken.snapshot].map((each) => new Set(addressesIn(actors, each)))
  // An actor may have ended since the event was sent.
  const ended = new Set(timers.flatMap(({ source, target }) => [source, target]).filter((each) => !before?.has(each)))
  return taken.timers.flatMap(({ source, target, event, after }) => {
    const lost = [source, target].find((each) => !now?.has(each) && !ended.has(each))
    if (lost === undefined || after !== undefined) return []
    return [`the delayed event ${event.type} needs the actor ${lost}, which is gone`]
  })
}

/** The addresses of a machine and of all actors below it. */
function* addressesIn(actors: AddressState, snapshot: unknown, address = ''): Iterable<string> {
  yield address
  const { children = {} } = snapshot as Partial<PersistedMachine>
  for (const [id, child] of Object.entries(children)) {
    yield* addressesIn(actors, child.snapshot ?? {}, childAddress(actors, address, id))
  }
}

/** Pairs timers with delayed transitions of the same state: those of the same delay first, the others by index. */
function pair(old: readonly (TimerRecord | PassedDelay)[], places: readonly DelayPlace[]) {
  const pairs: (readonly [TimerRecord | PassedDelay, DelayPlace])[] = []
  const left = new Set(places)
  const others: (TimerRecord | PassedDelay)[] = []
  for (const timer of old) {
    const same = places.find((place) => place.delay === timer.after?.delay)
    if (same === undefined) others.push(timer)
    else {
      pairs.push([timer, same])
      left.delete(same)
    }
  }
  for (const timer of others.toSorted((a, b) => (a.after?.index ?? 0) - (b.after?.index ?? 0))) {
    const [place] = left
    if (place === undefined) break
    pairs.push([timer, place])
    left.delete(place)
  }
  return { pairs, left }
}

function movedTo(timer: TimerRecord, after: DelayPlace): TimerRecord {
  const type = afterEventType(after.delay, after.node)
  return { ...timer, id: type, event: { ...timer.event, type }, after }
}

/**
 * The timer of a delay that a deployment has added; it starts now.
 * @throws JobchartError INVALID_OPTION for an invalid delay
 */
export function timerOfNew({ source, place, machine, context }: NewDelay, now: number): TimerRecord {
  const { delays } = machine.implementations as unknown as {
    delays: Record<string, (args: object) => number>
  }
  const type = afterEventType(place.delay, place.node)
  const ms = Number(place.delay)
  const delayMs = Number.isNaN(ms) ? (delays[place.delay]?.({ context, event: { type: 'xstate.init' } }) ?? 0) : ms
  return { id: type, source, target: source, event: { type }, at: now + delayMs, setAt: now, after: place }
}

interface MachineIn {
  readonly address: string
  readonly machine: AnyStateMachine
  readonly snapshot: PersistedMachine
  readonly active: readonly AnyStateNode[]
}

/** The active machines of a state: the root, its child machines, and theirs. */
function* machinesIn(
  machine: AnyStateMachine,
  state: MachineState,
  snapshot = state.snapshot,
  address = '',
): Iterable<MachineIn> {
  if (snapshot.status !== 'active') return
  yield { address, machine, snapshot, active: activeNodes(machine.root, snapshot.value) }
  for (const [id, child] of Object.entries(snapshot.children)) {
    const logic = actorLogic(machine, child.src)
    if (!isMachine(logic)) continue
    yield* machinesIn(logic, state, child.snapshot as PersistedMachine, childAddress(state.actors, address, id))
  }
}

// ── refusals ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** The error for a state that this release, or the machine, cannot read. */
export const unreadable = (error: unknown): JobchartError =>
  error instanceof JobchartError
    ? error
    : new JobchartError('UNSUPPORTED', `the state of the machine cannot be read: ${messageOf(error)}`, {
        cause: error,
        hint: 'Check what `migrate` returns: the persisted snapshot of this version, or { snapshot, timers }.',
      })

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const unsupportedState = (message: string, hint: string): JobchartError =>
  new JobchartError('UNSUPPORTED', message, { hint })

const unknownVersion = (kept: MachineVersion, is: MachineVersion): JobchartError =>
  unsupportedState(
    `the job is at version ${kept.version} of machine ${kept.id}; this process knows version ${is.version}`,
    'Run a process that has that version among its `jobs`, or give `migrate` to defineJob.',
  )

/** The error for a job that has not started. */
export const unknownBeforeStart = (enqueued: string, is: MachineVersion): JobchartError =>
  unsupportedState(
    `the job was enqueued with version ${enqueued} of machine ${is.id}; this process knows version ${is.version}`,
    'Run a process that has that version among its `jobs`, or a later one whose `migrate` accepts it.',
  )

const incompatible = (is: MachineVersion, problems: readonly string[], sameVersion: boolean): JobchartError =>
  unsupportedState(
    `machine ${is.id} ${is.version} has changed: ${problems.join('; ')}`,
    sameVersion
      ? 'Give the changed machine a new `version`, and `migrate` to defineJob.'
      : 'Let `migrate` return a snapshot of this version, or { snapshot, timers } to move or drop timers.',
  )
