/**
 * Restores contexts that hold actors. XState's own restore treats any data of the form of its marks as an actor, and
 * finds only children of the same machine. So XState restores the snapshot without contexts, and they are set
 * afterwards.
 */
import type { AnyActorRef } from 'xstate'
import { childrenOf } from './addresses.ts'
import { withActors } from './codec.ts'
import { isMachineState, type PersistedMachine } from './versions.ts'
import { patchSnapshot } from './xstate-internals.ts'

/** The snapshot that XState restores. */
export function withoutContexts(persisted: PersistedMachine): PersistedMachine {
  const children = Object.entries(persisted.children).map(([id, child]) => {
    const { snapshot } = child
    return [id, isMachineState(snapshot) ? { ...child, snapshot: withoutContexts(snapshot) } : child] as const
  })
  return { ...persisted, context: {}, children: Object.fromEntries(children) }
}

/** Sets the context of each restored actor, with references replaced by actors. */
export function restoreContexts(
  actor: AnyActorRef,
  persisted: unknown,
  actorAt: (address: string) => AnyActorRef,
): void {
  const snapshot: unknown = actor.getSnapshot()
  if (typeof snapshot !== 'object' || snapshot === null || typeof persisted !== 'object' || persisted === null) return
  for (const key of ['context', 'input', 'output', 'error']) {
    if (key in persisted) {
      patchSnapshot(snapshot, { [key]: withActors((persisted as Readonly<Record<string, unknown>>)[key], actorAt) })
    }
  }
  if (!isMachineState(persisted)) return
  const children = childrenOf(actor)
  for (const [id, child] of Object.entries(persisted.children)) {
    const restored = children[id]
    if (restored !== undefined) restoreContexts(restored, child.snapshot, actorAt)
  }
}
