/** The events that led to a checkpoint, as people read them: what happened, its data, and where it came from. */
import { actorOf } from '../core/event-words.ts'
import { cancelEvent } from '../core/machine-record.ts'
import { ownValue } from '../core/own-value.ts'
import type { Json } from '../core/payload.ts'
import type { LivedEvent } from '../core/recorded-life.ts'
import { decode, toDisplayJson } from './codec.ts'
import type { RecordedEvent } from './recorder.ts'

/** What is read of a state, which may have megabytes: it is not decoded as a whole. */
interface PackedState {
  readonly events?: readonly Json[] | null
  readonly snapshot?: { readonly children?: Readonly<Record<string, { readonly snapshot?: Json }>> }
}

/** @param before the state of the checkpoint before; null if it is not kept */
export function livedEvents(state: Json, before: Json | null): readonly LivedEvent[] | null {
  const { events = [] } = state as PackedState
  if (!Array.isArray(events)) return null
  // An event is encoded when it is recorded, and once more with the state.
  return events.map((each: Json) => livedEvent(decode(each) as RecordedEvent, before as PackedState | null))
}

function livedEvent({ at, to = '', event, timer }: RecordedEvent, before: PackedState | null): LivedEvent {
  const { type, actorId: _, ...data } = toDisplayJson(decode(event)) as { type: string; actorId?: Json }
  const actor = actorOf(type)
  const from = timer === true ? 'timer' : originOf(type, actor)
  return { at, type, data, from, actor, job: actor === null || to !== '' ? null : jobOf(actor, before), to }
}

function originOf(type: string, actor: string | null): LivedEvent['from'] {
  if (type === 'xstate.init') return 'start'
  if (type === cancelEvent) return 'cancel'
  return actor !== null || type.startsWith('jobchart.') ? 'actor' : 'caller'
}

/** The id of the job that an actor of the machine was; null if it was none. */
function jobOf(actor: string, before: PackedState | null): string | null {
  const snapshot = ownValue(before?.snapshot?.children, actor)?.snapshot
  const { invokes, context } = (snapshot ?? {}) as { readonly invokes?: Json; readonly context?: { id?: Json } }
  return invokes !== undefined && typeof context?.id === 'string' ? context.id : null
}
