/**
 * Contexts of restored actors. XState would take whatever looks like its own mark for an actor, and finds an actor's own
 * children only: contexts are kept from it, and set when all actors are there.
 */
import type { AnyActorRef } from 'xstate'
import { childrenOf } from './addresses.ts'
import { withActors } from './codec.ts'
import { isMachineState, type PersistedMachine } from './versions.ts'

/** The snapshot for XState to restore. */
export function withoutContexts(persisted: PersistedMachine): PersistedMachine {
  const children = Object.entries(persisted.children).map(([id, child]) => {
    const { snapshot } = child
    return [id, isMachineState(snapshot) ? { ...child, snapshot: withoutContexts(snapshot) } : child] as const
  })
  return { ...persisted, context: {}, children: Object.fromEntries(children) }
}

/** Gives each restored actor its context, with actors for their references. */
export function restoreContexts(
  actor: AnyActorRef,
  persisted: unknown,
  actorAt: (address: string) => AnyActorRef,
): void {
  const snapshot: unknown = actor.getSnapshot()
  if (typeof snapshot !== 'object' || snapshot === null || typeof persisted !== 'object' || persisted === null) return
  for (const key of ['context', 'input', 'output', 'error']) {
    if (key in persisted) {
      Object.assign(snapshot, { [key]: withActors((persisted as Readonly<Record<string, unknown>>)[key], actorAt) })
    }
  }
  if (!isMachineState(persisted)) return
  const children = childrenOf(actor)
  for (const [id, child] of Object.entries(persisted.children)) {
    const restored = children[id]
    if (restored !== undefined) restoreContexts(restored, child.snapshot, actorAt)
  }
}
