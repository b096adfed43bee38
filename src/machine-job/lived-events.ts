/** The events that led to a checkpoint, as people read them: what happened, its data, and where it came from. */
import { actorOf } from '../core/event-words.ts'
import { cancelEvent } from '../core/machine-record.ts'
import type { Json } from '../core/payload.ts'
import type { LivedEvent } from '../core/recorded-life.ts'
import { decode, toDisplayJson } from './codec.ts'
import type { RecordedEvent } from './recorder.ts'
import { unpackState, type MachineState } from './state.ts'

/** @param before the state of the checkpoint before; null if it is not kept */
export function livedEvents(state: Json, before: Json | null): readonly LivedEvent[] | null {
  const { events } = unpackState(state)
  if (!Array.isArray(events)) return null
  const jobs = before === null ? new Map<string, string>() : jobsIn(unpackState(before))
  return events.map((each) => livedEvent(each, jobs))
}

function livedEvent({ at, to = '', event, timer }: RecordedEvent, jobs: ReadonlyMap<string, string>): LivedEvent {
  const { type, actorId: _, ...data } = toDisplayJson(decode(event)) as { type: string; actorId?: Json }
  const actor = actorOf(type)
  const from = timer === true ? 'timer' : originOf(type, actor)
  return { at, type, data, from, actor, job: actor === null ? null : (jobs.get(actor) ?? null), to }
}

function originOf(type: string, actor: string | null): LivedEvent['from'] {
  if (type === 'xstate.init') return 'start'
  if (type === cancelEvent) return 'cancel'
  return actor !== null || type.startsWith('jobchart.') ? 'actor' : 'caller'
}

/** The ids of the jobs of the machine's actors, by the ids of these. */
function jobsIn({ snapshot }: MachineState): Map<string, string> {
  const jobs = new Map<string, string>()
  for (const [id, child] of Object.entries(snapshot.children)) {
    const { snapshot: of } = child as { readonly snapshot?: { readonly invokes?: unknown; readonly context?: unknown } }
    const job = (of?.context as { readonly id?: unknown } | undefined)?.id
    if (of?.invokes !== undefined && typeof job === 'string') jobs.set(id, job)
  }
  return jobs
}
