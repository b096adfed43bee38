/**
 * The addresses of a machine's actors. An id is used again when a state is entered again, so an address says which start of
 * that id is meant: `kid/1/work/2` is the second start of `work` in the first start of `kid`, and the root is ''. Timers,
 * the outbox, references in contexts and idempotency keys name actors by their address: none of them can reach a later
 * actor of the same id.
 */
import { createActor, type AnyActorLogic, type AnyActorRef } from 'xstate'
import { parentOf } from './xstate-internals.ts'

/** The starts that a parent has counted, by the id of the child as it stands in an address. */
export interface StartCounts {
  /** Ids that are not listed were started at most as often as this, or, of a living child, once. */
  readonly floor: number
  readonly counts: Readonly<Record<string, number>>
}

/** What a checkpoint keeps of addresses. */
export interface AddressState {
  /** By the address of the parent. Parents that are gone are left out: their address never comes again. */
  readonly starts: Readonly<Record<string, StartCounts>>
  /** Keys of living actors that an earlier release gave in another form, by address. */
  readonly keys?: Readonly<Record<string, string>>
}

interface Starts {
  floor: number
  /** The latest start last. */
  readonly counts: Map<string, number>
}

/** Children that are gone and whose count a parent keeps. Of older ones it knows only the highest count, as its floor. */
const goneMax = 64

export class ActorAddresses {
  private readonly jobId: string
  private readonly root: () => AnyActorRef
  private readonly known = new WeakMap<AnyActorRef, string>()
  private readonly starts: Map<string, Starts>
  private readonly keys: ReadonlyMap<string, string>

  /** @param root is asked when an actor is looked up */
  constructor(jobId: string, from: AddressState | null, root: () => AnyActorRef) {
    this.jobId = jobId
    this.root = root
    this.keys = new Map(Object.entries(from?.keys ?? {}))
    this.starts = new Map(
      Object.entries(from?.starts ?? {}).map(([parent, { floor, counts }]) => [
        parent,
        { floor, counts: new Map(Object.entries(counts)) },
      ]),
    )
  }

  /** The address of an actor. One that was not seen before is a new start, and is given its key: `sessionId`. */
  of(actor: AnyActorRef): string {
    return (
      this.known.get(actor) ?? this.name(actor, (starts, id) => Math.max(starts.counts.get(id) ?? 0, starts.floor) + 1)
    )
  }

  /** The address of an actor that was there when the checkpoint was written. */
  restored(actor: AnyActorRef): string {
    return this.known.get(actor) ?? this.name(actor, (starts, id) => starts.counts.get(id) ?? 1)
  }

  /** Gives the addresses of the checkpoint to all actors of a restored machine. */
  restoreAll(actor = this.root()): void {
    this.restored(actor)
    for (const child of Object.values(childrenOf(actor))) if (child !== undefined) this.restoreAll(child)
  }

  /** The address of an actor; null of an actor in another actor system */
  find(actor: AnyActorRef): string | null {
    return actor.system === this.root().system ? this.of(actor) : null
  }

  /** The actor at an address, if it is there still. */
  actorAt(address: string): AnyActorRef | null {
    let actor = this.root()
    for (const id of idsOf(address)) {
      const children = childrenOf(actor)
      const next = Object.hasOwn(children, id) ? children[id] : undefined
      if (next === undefined) return null
      actor = next
    }
    return this.of(actor) === address ? actor : null
  }

  /** The actor at an address; for one that is gone a stand-in with its id and key, which takes no events. */
  referenceAt(address: string): AnyActorRef {
    const actor = this.actorAt(address)
    if (actor !== null) return actor
    const parts = address.split('/')
    const above = parts.slice(0, -2).join('/')
    const standIn = createActor(stopped, {
      id: idIn(parts.at(-2) ?? ''),
      parent: this.referenceAt(above),
      snapshot: stoppedSnapshot,
    } as object)
    this.remember(standIn, address)
    return standIn
  }

  /** What a checkpoint keeps. */
  state(): AddressState {
    const starts: Record<string, StartCounts> = {}
    const keys: Record<string, string> = {}
    const look = (parent: AnyActorRef): void => {
      const address = this.of(parent)
      const key = this.keys.get(address)
      if (key !== undefined) keys[address] = key
      const children = childrenOf(parent)
      const kept = this.kept(address, children)
      if (kept !== null) starts[address] = kept
      for (const child of Object.values(children)) if (child !== undefined) look(child)
    }
    look(this.root())
    for (const parent of this.starts.keys()) if (!(parent in starts)) this.starts.delete(parent)
    return { starts, ...(Object.keys(keys).length > 0 && { keys }) }
  }

  private kept(parent: string, children: Children): StartCounts | null {
    const starts = this.starts.get(parent)
    if (starts === undefined) return null
    const living = new Set(Object.keys(children).map(nameInAddress))
    const gone = [...starts.counts.keys()].filter((id) => !living.has(id))
    for (const id of gone.slice(0, -goneMax)) {
      starts.floor = Math.max(starts.floor, starts.counts.get(id) ?? 0)
      starts.counts.delete(id)
    }
    const counts = [...starts.counts].filter(([id, count]) => count > 1 || !living.has(id))
    return { floor: starts.floor, counts: Object.fromEntries(counts) }
  }

  private name(actor: AnyActorRef, numberOf: (starts: Starts, id: string) => number): string {
    const parent = parentOf(actor)
    if (parent === undefined) return this.remember(actor, '')
    const above = this.of(parent)
    let starts = this.starts.get(above)
    if (starts === undefined) this.starts.set(above, (starts = { floor: 0, counts: new Map() }))
    const id = nameInAddress(actor.id)
    const number = numberOf(starts, id)
    starts.counts.delete(id)
    starts.counts.set(id, number)
    return this.remember(actor, below(above, id, number))
  }

  private remember(actor: AnyActorRef, address: string): string {
    this.known.set(actor, address)
    actor.sessionId = address === '' ? this.jobId : `${this.jobId}/${this.keys.get(address) ?? address}`
    return address
  }
}

export type Children = Readonly<Record<string, AnyActorRef | undefined>>

/** The address of a child that was there when a checkpoint was written. */
export function childAddress({ starts }: AddressState, parent: string, id: string): string {
  const name = nameInAddress(id)
  return below(parent, name, starts[parent]?.counts[name] ?? 1)
}

const below = (parent: string, name: string, number: number): string =>
  `${parent}${parent === '' ? '' : '/'}${name}/${number}`

/** The children of a machine, by id; none of any other actor. */
export function childrenOf(actor: AnyActorRef): Children {
  const snapshot: unknown = actor.getSnapshot()
  return typeof snapshot === 'object' && snapshot !== null && 'children' in snapshot
    ? (snapshot.children as Children)
    : {}
}

/** An id as a part of an address. */
export const nameInAddress = (id: string): string => id.replaceAll('%', '%25').replaceAll('/', '%2F')

const idIn = (name: string): string => name.replaceAll('%2F', '/').replaceAll('%25', '%')

/** Every other part of an address is an id. */
const idsOf = (address: string): string[] =>
  address === '' ? [] : address.split('/').flatMap((part, i) => (i % 2 === 0 ? [idIn(part)] : []))

const stoppedSnapshot = { status: 'stopped', output: undefined, error: undefined } as const

/** The logic of an actor that is gone. */
const stopped: AnyActorLogic = {
  transition: (snapshot: unknown) => snapshot,
  getInitialSnapshot: () => stoppedSnapshot,
  getPersistedSnapshot: (snapshot: unknown) => snapshot,
  restoreSnapshot: (snapshot: unknown) => snapshot,
} as AnyActorLogic
