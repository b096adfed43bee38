/** Computes the state of a machine after its unread messages and due timers, without executing anything. */
import { transition, type AnyActorRef, type AnyEventObject, type AnyStateMachine, type SnapshotFrom } from 'xstate'
import { JobchartError, messageOf } from '../core/errors.ts'
import { cancelEvent, type InboxMessage, type InboxEntry } from '../core/machine-record.ts'
import { eventOf, expiryOf, isEvent, keptUntil, type EventEntry } from './deferred-events.ts'
import { endEventOf, jobOf } from './from-job.ts'
import { isNamedByState } from './machines.ts'
import type { TimerRecord } from './timers.ts'

/** A machine's snapshot, whatever its types. */
export type AnySnapshot = SnapshotFrom<AnyStateMachine>

export interface Preview {
  readonly snapshot: AnySnapshot
  /** Timers of the root machine. Its children are not simulated. */
  readonly timers: readonly TimerRecord[]
  /** The number of the last message read at the checkpoint. */
  readonly read: number
  /** Events that wait for a state that takes them, ascending by number. */
  readonly deferred: readonly EventEntry[]
  /** The name of the machine. */
  readonly machine: string
}

/** @throws JobchartError NOT_ACCEPTED if the machine throws */
export function afterInbox(preview: Preview, entry: InboxEntry): Preview {
  // Timers that were due before the message arrived fire before it.
  const due = afterTimers(preview, entry.at)
  const { message } = entry
  if (due.snapshot.status !== 'active' || message.kind === 'checkin' || message.kind === 'resume') return due
  const event = eventFor(due.snapshot, message)
  if (event === null || (message.kind === 'cancel' && !isNamedByState(due.snapshot, event))) return due
  if (!isEvent(entry) || accepts(due.snapshot, event)) return afterOffers(after(due, event))
  return keptUntil(entry, due.machine) === null ? due : { ...due, deferred: [...due.deferred, entry] }
}

/**
 * After the timers due at `by`, the earliest first, and without the deferred events that have expired.
 * @throws as
 * `afterInbox`
 */
export function afterTimers(preview: Preview, by: number): Preview {
  let current = preview
  for (const timer of preview.timers.toSorted((a, b) => a.at - b.at)) {
    if (timer.at > by || current.snapshot.status !== 'active') break
    if (!current.timers.includes(timer)) continue
    const set = { ...current, timers: current.timers.filter((each) => each !== timer) }
    current = afterOffers(after(unexpired(set, timer.at), timer.event))
  }
  return unexpired(current, by)
}

/**
 * After the deferred events that the machine takes, in order: each may lead to a state that takes others.
 * @throws as
 * `afterInbox`
 */
export function afterOffers(preview: Preview): Preview {
  let current = preview
  for (;;) {
    const { snapshot, deferred } = current
    if (snapshot.status !== 'active') return current
    const taken = deferred.find((entry) => wrappingThrows(snapshot, eventOf(entry), () => snapshot.can(eventOf(entry))))
    if (taken === undefined) return current
    current = after({ ...current, deferred: deferred.filter((entry) => entry !== taken) }, eventOf(taken))
  }
}

function unexpired(preview: Preview, by: number): Preview {
  const { deferred, machine } = preview
  if (deferred.length === 0) return preview
  return { ...preview, deferred: deferred.filter((entry) => expiryOf(entry, machine) > by) }
}

/** Would the event change the snapshot, be it through an `always` transition? @throws as `afterInbox` */
export function accepts(snapshot: AnySnapshot, event: AnyEventObject): boolean {
  if (snapshot.status !== 'active') return false
  return wrappingThrows(snapshot, event, () => snapshot.can(event) || stepOf(snapshot, event).next !== snapshot)
}

function after(preview: Preview, event: AnyEventObject): Preview {
  const { snapshot, timers } = preview
  const { next, cancelled } = wrappingThrows(snapshot, event, () => stepOf(snapshot, event))
  return { ...preview, snapshot: next, timers: timers.filter(({ source, id }) => source !== '' || !cancelled.has(id)) }
}

/** XState's types do not cover all planned actions. */
interface PlannedAction {
  readonly type: string
  readonly params: unknown
}

function stepOf(snapshot: AnySnapshot, event: AnyEventObject) {
  const [next, actions] = transition(snapshot.machine as AnyStateMachine, snapshot, event)
  const cancelled = new Set<string>()
  for (const { type, params } of actions as readonly PlannedAction[]) {
    if (type === 'xstate.cancel') cancelled.add((params as { readonly sendId: string }).sendId)
  }
  return { next, cancelled }
}

function wrappingThrows<T>({ machine }: AnySnapshot, event: AnyEventObject, evaluate: () => T): T {
  try {
    return evaluate()
  } catch (error) {
    throw machineThrew((machine as AnyStateMachine).id, `at ${event.type}`, error)
  }
}

/** The error for a guard or assign that throws during a preview. */
export function machineThrew(machine: string, where: string, error: unknown): JobchartError {
  const message = messageOf(error)
  return new JobchartError('NOT_ACCEPTED', `machine ${machine} fails ${where}: ${message}`, {
    cause: error,
    hint: 'A guard, an assign or the context of the machine threw (`cause`): the job would fail in the same way.',
  })
}

function eventFor(
  snapshot: AnySnapshot,
  message: Exclude<InboxMessage, { readonly kind: 'checkin' | 'resume' }>,
): AnyEventObject | null {
  if (message.kind === 'event') return message.event as { readonly type: string }
  if (message.kind === 'cancel') return { type: cancelEvent, reason: message.reason }
  const actors = Object.entries(snapshot.children as Readonly<Record<string, AnyActorRef | undefined>>)
  const id = actors.find(([, actor]) => actor !== undefined && jobOf(actor)?.id === message.child)?.[0]
  if (id === undefined) return null
  const { type, ...end } = endEventOf(message)
  return { ...end, type: `xstate.${type === 'jobchart.done' ? 'done' : 'error'}.actor.${id}`, actorId: id }
}
