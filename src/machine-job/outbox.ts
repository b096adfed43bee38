/**
 * The outbox: what was decided with a checkpoint and may not have happened yet, as data and back. Actions are called with
 * contexts and events that may name actors: those are kept by their path.
 */
import { Actor, type AnyActorRef, type AnyStateMachine, type EventObject } from 'xstate'
import { payloadLimits } from '../limits.ts'
import { actionOf, type Held, type HeldAction } from './plan.ts'
import type { PlannedLogic } from './planned.ts'
import type { OutboxEntry } from './state.ts'
import { pathOf } from './timers.ts'

const actorKey = 'jobchart$actor'

/** What of a hosted machine is needed to find an action again. */
export interface Surroundings {
  readonly logic: PlannedLogic
  readonly actorAt: (path: string) => AnyActorRef | null
}

/** What is held back and must survive a crash. */
export function outboxOf(held: readonly Held[], { actorAt }: Surroundings): OutboxEntry[] {
  return held.flatMap((each): OutboxEntry[] => {
    if (each.kind === 'other') return []
    if (each.kind === 'send') {
      return [{ ...each, actor: pathOf(each.actor), event: keepable(each.event) as EventObject }]
    }
    return [each.kind === 'action' ? entryOf(each, actorAt) : each]
  })
}

function entryOf({ actor, type, params, context, event }: HeldAction, actorAt: Surroundings['actorAt']): OutboxEntry {
  const path = pathOf(actor)
  const kept = { type, params: keepable(params), event: keepable(event) as EventObject }
  // Mostly it is the context that the checkpoint has anyhow.
  const same = actorAt(path) === actor && contextOf(actor) === context
  return {
    kind: 'action',
    actor: path,
    machine: sourcesOf(actor),
    ...kept,
    ...(!same && { context: keepable(context) }),
  }
}

/** By which name each actor on the way to this one was made. Those without one are refused at the checkpoint. */
function sourcesOf(actor: AnyActorRef): string[] {
  const sources: string[] = []
  // oxlint-disable-next-line no-underscore-dangle -- typed and documented by XState, which has no other word for it
  for (let each = actor; each._parent !== undefined; each = each._parent) sources.unshift(each.src as string)
  return sources
}

/** What an outbox holds, to be executed. An action whose name is gone has nobody left to do it. */
export function heldOf(outbox: readonly OutboxEntry[], { logic, actorAt }: Surroundings): Held[] {
  const revived = (value: unknown): unknown => withActors(value, actorAt)
  return outbox.flatMap((entry): Held[] => {
    if (entry.kind === 'emit' || entry.kind === 'leave') return [entry]
    const event = revived(entry.event) as EventObject
    const actor = actorAt(entry.actor)
    if (entry.kind === 'send') return actor === null ? [] : [{ kind: 'send', actor, event }]
    const machine = entry.machine.reduce<AnyStateMachine | null>(machineOf, logic.machine)
    const act = machine === null ? undefined : actionOf(machine, entry.type)
    if (act === undefined) return []
    const at = actor ?? livingAbove(entry.actor, actorAt)
    const context = entry.context === undefined ? contextOf(at) : revived(entry.context)
    return [{ kind: 'action', actor: at, act, type: entry.type, params: revived(entry.params), event, context }]
  })
}

function machineOf(machine: AnyStateMachine | null, source: string): AnyStateMachine | null {
  const logic = machine?.implementations.actors[source as never] as Partial<PlannedLogic> | undefined
  return logic?.machine ?? null
}

/** The actor itself is gone: it had ended by what this very action belongs to. */
function livingAbove(path: string, actorAt: Surroundings['actorAt']): AnyActorRef {
  const above = path.slice(0, Math.max(0, path.lastIndexOf('/')))
  return actorAt(above) ?? livingAbove(above, actorAt)
}

const contextOf = (actor: AnyActorRef): unknown => (actor.getSnapshot() as { readonly context?: unknown }).context

const keepable = (value: unknown): unknown => withoutActors(value, 0)

function withoutActors(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > payloadLimits.depthMax) return value
  if (value instanceof Actor) return { [actorKey]: pathOf(value) }
  if (Array.isArray(value)) return value.map((member) => withoutActors(member, depth + 1))
  // A machine's snapshot, as `onSnapshot` tells it, is its state and much that is not.
  if ('machine' in value && 'historyValue' in value) return withoutActors(seen(value), depth)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutActors(member, depth + 1)]))
}

function seen(snapshot: object): object {
  const { status, value, context, output, error } = snapshot as Readonly<Record<string, unknown>>
  return { status, value, context, output, error }
}

function withActors(value: unknown, actorAt: (path: string) => AnyActorRef | null): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error) return value
  if (Array.isArray(value)) return value.map((member) => withActors(member, actorAt))
  const path: unknown = (value as Readonly<Record<string, unknown>>)[actorKey]
  if (typeof path === 'string') return actorAt(path) ?? undefined
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withActors(member, actorAt)]))
}
