/**
 * Takes a checkpoint over to a machine that has changed since: by `migrate` if it was made by another version, and with its
 * timers. A timer belongs to a delayed transition (`after`), which is known by its state and its place there, not by the
 * delay, because a deployment may change the delay.
 */
import type { AnyStateMachine, AnyStateNode, EventObject } from 'xstate'
import { describe, JobchartError } from '../core/errors.ts'
import { machineAt, MachineActions } from './actions.ts'
import { childAddress } from './addresses.ts'
import { activeNodes, isMachine, nodesOf } from './machines.ts'
import type { MachineState } from './state.ts'
import { delayPlaces, type DelayPlace, type PassedDelay, type TimerRecord } from './timers.ts'
import { actorLogic, misfits, type MachineVersion, type PersistedMachine } from './versions.ts'

/** A timer that a job waits for. */
export interface MachineTimer {
  /** The machine that has set it: '' for the job's own, `kid/1` for the first start of its child `kid`. */
  readonly machine: string
  /** The actor that gets the event, likewise. */
  readonly target: string
  /** What `cancel(id)` calls it. Of a delayed transition it follows from `state` and `delay`. */
  readonly id: string
  /** Of a delayed transition: the id of its state (`order.review`). Absent of a delayed `raise` or `sendTo`. */
  readonly state?: string
  /** Of a delayed transition: its delay as it stands in `after`. */
  readonly delay?: string
  /** What comes when it is due. Of a delayed transition it follows from `state` and `delay`. */
  readonly event: { readonly type: string }
  /** When it is due, ms since the epoch. */
  readonly at: number
  /** When it was set, ms since the epoch, if that is known. */
  readonly setAt?: number
}

/** What `migrate` gets beside the snapshot. */
export interface MigrateDetails {
  /** The timers that the job waits for. */
  readonly timers: readonly MachineTimer[]
}

/** A snapshot and the timers that go with it; those that are left out are dropped. */
export interface Migrated {
  readonly snapshot: unknown
  readonly timers: readonly MachineTimer[]
}

/**
 * Turns a snapshot of another version into one of this.
 * @param from which version it was
 * @returns the snapshot, and its timers stay; or `{ snapshot, timers }`
 */
export type Migrate = (snapshot: unknown, from: MachineVersion, details: MigrateDetails) => unknown

/** A delayed transition of an active state for which no timer is set, and which has not passed: a deployment has added it. */
export interface NewDelay {
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
  readonly is: MachineVersion
  /** Its hash, and that of an earlier release. */
  readonly hashes: readonly string[]
  readonly machine: AnyStateMachine
  readonly migrate: Migrate | null
}

/** @throws JobchartError UNSUPPORTED if the machine cannot go on from the state; whatever `migrate` throws */
export function adopt(state: MachineState, { is, hashes, machine, migrate }: Version): Adopted {
  const same = state.machine.id === is.id && state.machine.version === is.version
  if (!same && migrate === null) throw unknownVersion(state.machine, is)
  const lost = lostActions(machine, state.outbox)
  if (lost.length > 0) throw misfit(is, lost, same)
  if (same && hashes.includes(state.machine.hash)) return { state, newDelays: [] }
  const timers = state.timers.map((timer) => withPlace(timer, machine))
  const taken =
    same || migrate === null ? { snapshot: state.snapshot, timers } : migrated({ ...state, timers }, migrate)
  const problems = misfits(machine, taken.snapshot)
  const fitted = problems.length > 0 ? null : fit(machine, { ...state, ...taken })
  problems.push(...(fitted?.problems ?? []))
  if (fitted === null || problems.length > 0) throw misfit(is, problems, same)
  return {
    state: { ...state, machine: is, snapshot: taken.snapshot, timers: fitted.timers },
    newDelays: fitted.newDelays,
  }
}

/** Actions that were decided and may not have been executed, and that the machine does not have any more. */
const lostActions = (machine: AnyStateMachine, outbox: MachineState['outbox']): string[] =>
  outbox.flatMap((entry) => {
    if (entry.kind !== 'action') return []
    const owner = machineAt(machine, entry.machine)
    const found = owner !== null && new MachineActions(owner).find(entry) !== undefined
    return found ? [] : [`the action ${entry.type}, which is still to be executed, is gone`]
  })

// ── migrate ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function migrated(state: MachineState, migrate: Migrate): Pick<MachineState, 'snapshot' | 'timers'> {
  const result = migrate(state.snapshot, state.machine, { timers: state.timers.map(timerOf) })
  const both = isObject(result) && 'snapshot' in result && 'timers' in result ? result : null
  const snapshot = both === null ? result : both['snapshot']
  if (!isObject(snapshot) || !('value' in snapshot) || typeof snapshot['status'] !== 'string') {
    throw unfit(
      `migrate gave ${describe(snapshot)}`,
      'Return the persisted snapshot of this version, or { snapshot, timers }.',
    )
  }
  const persisted = { ...snapshot, children: snapshot['children'] ?? {} } as unknown as PersistedMachine
  if (both === null) return { snapshot: persisted, timers: state.timers }
  if (!Array.isArray(both['timers'])) throw badTimers('timers', both['timers'])
  const timers = (both['timers'] as readonly MachineTimer[]).map((timer, i) => recordOf(timer, `timers[${i}]`))
  return { snapshot: persisted, timers }
}

function timerOf({ source, target, id, event, at, setAt, after }: TimerRecord): MachineTimer {
  const kept = { machine: source, target, id, event, at, ...(setAt !== undefined && { setAt }) }
  return after === undefined ? kept : { ...kept, state: after.node, delay: after.delay }
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
  unfit(`migrate gave ${describe(value)} as ${place}`, 'Change the timers that migrate is given, or leave some out.')

// ── timers ──────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Fitted {
  readonly timers: TimerRecord[]
  readonly newDelays: NewDelay[]
  readonly problems: string[]
}

/** Finds for each timer of a delayed transition where that stands now. */
function fit(machine: AnyStateMachine, state: MachineState): Fitted {
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
    else if (place !== undefined) fitted.timers.push(at(timer, place))
    else {
      const whose = timer.source === '' ? '' : `${timer.source}: `
      fitted.problems.push(
        `${whose}the timer after ${timer.after.delay} of ${timer.after.node} has no transition any more`,
      )
    }
  }
  return fitted
}

/** The same delay first; of the others, in the order in which they stand. */
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

function at(timer: TimerRecord, after: DelayPlace): TimerRecord {
  const type = afterEvent(after)
  return { ...timer, id: type, event: { ...timer.event, type }, after }
}

/** The type of the event of a delayed transition, as XState makes it. */
export const afterEvent = ({ node, delay }: DelayPlace): string =>
  `xstate.after.${Number.isNaN(Number(delay)) ? delay : Number(delay)}.${node}`

/** The timer of a delay that a deployment has added: it counts from now. @throws JobchartError INVALID_OPTION for a delay that is no time */
export function timerOfNew({ source, place, machine, context }: NewDelay, now: number): TimerRecord {
  const { delays } = machine.implementations as unknown as {
    delays: Record<string, (args: object) => number>
  }
  const type = afterEvent(place)
  const ms = Number(place.delay)
  const delayMs = Number.isNaN(ms) ? (delays[place.delay]?.({ context, event: { type: 'xstate.init' } }) ?? 0) : ms
  return { id: type, source, target: source, event: { type }, at: now + delayMs, setAt: now, after: place }
}

/** Timers of an earlier release do not say which transition they are of. */
function withPlace(timer: TimerRecord, machine: AnyStateMachine): TimerRecord {
  const { type } = timer.event
  if (timer.after !== undefined || !type.startsWith('xstate.after.') || timer.id !== type) return timer
  const rest = type.slice('xstate.after.'.length)
  const ids = nodesOf(machine).map(({ id }) => id)
  const node = ids.filter((id) => rest.endsWith(`.${id}`)).toSorted((a, b) => b.length - a.length)[0]
  const cut = node === undefined ? rest.indexOf('.') : rest.length - node.length - 1
  return { ...timer, after: { node: rest.slice(cut + 1), delay: rest.slice(0, cut), index: 0 } }
}

interface MachineIn {
  readonly address: string
  readonly machine: AnyStateMachine
  readonly snapshot: PersistedMachine
  readonly active: readonly AnyStateNode[]
}

/** The machine of a state and those that it has started, as far as they are active. */
function* machinesIn(
  machine: AnyStateMachine,
  state: MachineState,
  snapshot = state.snapshot,
  address = '',
): Iterable<MachineIn> {
  if (snapshot.status !== 'active') return
  yield { address, machine, snapshot, active: [...activeNodes(machine.root, snapshot.value)] }
  for (const [id, child] of Object.entries(snapshot.children)) {
    const logic = actorLogic(machine, child.src)
    if (!isMachine(logic)) continue
    yield* machinesIn(logic, state, child.snapshot as PersistedMachine, childAddress(state.actors, address, id))
  }
}

// ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────────────

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const unfit = (message: string, hint: string): JobchartError => new JobchartError('UNSUPPORTED', message, { hint })

const unknownVersion = (kept: MachineVersion, is: MachineVersion): JobchartError =>
  unfit(
    `the job stands at version ${kept.version} of machine ${kept.id}; this process knows ${is.version}`,
    'Run a process that has that version among its `jobs`, or give `migrate` to defineJob.',
  )

/** Of a job that has not begun. */
export const unknownBeforeStart = (enqueued: string, is: MachineVersion): JobchartError =>
  unfit(
    `the job was enqueued with version ${enqueued} of machine ${is.id}; this process knows ${is.version}`,
    'Run a process that has that version among its `jobs`, or a later one whose `migrate` takes it.',
  )

const misfit = (is: MachineVersion, problems: readonly string[], sameVersion: boolean): JobchartError =>
  unfit(
    `machine ${is.id} ${is.version} has changed: ${problems.join('; ')}`,
    sameVersion
      ? 'Give the new machine a `version` of its own, and `migrate` to defineJob.'
      : 'Let `migrate` return a snapshot of this version, or { snapshot, timers } to move or drop timers.',
  )
