/** Turns XState's inspection events of a run into those of Stately Inspector. */
import type { AnyActorRef, InspectionEvent } from 'xstate'
import type { Inspect, MachineInspection } from '../core/inspection.ts'
import type { Json } from '../core/payload.ts'
import { plannedLogicOf } from './actor-kinds.ts'
import { toDisplayJson } from './codec.ts'
import { parentOf } from './xstate-internals.ts'

/** The release of `@statelyai/inspect` whose format is written. */
const formatVersion = '0.7.2'

interface InspectorOptions {
  readonly jobId: string
  /** ms since the epoch */
  readonly now: () => number
  readonly inspect: Inspect
}

export class Inspector {
  private readonly options: InspectorOptions
  /** Events of actors that are created or restored before the machine starts. Null when it has started. */
  private waiting: InspectionEvent[] | null = []

  constructor(options: InspectorOptions) {
    this.options = options
  }

  take(event: InspectionEvent): void {
    if (this.waiting !== null) this.waiting.push(event)
    // The snapshot of an actor cannot be read while it is created; the event of its start tells it.
    else this.emit(event, { status: 'active' })
  }

  /** All actors of the checkpoint are restored. */
  begin(): void {
    const waiting = this.waiting ?? []
    this.waiting = null
    for (const event of waiting) this.emit(event, snapshotOf((event.actorRef as AnyActorRef).getSnapshot()))
  }

  private emit(event: InspectionEvent, actorSnapshot: Json): void {
    const formatted = this.formatted(event, actorSnapshot)
    if (formatted !== null) this.options.inspect(formatted)
  }

  /** @returns null for events that Stately Inspector does not know */
  private formatted(event: InspectionEvent, actorSnapshot: Json): MachineInspection | null {
    const { jobId, now } = this.options
    const actor = event.actorRef as AnyActorRef
    const base = {
      sessionId: this.idOf(actor),
      rootId: jobId,
      createdAt: String(now()),
      id: null,
      _version: formatVersion,
    } as const
    if (event.type === '@xstate.actor') {
      const parent = parentOf(actor)
      const config = plannedLogicOf(actor)?.machine.config
      return {
        ...base,
        type: event.type,
        name: parent === undefined ? (config?.id ?? jobId) : actor.id,
        parentId: parent === undefined ? undefined : this.idOf(parent),
        definition: definitionOf(config ?? { id: actor.id }, actor.id),
        snapshot: actorSnapshot,
      }
    }
    if (event.type === '@xstate.event') {
      const { sourceRef } = event
      const sourceId = sourceRef === undefined ? undefined : this.idOf(sourceRef as AnyActorRef)
      return { ...base, type: event.type, event: displayed(event.event), sourceId }
    }
    if (event.type !== '@xstate.snapshot') return null
    return { ...base, type: event.type, event: displayed(event.event), snapshot: snapshotOf(event.snapshot) }
  }

  private idOf(actor: AnyActorRef): string {
    const parent = parentOf(actor)
    return parent === undefined ? this.options.jobId : `${this.idOf(parent)}/${actor.id}`
  }
}

/** The config without functions. */
function definitionOf(config: object, id: string): string {
  try {
    return JSON.stringify(config)
  } catch {
    // An actor's logic that stands in the config may refer to itself.
    return JSON.stringify({ id })
  }
}

/** What the inspector shows of a snapshot. */
function snapshotOf(snapshot: unknown): Json {
  if (typeof snapshot !== 'object' || snapshot === null) return { status: 'active' }
  const { status, value, context, output } = snapshot as Readonly<Record<string, unknown>>
  return displayed({ status, value, context, output })
}

function displayed(value: unknown): Json {
  try {
    return toDisplayJson(value)
  } catch {
    // What a checkpoint could not hold fails the attempt by itself; an inspector must not.
    return null
  }
}
