/** The state of a machine in a checkpoint, and its encoding. Its fields are stored: renaming one needs a new format. */
import type { EventObject } from 'xstate'
import type { Json } from '../core/payload.ts'
import type { AddressState } from './addresses.ts'
import { decode, type Encode } from './codec.ts'
import type { RecordedEvent } from './recorder.ts'
import type { PassedDelay, TimerRecord } from './timers.ts'
import type { LeanMachine, MachineVersion, PersistedMachine } from './versions.ts'

/** An effect of this checkpoint that may not have been executed yet: an action, an event, the cancel of a child job. */
export type OutboxEntry =
  | {
      readonly kind: 'action'
      /** The address of the actor that planned it, which may be gone. */
      readonly actor: string
      /** The machine that defines it, as the path of actor names from the root. */
      readonly machine: readonly string[]
      /** The name of the action, or its place in the chart. */
      readonly type: string
      /** For an inline action: the kinds of all actions in its list. */
      readonly list?: string
      readonly params: unknown
      /** Left out if it equals the context of the actor in this checkpoint. */
      readonly context?: unknown
      readonly event: EventObject
    }
  | { readonly kind: 'emit'; readonly event: EventObject }
  | { readonly kind: 'send'; readonly actor: string; readonly event: EventObject }
  | { readonly kind: 'cancelChild'; readonly job: string }

/** A cancel of the job that the machine has read. */
export interface ReadCancel {
  readonly generation: number
  readonly reason: string | null
  /** Has the machine handled it? Until then it waits for a state that does. */
  readonly taken: boolean
}

export interface MachineState {
  /** The format of this object: a later one will have another number. */
  readonly format: 1
  readonly machine: MachineVersion
  /** The job that it was written for: another job that resumes from it is a fork. */
  readonly job: string
  readonly snapshot: PersistedMachine
  /**
   * When each of its active states was entered, ms since the epoch, the outer ones first. Left out if that is not
   * known.
   */
  readonly entered?: readonly number[] | undefined
  readonly timers: readonly TimerRecord[]
  /** Left out if empty. */
  readonly passed?: readonly PassedDelay[] | undefined
  /** How often actors were started. */
  readonly actors: AddressState
  /** Number of ids generated so far for actors without one. */
  readonly actorNumber: number
  readonly outbox: readonly OutboxEntry[]
  /**
   * Child jobs known to be in the store. Valid for one generation: ends of children are not sent to a job that has
   * ended, so the next generation must ask for them.
   */
  readonly jobs: { readonly generation: number; readonly ids: readonly string[] }
  /** The cancel that was read in this generation of the job. */
  readonly cancel: ReadCancel | null
  /** The events that led to it from the checkpoint before. Null if they were more than are kept. */
  readonly events: readonly RecordedEvent[] | null
  /** The number of the last message that was read. */
  readonly read: number
}

/** A state to be stored, its snapshot without defaults. */
export type WrittenState = Omit<MachineState, 'snapshot'> & { readonly snapshot: LeanMachine }

/** What most states have is left out: a checkpoint is written at each step of a machine. */
const defaults = {
  timers: [],
  actors: { starts: {} },
  actorNumber: 0,
  outbox: [],
  jobs: { generation: 0, ids: [] },
  cancel: null,
  events: [],
  read: 0,
} as const satisfies Partial<MachineState>

/** What a run knows of its state beside its machine. */
type OfRun = Pick<WrittenState, 'jobs' | 'cancel' | 'read'>

/** @throws JobchartError NOT_DURABLE for a value that JSON cannot represent */
export function packState(state: Omit<WrittenState, keyof OfRun>, ofRun: OfRun, encode: Encode): Json {
  const { format, machine, job, snapshot, entered, timers, passed, actors, actorNumber, outbox, events } = state
  const { jobs, cancel, read } = ofRun
  return encode({
    format,
    machine,
    job,
    snapshot,
    entered,
    timers: timers.length === 0 ? undefined : timers,
    passed,
    actors: isEmpty(actors.starts) ? undefined : actors,
    actorNumber: actorNumber === 0 ? undefined : actorNumber,
    outbox: outbox.length === 0 ? undefined : outbox,
    jobs: jobs.ids.length === 0 ? undefined : jobs,
    cancel: cancel ?? undefined,
    events: events?.length === 0 ? undefined : events,
    read: read === 0 ? undefined : read,
  })
}

function isEmpty(members: object): boolean {
  // oxlint-disable-next-line no-unreachable-loop -- the first member tells
  for (const _ in members) return false
  return true
}

/** @param json written by `packState`. Actors are decoded as `ActorReference`. */
export const unpackState = (json: Json): MachineState => withDefaults(decode(json) as WrittenState)

/** A stored state with what was left out of it. */
export function withDefaults(written: WrittenState): MachineState {
  const state = { ...defaults, ...written }
  // What another release has written is refused by its format.
  return { ...state, snapshot: state.snapshot === undefined ? state.snapshot : whole(state.snapshot) }
}

/** A snapshot with its defaults, as XState restores it and `migrate` gets it. */
function whole({ status = 'active', children = {}, historyValue = {}, ...rest }: LeanMachine): PersistedMachine {
  const actors = Object.entries(children).map(([id, { kind = 'work', snapshot = { status: 'active' }, ...child }]) => {
    return [id, { ...child, kind, snapshot: kind === 'machine' ? whole(snapshot as LeanMachine) : snapshot }] as const
  })
  return { ...rest, status, historyValue, children: Object.fromEntries(actors) }
}

/** The machine that wrote a packed state; null if the state does not say. */
export function machineIn(json: Json): MachineVersion | null {
  const { machine } = json as { readonly machine?: MachineVersion }
  return machine ?? null
}
