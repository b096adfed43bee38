/** What a checkpoint of a machine holds, and how it is written and read. */
import type { EventObject } from 'xstate'
import type { Json } from '../core/payload.ts'
import type { AddressState } from './addresses.ts'
import { decode, encode, type AddressOf } from './codec.ts'
import { fromFirstFormat } from './first-format.ts'
import type { PassedDelay, TimerRecord } from './timers.ts'
import type { MachineVersion, PersistedMachine } from './versions.ts'

/** What was decided with this checkpoint and may not have happened yet: an action, an event, the cancel of a job. */
export type OutboxEntry =
  | {
      readonly kind: 'action'
      /** The address of the actor whose action it is; it may be gone. */
      readonly actor: string
      /** The machine that the action is one of: by which name each actor on the way to it was made. */
      readonly machine: readonly string[]
      /** Its name, or its place in the chart. */
      readonly type: string
      /** Of an inline action: what stands in its list of actions. */
      readonly list?: string
      readonly params: unknown
      /** Left out where it is that of its actor in this checkpoint. */
      readonly context?: unknown
      readonly event: EventObject
    }
  | { readonly kind: 'emit'; readonly event: EventObject }
  | { readonly kind: 'send'; readonly actor: string; readonly event: EventObject }
  | { readonly kind: 'leave'; readonly job: string }

/** A cancel of the job that its machine was sent. */
export interface ReadCancel {
  readonly generation: number
  readonly reason: string | null
  /** Has the machine taken it? Until then it waits for a state that does. */
  readonly taken: boolean
}

export interface MachineState {
  /** How it is written; states of the first format have none. */
  readonly format: 2
  readonly machine: MachineVersion
  /** The job it was written for: one that goes on from it is a fork. */
  readonly job: string
  readonly snapshot: PersistedMachine
  readonly timers: readonly TimerRecord[]
  /** Left out where there is none. States of earlier releases do not have it. */
  readonly passed?: readonly PassedDelay[]
  /** How often actors were started. */
  readonly actors: AddressState
  /** Actors that were given an id by number so far. */
  readonly booked: number
  readonly outbox: readonly OutboxEntry[]
  /** Jobs that it waits for and that are known to be in the store. A job that has ended hears of no ends: they hold for this generation. */
  readonly jobs: { readonly generation: number; readonly ids: readonly string[] }
  /** The cancel that was read, in this generation of the job. Left out where an earlier release did not say. */
  readonly cancel?: ReadCancel | null
  /** The number of the last message that was read. */
  readonly read: number
}

/** @throws JobchartError NOT_DURABLE for what JSON cannot carry */
export const packState = (state: MachineState, addressOf: AddressOf): Json => encode(state, addressOf)

/** Only `packState` has written it, of this release or an earlier one. Actors are `ActorReference`s in it. */
export const unpackState = (json: Json): MachineState => decode(fromFirstFormat(json)) as MachineState

/** Which machine a packed state was made by; null of what was packed otherwise. */
export function machineIn(json: Json): MachineVersion | null {
  const { machine } = json as { readonly machine?: MachineVersion }
  return machine ?? null
}
