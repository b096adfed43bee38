/**
 * Converts pending effects to the outbox of a checkpoint and back. Contexts and events of actions may hold actors: the
 * codec stores those by their addresses.
 */
import type { AnyActorRef, EventObject } from 'xstate'
import type { MachineActions } from './actions.ts'
import type { ActorAddresses } from './addresses.ts'
import { withActors } from './codec.ts'
import { storable } from './action-args.ts'
import type { PendingEffect, PendingAction } from './plan.ts'
import { isPlannedLogic, type PlannedLogic } from './actor-kinds.ts'
import type { OutboxEntry } from './state.ts'
import { parentOf } from './xstate-internals.ts'

/** What is needed to find an action of the outbox. */
interface ActionLookup {
  readonly logic: PlannedLogic
  readonly addresses: ActorAddresses
}

/** The effects that must survive a crash. The others follow from the snapshot: a restored machine plans them again. */
export function outboxOf(pending: readonly PendingEffect[], addresses: ActorAddresses): OutboxEntry[] {
  const outbox: OutboxEntry[] = []
  for (const each of pending) {
    if (each.kind === 'start' || each.kind === 'stop' || each.kind === 'attempt' || each.kind === 'log') continue
    if (each.kind === 'send') {
      outbox.push({ ...each, actor: addresses.of(each.actor), event: storable(each.event) as EventObject })
    } else outbox.push(each.kind === 'action' ? entryOf(each, addresses) : each)
  }
  return outbox
}

function entryOf({ actor, name, params, context, event }: PendingAction, addresses: ActorAddresses): OutboxEntry {
  const address = addresses.of(actor)
  const kept = { ...name, params: storable(params), event: storable(event) as EventObject }
  // The context is stored only if it differs from the one in the actor's snapshot.
  const same = addresses.actorAt(address) === actor && contextOf(actor) === context
  return {
    kind: 'action',
    actor: address,
    machine: sourcesOf(actor),
    ...kept,
    ...(!same && { context: storable(context) }),
  }
}

/**
 * The names of the logic of each actor on the path to this one. Actors of unnamed logic were refused when they were
 * spawned.
 */
function sourcesOf(actor: AnyActorRef): string[] {
  const sources: string[] = []
  for (let each = actor, above = parentOf(each); above !== undefined; each = above, above = parentOf(each)) {
    sources.unshift(each.src as string)
  }
  return sources
}

/** The pending effects of an outbox. An event for an actor that is gone is dropped. */
export function pendingOf(outbox: readonly OutboxEntry[], { logic, addresses }: ActionLookup): PendingEffect[] {
  const revived = (value: unknown): unknown => withActors(value, (address) => addresses.referenceAt(address))
  return outbox.flatMap((entry): PendingEffect[] => {
    if (entry.kind === 'cancelChild') return [entry]
    const event = revived(entry.event) as EventObject
    if (entry.kind === 'emit') return [{ kind: 'emit', event }]
    if (entry.kind === 'send') {
      const actor = addresses.actorAt(entry.actor)
      return actor === null ? [] : [{ kind: 'send', actor, event }]
    }
    const { type, list } = entry
    const name = { type, ...(list !== undefined && { list }) }
    const act = actionsOf(logic, entry.machine)?.find(name)
    // `adopt` has refused a state whose actions are missing.
    if (act === undefined) throw new TypeError(`there is no action ${type}`)
    const actor = addresses.referenceAt(entry.actor)
    const context = entry.context === undefined ? contextOf(actor) : revived(entry.context)
    return [{ kind: 'action', actor, act, name, params: revived(entry.params), event, context }]
  })
}

/** The actions of the child machine at a path of actor names; null if there is none. */
function actionsOf(root: PlannedLogic, sources: readonly string[]): MachineActions | null {
  let at: PlannedLogic | null = root
  for (const source of sources) {
    const logic: unknown = at?.machine.implementations.actors[source as never]
    at = isPlannedLogic(logic) ? logic : null
  }
  return at?.actions ?? null
}

const contextOf = (actor: AnyActorRef): unknown => (actor.getSnapshot() as { readonly context?: unknown }).context
