/** The data of a machine job beyond a plain one: its checkpoints, its inbox and its parent. */
import type { ErrorRecord } from './failure.ts'
import type { Json } from './payload.ts'

/** The persisted state of a job's machine. It is written when the machine has no event left to process. */
export interface Checkpoint {
  /** 1, 2, 3, … since the job's start. */
  readonly number: number
  /** The serialized machine; opaque to stores. */
  readonly state: Json
}

/** An attempt of a promise within a machine that has failed. */
export interface FailedPromise {
  readonly error: ErrorRecord
  /** How long it ran, ms. */
  readonly ms: number
}

/** A checkpoint to be written, by a `checkpoint` of its own or with a settlement. */
export interface NewCheckpoint {
  /** The number of the previous checkpoint + 1; 1 for the first. */
  readonly number: number
  readonly state: Json
  /** Number of the last message read: the write removes messages up to it from the inbox, except the deferred ones. */
  readonly read: number
  /**
   * Numbers of the events up to `read` that stay in the inbox, ascending: no state has taken them yet. Omitted: none.
   */
  readonly deferred?: readonly number[]
  /**
   * The events that are removed although no state has taken them: the write reports each in the log of the job, and
   * frees its key.
   */
  readonly dropped?: readonly DroppedEvent[]
  /** Events and states that led to it, for display. */
  readonly note: string
  /** Names of steps whose actors have stopped: the write removes their results. */
  readonly forgetSteps?: readonly string[]
  /** Does the machine handle a cancel as an event in this state? Then the first cancel is delivered as a message. */
  readonly takesCancel: boolean
  /**
   * Attempts of promises within the machine that have failed since the previous checkpoint: counted as failed attempts
   * of the type.
   */
  readonly failures?: readonly FailedPromise[]
  /**
   * What is added to the heat of the chart: a number to each name. The transitions that were taken since the previous
   * checkpoint, and the states that were left.
   */
  readonly heat?: readonly (readonly [name: string, count: number])[]
  /** Paths of the active states, parents first, and tags of the machine: filters use them. Omitted: none. */
  readonly states?: readonly string[]
  readonly tags?: readonly string[]
}

/** An event that a machine drops. */
export interface DroppedEvent {
  readonly number: number
  /**
   * `not taken`: the state in which it was read does not take it · `expired`: no state took it in the time that it was
   * kept.
   */
  readonly why: 'not taken' | 'expired'
}

/** An earlier checkpoint, kept for `snapshotAt` and `fork`. */
export interface CheckpointEntry extends Checkpoint {
  /** seq of its entry in the transition log. */
  readonly seq: number
  /** ms since the epoch, by the store's clock. */
  readonly at: number
  /** Events and states that led to it, for display: `APPROVE → shipping`. */
  readonly note: string
}

/**
 * A message to a job. `event`: an event sent by a caller · `cancel`: a cancel that its machine handles as an event ·
 * `resume`: an empty message that wakes it, because its definition has changed · `ended`, `checkin`: from a child job.
 */
export type InboxMessage =
  | SentEvent
  | {
      readonly kind: 'cancel'
      readonly reason: string | null
      /** That it was meant for: a retry forgets it. Earlier releases did not write it. */
      readonly generation?: number
    }
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

/** An event sent by a caller. */
export interface SentEvent {
  readonly kind: 'event'
  readonly event: Json
  /** The caller's key for it, if it has given one: it is freed if the event is dropped. */
  readonly key?: string
  /**
   * How long it waits for a state that takes it, ms since its arrival. Absent: if it is not taken when it is read, it
   * is dropped.
   */
  readonly keepMs?: number
  /**
   * The machine that has judged it, if that is not the one of the last checkpoint: another one that does not take it
   * defers it.
   */
  readonly judgedBy?: string
}

/** The event that a cancel of the job sends to a machine that handles it. */
export const cancelEvent = 'job.cancel'

/**
 * XState's own events: a sender could forge the end of an actor or a timer. Only `xstate.route` is meant to be sent
 * from outside.
 */
export const isForged = (type: string): boolean => type.startsWith('xstate.') && type !== 'xstate.route'

/** How long a deferred event is kept for which the sender has set no time, ms: 7 days. */
export const defaultKeepMs = 7 * 86_400_000

/**
 * When a machine that waits for many child jobs is woken: messages of child jobs wake it only when its inbox holds
 * `messages` messages, or `ms` after the first one. Any other message wakes it at once.
 */
export interface Gather {
  readonly messages: number
  readonly ms: number
}

/** Is it a cancel that a retry has forgotten, because it was not read before? */
export const isForgottenCancel = (message: InboxMessage, generation: number): boolean =>
  message.kind === 'cancel' && (message.generation ?? generation) !== generation

/** Is it a message of a child job? */
export const mayGather = ({ kind }: InboxMessage): boolean => kind === 'ended' || kind === 'checkin'

/** Why a job is postponed or found unable to go on: no worker that has looked at it could run its machine. */
export interface Unsupported {
  /** The version of its machine that a worker must know, or be able to migrate from. */
  readonly version: string
  /** The reason that the last worker gave. */
  readonly reason: string
  /**
   * Consecutive claims that ended so: each makes the time until the next half as long again, from 250 ms to 10 minutes.
   * 0: found while it is parked.
   */
  readonly tries: number
  /** When it was first postponed or found, ms since the epoch, and the seq of that transition or of its checkpoint. */
  readonly since: number
  readonly seq: number
}

/** A message in an inbox. */
export interface InboxEntry {
  /** 1, 2, 3, … over the lifetime of the job: messages are read in this order. */
  readonly number: number
  readonly at: number
  readonly message: InboxMessage
}

/** The job that has invoked this one and gets a message at its end. */
export interface Parent {
  readonly id: string
  /** Does it get messages of check-ins, too? */
  readonly checkins: boolean
}

/** An event of a machine. */
export interface MachineEvent {
  readonly type: string
}

/** Types of the machine of a job: inferred by `defineJob`, and carried by definitions and handles. */
export interface MachineTypes {
  readonly event: MachineEvent
  /** The states: `'draft' | 'review' | { paid: 'packing' | 'shipping' }`. */
  readonly value: unknown
  readonly context: unknown
  readonly tag: string
}

/** A machine of unknown types: value and context are JSON, as in a checkpoint. */
export interface JsonMachine extends MachineTypes {
  readonly value: Json
  readonly context: Json
}

/**
 * The states of a value, as paths: `'paid' | 'paid.packing' | 'paid.shipping'`. Any text where the states are not
 * known.
 */
export type StatePath<Value> = string extends Value
  ? string
  : Value extends string
    ? Value
    : Value extends object
      ? { [Name in keyof Value & string]: Name | `${Name}.${StatePath<NonNullable<Value[Name]>>}` }[keyof Value &
          string]
      : never

/** A timer that a machine has set: a delayed transition, or an event that it sends itself later. */
export interface PendingTimer {
  /** The type of the event: `xstate.after.…` for a delayed transition. */
  readonly event: string
  /** When it is due, ms since the epoch. */
  readonly at: number
}

/** A read-only snapshot of a machine. */
export interface MachineView<Machine extends MachineTypes = JsonMachine> {
  /** The state: `'paid'`, or `{ paid: 'shipping' }`. */
  readonly value: Machine['value']
  readonly context: Machine['context']
  readonly tags: readonly Machine['tag'][]
  readonly status: 'active' | 'done' | 'error' | 'stopped'
  readonly output: Json | undefined
  /** The timers of the last checkpoint that are still set, the earliest first. Those of child machines are left out. */
  readonly timers: readonly PendingTimer[]
  /**
   * The version of the machine that these states are of: the one that wrote the checkpoint, or the one that `migrate`
   * made of it.
   */
  readonly version: string
  /**
   * Why this process cannot run the machine from here: it does not know the version, or `migrate` throws. Then value,
   * context, tags and timers are as they are stored, by `version`, and `can` throws UNSUPPORTED. Null if it can.
   */
  readonly unsupported: string | null
  /** Is it in this state, given as a path (`'paid.shipping'`)? */
  matches(state: StatePath<Machine['value']>): boolean
  hasTag(tag: Machine['tag']): boolean
  /** Does it take this event in this state? */
  can(event: Machine['event']): boolean
}
