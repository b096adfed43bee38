/**
 * The addresses of a machine's actors. Actors of the same id follow each other when a state is entered again, so an
 * address counts starts: `kid/1/work/2` is the second start of `work` in the first start of `kid`; the root is ''.
 * Timers, the outbox, references in contexts and idempotency keys use addresses, so that none of them reaches a later
 * actor of the same id.
 */
import { createActor, type AnyActorLogic, type AnyActorRef } from 'xstate'
import { setMember } from '../core/payload.ts'
import { factsOf } from './actor-facts.ts'
import { parentOf } from './xstate-internals.ts'

/** How often each child of a parent was started, by the child's id as it is written in an address. */
interface StartCounts {
  /** Upper bound of the count of an id that is not listed. A living child that is not listed was started once. */
  readonly floor: number
  readonly counts: Readonly<Record<string, number>>
}

/** The part of a checkpoint that holds the start counts. */
export interface AddressState {
  /**
   * By the address of the parent. Parents that have ended are left out, because their address is never used again, and
   * those whose children live and were started once.
   */
  readonly starts: Readonly<Record<string, StartCounts>>
}

interface Starts {
  floor: number
  /** Ordered by the latest start. */
  readonly counts: Map<string, number>
}

/** Ended children whose counts a parent keeps. Counts of older ones are merged into `floor`. */
const goneCountsMax = 64

export class ActorAddresses {
  private readonly jobId: string
  private readonly root: () => AnyActorRef
  private readonly starts: Map<string, Starts>

  /** @param root called at each look-up: the root may not exist yet */
  constructor(jobId: string, from: AddressState | null, root: () => AnyActorRef) {
    this.jobId = jobId
    this.root = root
    this.starts = new Map(
      Object.entries(from?.starts ?? {}).map(([parent, { floor, counts }]) => [
        parent,
        { floor, counts: new Map(Object.entries(counts)) },
      ]),
    )
  }

  /** The address of an actor. An unknown actor counts as a new start and gets its idempotency key as `sessionId`. */
  of(actor: AnyActorRef): string {
    return (
      factsOf(actor).address ??
      this.assign(actor, (starts, id) => Math.max(starts.counts.get(id) ?? 0, starts.floor) + 1)
    )
  }

  /** The address of an actor that existed when the checkpoint was written. */
  restored(actor: AnyActorRef): string {
    return factsOf(actor).address ?? this.assign(actor, (starts, id) => starts.counts.get(id) ?? 1)
  }

  /** Assigns the checkpoint's addresses to all actors of a restored machine. */
  restoreAll(actor = this.root()): void {
    this.restored(actor)
    for (const child of Object.values(childrenOf(actor))) if (child !== undefined) this.restoreAll(child)
  }

  /** The address of an actor; null for an actor of another actor system. */
  find(actor: AnyActorRef): string | null {
    return actor.system === this.root().system ? this.of(actor) : null
  }

  /** The actor at an address; null if it has left its parent. */
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

  /** The actor at an address; for an actor that is gone a stopped stand-in with its id and key. */
  referenceAt(address: string): AnyActorRef {
    const actor = this.actorAt(address)
    if (actor !== null) return actor
    const parts = address.split('/')
    const parent = parts.slice(0, -2).join('/')
    const standIn = createActor(stoppedLogic, {
      id: idIn(parts.at(-2) ?? ''),
      parent: this.referenceAt(parent),
      snapshot: stoppedSnapshot,
    } as object)
    this.remember(standIn, address)
    return standIn
  }

  /** What a checkpoint keeps. */
  state(): AddressState {
    const starts: Record<string, StartCounts> = {}
    for (const [address, counted] of this.starts) {
      const parent = this.actorAt(address)
      const kept = parent === null ? null : startCountsOf(counted, childrenOf(parent))
      if (kept !== null) starts[address] = kept
      if (parent === null) this.starts.delete(address)
    }
    return { starts }
  }

  private assign(actor: AnyActorRef, numberOf: (starts: Starts, id: string) => number): string {
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
    factsOf(actor).address = address
    actor.sessionId = address === '' ? this.jobId : `${this.jobId}/${address}`
    return address
  }
}

function startCountsOf(starts: Starts, children: Children): StartCounts | null {
  let gone = 0
  if (starts.counts.size > goneCountsMax) for (const name of starts.counts.keys()) if (isGone(name, children)) gone++
  let kept: Record<string, number> | null = null
  for (const [name, count] of starts.counts) {
    if (!isGone(name, children)) {
      if (count > 1) setMember((kept ??= {}), name, count)
    } else if (gone-- > goneCountsMax) {
      starts.floor = Math.max(starts.floor, count)
      starts.counts.delete(name)
    } else setMember((kept ??= {}), name, count)
  }
  return starts.floor === 0 && kept === null ? null : { floor: starts.floor, counts: kept ?? {} }
}

const isGone = (name: string, children: Children): boolean => !Object.hasOwn(children, idIn(name))

export type Children = Readonly<Record<string, AnyActorRef | undefined>>

/** The address of a child that existed when the checkpoint was written. */
export function childAddress({ starts }: AddressState, parent: string, id: string): string {
  const name = nameInAddress(id)
  return below(parent, name, starts[parent]?.counts[name] ?? 1)
}

const below = (parent: string, name: string, number: number): string =>
  `${parent}${parent === '' ? '' : '/'}${name}/${number}`

/** The children of a machine, by id; empty for any other actor. */
export function childrenOf(actor: AnyActorRef): Children {
  const snapshot: unknown = actor.getSnapshot()
  return typeof snapshot === 'object' && snapshot !== null && 'children' in snapshot
    ? (snapshot.children as Children)
    : {}
}

/** An id escaped for use in an address. */
export const nameInAddress = (id: string): string =>
  /[%/]/.test(id) ? id.replaceAll('%', '%25').replaceAll('/', '%2F') : id

const idIn = (name: string): string => (name.includes('%') ? name.replaceAll('%2F', '/').replaceAll('%25', '%') : name)

/** An address alternates ids and start counts. */
const idsOf = (address: string): string[] =>
  address === '' ? [] : address.split('/').flatMap((part, i) => (i % 2 === 0 ? [idIn(part)] : []))

const stoppedSnapshot = { status: 'stopped', output: undefined, error: undefined } as const

/** The logic of a stand-in for an actor that is gone. */
const stoppedLogic: AnyActorLogic = {
  transition: (snapshot: unknown) => snapshot,
  getInitialSnapshot: () => stoppedSnapshot,
  getPersistedSnapshot: (snapshot: unknown) => snapshot,
  restoreSnapshot: (snapshot: unknown) => snapshot,
} as AnyActorLogic
