/** What a checkpoint of a machine holds, and how it is written and read. */
import type { EventObject } from 'xstate'
import type { Json } from '../job/payload.ts'
import { decode, encode } from './codec.ts'
import type { TimerRecord } from './timers.ts'
import type { MachineVersion, PersistedMachine } from './versions.ts'

/** What was decided with this checkpoint and may not have happened yet: an action, an event, the cancel of a job. */
export type OutboxEntry =
  | {
      readonly kind: 'action'
      readonly actor: string
      /** The machine that the action is one of: by which name each actor on the way to it was made. */
      readonly machine: readonly string[]
      readonly type: string
      readonly params: unknown
      /** Left out where it is that of its actor in this checkpoint. */
      readonly context?: unknown
      readonly event: EventObject
    }
  | { readonly kind: 'emit'; readonly event: EventObject }
  | { readonly kind: 'send'; readonly actor: string; readonly event: EventObject }
  | { readonly kind: 'leave'; readonly job: string }

export interface MachineState {
  readonly machine: MachineVersion
  /** The job it was written for: one that goes on from it is a fork. */
  readonly job: string
  readonly snapshot: PersistedMachine
  readonly timers: readonly TimerRecord[]
  /** How often each actor was begun, by path. */
  readonly beginnings: Readonly<Record<string, number>>
  /** Actors that were given an id by number so far. */
  readonly booked: number
  readonly outbox: readonly OutboxEntry[]
  /** Jobs that it waits for and that are known to be in the store. A job that has ended hears of no ends: they hold for this generation. */
  readonly jobs: { readonly generation: number; readonly ids: readonly string[] }
  /** The number of the last letter that was read. */
  readonly read: number
}

/** @throws JobchartError NOT_DURABLE for what JSON cannot carry */
export const packState = (state: MachineState): Json => encode(state)

/** Only `packState` has written it. */
export const unpackState = (json: Json): MachineState => decode(json) as MachineState
