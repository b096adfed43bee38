/** Where a machine will stand when it has read what waits for it and its due timers have fired; nothing is executed. */
import { transition, type AnyActorRef, type AnyEventObject, type AnyStateMachine, type SnapshotFrom } from 'xstate'
import { JobchartError } from '../core/errors.ts'
import type { InboxMessage, InboxEntry } from '../core/machine-record.ts'
import { jobOf } from './from-job.ts'
import { cancelEvent } from './machine-run.ts'
import { isNamed } from './machines.ts'
import type { TimerRecord } from './timers.ts'

/** A machine's snapshot, whatever its types. */
export type AnySnapshot = SnapshotFrom<AnyStateMachine>

export interface Outlook {
  readonly snapshot: AnySnapshot
  /** Of the machine itself: what its children would do is not foreseen. */
  readonly timers: readonly TimerRecord[]
}

/** @throws JobchartError NOT_ACCEPTED if the machine throws */
export function afterInbox(outlook: Outlook, { at, message }: InboxEntry): Outlook {
  // What was due before the message came happens before it.
  const due = afterTimers(outlook, at)
  if (due.snapshot.status !== 'active' || message.kind === 'checkin' || message.kind === 'resume') return due
  const event = eventOf(due.snapshot, message)
  if (event === null || (message.kind === 'cancel' && !isNamed(due.snapshot, event))) return due
  return after(due, event)
}

/** With the timers fired that are due by then, the earliest first. @throws as `afterMail` */
export function afterTimers(outlook: Outlook, by: number): Outlook {
  let now = outlook
  for (const timer of outlook.timers.toSorted((a, b) => a.at - b.at)) {
    if (timer.at > by || now.snapshot.status !== 'active') break
    if (!now.timers.includes(timer)) continue
    now = after({ ...now, timers: now.timers.filter((each) => each !== timer) }, timer.event)
  }
  return now
}

/** Would the machine do anything on this event? Also one that only an `always` looks at. @throws as `afterMail` */
export function accepts(snapshot: AnySnapshot, event: AnyEventObject): boolean {
  if (snapshot.status !== 'active') return false
  return guarded(snapshot, event, () => snapshot.can(event) || stepOf(snapshot, event).next !== snapshot)
}

function after({ snapshot, timers }: Outlook, event: AnyEventObject): Outlook {
  const { next, cancelled } = guarded(snapshot, event, () => stepOf(snapshot, event))
  return { snapshot: next, timers: timers.filter(({ source, id }) => source !== '' || !cancelled.has(id)) }
}

/** XState types only some of the actions that it plans. */
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

function guarded<T>({ machine }: AnySnapshot, event: AnyEventObject, look: () => T): T {
  try {
    return look()
  } catch (error) {
    throw failed((machine as AnyStateMachine).id, `at ${event.type}`, error)
  }
}

/** What a machine throws that is only looked at. */
export function failed(machine: string, where: string, error: unknown): JobchartError {
  const message = error instanceof Error ? error.message : String(error)
  return new JobchartError('NOT_ACCEPTED', `machine ${machine} fails ${where}: ${message}`, {
    cause: error,
    hint: 'A guard, an assign or the context of the machine threw (`cause`): it would fail the job in the same way.',
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
