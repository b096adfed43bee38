/** What a machine job is beyond a plain one: where its machine stands, what was written to it, and whose child it is. */
import type { ErrorRecord } from './failure.ts'
import type { Json } from './payload.ts'

/** Where a job's machine stood when it was last at rest. */
export interface Checkpoint {
  /** 1, 2, 3, … since the job's start. */
  readonly number: number
  /** The machine as the host has written it; stores do not look into it. */
  readonly state: Json
}

/** A checkpoint to be written, by a `checkpoint` of its own or with a settlement. */
export interface NewCheckpoint {
  /** One more than that of the checkpoint before it; 1 for the first. */
  readonly number: number
  readonly state: Json
  /** Messages up to this number have been read: they leave the inbox in the same write. */
  readonly read: number
  /** What led here, for people. */
  readonly note: string
  /** Names of steps whose actors are gone: their results are forgotten by the same write. */
  readonly forgetSteps?: readonly string[]
  /** Would the machine take a cancel as an event here? Then it is written to instead of being ended. */
  readonly takesCancel: boolean
  /** Paths of the states it stands in, the outer ones first, and its tags: jobs are found by them. Left out: none. */
  readonly states?: readonly string[]
  readonly tags?: readonly string[]
}

/** A checkpoint of the past, for time travel. */
export interface CheckpointEntry extends Checkpoint {
  /** In the order of all that happens in the store. */
  readonly seq: number
  /** ms since the epoch, by the store's clock. */
  readonly at: number
  /** What led here, for people: `APPROVE → shipping`. */
  readonly note: string
}

/**
 * What is put into a job's inbox. `event`: sent by somebody · `cancel`: it was cancelled, and its machine takes that as an
 * event · `resume`: nothing to read, its definition has changed · `ended`, `checkin`: from a job that it has invoked.
 */
export type InboxMessage =
  | { readonly kind: 'event'; readonly event: Json }
  | { readonly kind: 'cancel'; readonly reason: string | null }
  | { readonly kind: 'resume' }
  | {
      readonly kind: 'ended'
      readonly child: string
      readonly state: 'done' | 'dead' | 'cancelled'
      readonly output?: Json
      readonly error?: ErrorRecord
      readonly reason?: string
    }
  | { readonly kind: 'checkin'; readonly child: string; readonly value: Json }

/**
 * How a machine that waits for many child jobs is woken: their ends and check-ins wake it only when so many messages wait in
 * its inbox, or so many ms after the first of them. Any other message wakes it at once.
 */
export interface Gather {
  readonly messages: number
  readonly ms: number
}

/** Is it news of a child job? */
export const mayGather = ({ kind }: InboxMessage): boolean => kind === 'ended' || kind === 'checkin'

/** Why a job is put off: no worker that has claimed it lately could run its machine. */
export interface Unsupported {
  /** The version of its machine that a worker must know, or be able to migrate from. */
  readonly version: string
  /** What the last worker said. */
  readonly reason: string
  /** Claims in a row that ended so: each doubles the time until the next, from 30 s to 10 minutes. */
  readonly tries: number
  /** When it was put off first, ms since the epoch, and the number of that transition. */
  readonly since: number
  readonly seq: number
}

/** A message in an inbox. */
export interface InboxEntry {
  /** 1, 2, 3, … over the whole life of the job: messages are read in this order. */
  readonly number: number
  readonly at: number
  readonly message: InboxMessage
}

/** The job that has invoked this one and hears of its end. */
export interface Parent {
  readonly id: string
  /** Does it want to hear of check-ins, too? */
  readonly checkins: boolean
}

/** What a machine is sent. */
export interface MachineEvent {
  readonly type: string
}

/** What the types know of the machine of a job: inferred by `defineJob`, and carried by definitions and handles. */
export interface MachineTypes {
  readonly event: MachineEvent
  /** The states: `'draft' | 'review' | { paid: 'packing' | 'shipping' }`. */
  readonly value: unknown
  readonly context: unknown
  readonly tag: string
}

/** A machine whose types are not known: it is seen as a checkpoint keeps it. */
export interface JsonMachine extends MachineTypes {
  readonly value: Json
  readonly context: Json
}

/** The states of a value, as paths: `'paid' | 'paid.packing' | 'paid.shipping'`. Any text where the states are not known. */
export type StatePath<Value> = string extends Value
  ? string
  : Value extends string
    ? Value
    : Value extends object
      ? { [Name in keyof Value & string]: Name | `${Name}.${StatePath<NonNullable<Value[Name]>>}` }[keyof Value &
          string]
      : never

/** Where a machine stands, as it is seen from outside. */
export interface MachineView<Machine extends MachineTypes = JsonMachine> {
  /** The state: `'paid'`, or `{ paid: 'shipping' }`. */
  readonly value: Machine['value']
  readonly context: Machine['context']
  readonly tags: readonly Machine['tag'][]
  readonly status: 'active' | 'done' | 'error' | 'stopped'
  readonly output: Json | undefined
  /** Is it in this state, given as a path (`'paid.shipping'`)? */
  matches(state: StatePath<Machine['value']>): boolean
  hasTag(tag: Machine['tag']): boolean
  /** Would it take this event now? */
  can(event: Machine['event']): boolean
}
