/**
 * The outbox: what was decided with a checkpoint and may not have happened yet, as data and back. Actions are called with
 * contexts and events that may hold actors: the codec keeps those by their addresses.
 */
import type { AnyActorRef, EventObject } from 'xstate'
import type { MachineActions } from './actions.ts'
import type { ActorAddresses } from './addresses.ts'
import { withActors } from './codec.ts'
import { keepable } from './kept-args.ts'
import type { PendingEffect, PendingAction } from './plan.ts'
import { isPlannedLogic, type PlannedLogic } from './actor-kinds.ts'
import type { OutboxEntry } from './state.ts'
import { parentOf } from './xstate-internals.ts'

/** What of a hosted machine is needed to find an action again. */
export interface ActionLookup {
  readonly logic: PlannedLogic
  readonly addresses: ActorAddresses
}

/** What is held back and must survive a crash. */
export function outboxOf(held: readonly PendingEffect[], addresses: ActorAddresses): OutboxEntry[] {
  return held.flatMap((each): OutboxEntry[] => {
    if (each.kind === 'start' || each.kind === 'stop' || each.kind === 'attempt' || each.kind === 'log') return []
    if (each.kind === 'send') {
      return [{ ...each, actor: addresses.of(each.actor), event: keepable(each.event) as EventObject }]
    }
    return [each.kind === 'action' ? entryOf(each, addresses) : each]
  })
}

function entryOf({ actor, name, params, context, event }: PendingAction, addresses: ActorAddresses): OutboxEntry {
  const address = addresses.of(actor)
  const kept = { ...name, params: keepable(params), event: keepable(event) as EventObject }
  // Mostly it is the context that the checkpoint has anyhow.
  const same = addresses.actorAt(address) === actor && contextOf(actor) === context
  return {
    kind: 'action',
    actor: address,
    machine: sourcesOf(actor),
    ...kept,
    ...(!same && { context: keepable(context) }),
  }
}

/** By which name each actor on the way to this one was made. Those without one are refused at the checkpoint. */
function sourcesOf(actor: AnyActorRef): string[] {
  const sources: string[] = []
  for (let each = actor, above = parentOf(each); above !== undefined; each = above, above = parentOf(each)) {
    sources.unshift(each.src as string)
  }
  return sources
}

/** What an outbox holds, to be executed. */
export function pendingOf(outbox: readonly OutboxEntry[], { logic, addresses }: ActionLookup): PendingEffect[] {
  const revived = (value: unknown): unknown => withActors(value, (address) => addresses.referenceAt(address))
  return outbox.flatMap((entry): PendingEffect[] => {
    if (entry.kind === 'leave') return [entry]
    const event = revived(entry.event) as EventObject
    if (entry.kind === 'emit') return [{ kind: 'emit', event }]
    if (entry.kind === 'send') {
      const actor = addresses.actorAt(entry.actor)
      return actor === null ? [] : [{ kind: 'send', actor, event }]
    }
    const { type, list } = entry
    const name = { type, ...(list !== undefined && { list }) }
    const act = actionsOf(logic, entry.machine)?.find(name)
    // `adopt` has refused a state whose actions are gone.
    if (act === undefined) throw new TypeError(`there is no action ${type}`)
    const actor = addresses.referenceAt(entry.actor)
    const context = entry.context === undefined ? contextOf(actor) : revived(entry.context)
    return [{ kind: 'action', actor, act, name, params: revived(entry.params), event, context }]
  })
}

/** The actions of the child machine that was made by these names, one in the other. */
function actionsOf(root: PlannedLogic, sources: readonly string[]): MachineActions | null {
  let at: PlannedLogic | null = root
  for (const source of sources) {
    const logic: unknown = at?.machine.implementations.actors[source as never]
    at = isPlannedLogic(logic) ? logic : null
  }
  return at?.actions ?? null
}

const contextOf = (actor: AnyActorRef): unknown => (actor.getSnapshot() as { readonly context?: unknown }).context
