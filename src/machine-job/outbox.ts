/**
 * The outbox: what was decided with a checkpoint and may not have happened yet, as data and back. Actions are called with
 * contexts and events that may name actors: those are kept by their path.
 */
import { Actor, type AnyActorRef, type EventObject } from 'xstate'
import { payloadLimits } from '../limits.ts'
import type { Held, HeldAction } from './plan.ts'
import type { OutboxEntry } from './state.ts'
import { pathOf } from './timers.ts'

const actorKey = 'jobchart$actor'

/** What is held back and must survive a crash. */
export function outboxOf(held: readonly Held[]): OutboxEntry[] {
  return held.flatMap((each): OutboxEntry[] => {
    if (each.kind === 'other') return []
    if (each.kind === 'send')
      return [{ ...each, actor: pathOf(each.actor), event: keepable(each.event) as EventObject }]
    return [each.kind === 'action' ? entryOf(each) : each]
  })
}

function entryOf({ actor, type, params, context, event }: HeldAction): OutboxEntry {
  const kept = { type, params: keepable(params), event: keepable(event) as EventObject }
  // Mostly it is the context that the checkpoint has anyhow.
  const same = contextOf(actor) === context
  return { kind: 'action', actor: pathOf(actor), ...kept, ...(!same && { context: keepable(context) }) }
}

/** What an outbox holds, to be executed. An action whose actor is gone has nobody left to do it. */
export function heldOf(outbox: readonly OutboxEntry[], actorAt: (path: string) => AnyActorRef | null): Held[] {
  return outbox.flatMap((entry): Held[] => {
    if (entry.kind === 'emit' || entry.kind === 'leave') return [entry]
    const actor = actorAt(entry.actor)
    if (actor === null) return []
    const revived = (value: unknown): unknown => withActors(value, actorAt)
    if (entry.kind === 'send') return [{ ...entry, actor, event: revived(entry.event) as EventObject }]
    const context = entry.context === undefined ? contextOf(actor) : revived(entry.context)
    return [{ ...entry, actor, params: revived(entry.params), event: revived(entry.event) as EventObject, context }]
  })
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
