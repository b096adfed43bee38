/** Computes the state of a machine after its unread messages and due timers, without executing anything. */
import { transition, type AnyActorRef, type AnyEventObject, type AnyStateMachine, type SnapshotFrom } from 'xstate'
import { JobchartError } from '../core/errors.ts'
import type { InboxMessage, InboxEntry } from '../core/machine-record.ts'
import { jobOf } from './from-job.ts'
import { cancelEvent } from './machine-run.ts'
import { isNamedByState } from './machines.ts'
import type { TimerRecord } from './timers.ts'

/** A machine's snapshot, whatever its types. */
export type AnySnapshot = SnapshotFrom<AnyStateMachine>

export interface Preview {
  readonly snapshot: AnySnapshot
  /** Timers of the root machine. Its children are not simulated. */
  readonly timers: readonly TimerRecord[]
}

/** @throws JobchartError NOT_ACCEPTED if the machine throws */
export function afterInbox(preview: Preview, { at, message }: InboxEntry): Preview {
  // Timers that were due before the message arrived fire before it.
  const due = afterTimers(preview, at)
  if (due.snapshot.status !== 'active' || message.kind === 'checkin' || message.kind === 'resume') return due
  const event = eventOf(due.snapshot, message)
  if (event === null || (message.kind === 'cancel' && !isNamedByState(due.snapshot, event))) return due
  return after(due, event)
}

/** After the timers due at `by`, the earliest first. @throws as `afterInbox` */
export function afterTimers(preview: Preview, by: number): Preview {
  let current = preview
  for (const timer of preview.timers.toSorted((a, b) => a.at - b.at)) {
    if (timer.at > by || current.snapshot.status !== 'active') break
    if (!current.timers.includes(timer)) continue
    current = after({ ...current, timers: current.timers.filter((each) => each !== timer) }, timer.event)
  }
  return current
}

/** Would the event change the snapshot, be it through an `always` transition? @throws as `afterInbox` */
export function accepts(snapshot: AnySnapshot, event: AnyEventObject): boolean {
  if (snapshot.status !== 'active') return false
  return wrappingThrows(snapshot, event, () => snapshot.can(event) || stepOf(snapshot, event).next !== snapshot)
}

function after({ snapshot, timers }: Preview, event: AnyEventObject): Preview {
  const { next, cancelled } = wrappingThrows(snapshot, event, () => stepOf(snapshot, event))
  return { snapshot: next, timers: timers.filter(({ source, id }) => source !== '' || !cancelled.has(id)) }
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
  const message = error instanceof Error ? error.message : String(error)
  return new JobchartError('NOT_ACCEPTED', `machine ${machine} fails ${where}: ${message}`, {
    cause: error,
    hint: 'A guard, an assign or the context of the machine threw (`cause`): the job would fail in the same way.',
  })
}

function eventOf(
  snapshot: AnySnapshot,
  message: Exclude<InboxMessage, { readonly kind: 'checkin' | 'resume' }>,
): AnyEventObject | null {
  if (message.kind === 'event') return message.event as { readonly type: string }
  if (message.kind === 'cancel') return { type: cancelEvent, reason: message.reason }
  const actors = Object.entries(snapshot.children as Readonly<Record<string, AnyActorRef | undefined>>)
  const id = actors.find(([, actor]) => actor !== undefined && jobOf(actor)?.id === message.child)?.[0]
  if (id === undefined) return null
  const { state, output, error } = message
  const end =
    state === 'done' ? { type: `xstate.done.actor.${id}`, output } : { type: `xstate.error.actor.${id}`, error }
  return { ...end, actorId: id } satisfies AnyEventObject
}
