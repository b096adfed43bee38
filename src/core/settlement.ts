/**
 * How an attempt ends, as data: constructors make a settlement, one conditional write of the store applies it.
 *
 * Where a running job goes is decided here, by the chart. A job whose cancel was committed first takes the chart's arrow
 * out of `cancelling` instead: only the store knows which came first, so it makes that last choice.
 */
import type { ErrorRecord } from './failure.ts'
import { nextArrow, type ArrowEvent, type JobCounters, type JobState } from './lifecycle.ts'
import type { CheckIn, LogLine } from './record.ts'
import type { Gather, NewCheckpoint } from './machine-record.ts'
import type { Json } from './payload.ts'

export type SettleEvent = Extract<ArrowEvent, 'COMPLETE' | 'FAIL' | 'SNOOZE' | 'RELEASE' | 'PARK'>

/** Who settles: the lease of one attempt. */
export interface LeaseRef extends JobCounters {
  readonly id: string
  readonly token: string
}

/** What a run leaves behind with any ending: signs of life not written yet. */
interface HeartbeatNews {
  readonly checkin?: CheckIn
  readonly logs?: readonly LogLine[]
}

export interface Settlement extends HeartbeatNews {
  readonly id: string
  readonly attempt: number
  readonly token: string
  readonly event: SettleEvent
  /** Where the chart leads if the job is still `running`. */
  readonly to: JobState
  readonly fatal?: boolean
  readonly output?: Json
  readonly error?: ErrorRecord
  /** For a timed state: due this many ms after the store's now. */
  readonly delayMs?: number
  readonly reason?: string
  /** Of a machine job that completes: its machine took the cancel that it was sent, so that the job is cancelled. */
  readonly cancelTaken?: boolean
  /** Of a machine job: where its machine has come to rest, written together with the end. */
  readonly checkpoint?: NewCheckpoint
  /**
   * Of a SNOOZE: the version of the job's machine that the worker cannot run, for the given reason. The store sets when the
   * job is offered again, and keeps all but the first of such claims out of its history.
   */
  readonly unsupported?: string
  /** Of a PARK: messages that do not wake the job at once. Left out: every message does. */
  readonly gather?: Gather
}

function settlement(
  held: LeaseRef,
  event: SettleEvent,
  fatal: boolean,
): { -readonly [K in keyof Settlement]: Settlement[K] } {
  const arrow = nextArrow('running', event, held, fatal)
  if (arrow === null) throw new TypeError(`the chart has no ${event} from running`)
  return { id: held.id, attempt: held.attempt, token: held.token, event, to: arrow.to }
}

export function completed(held: LeaseRef, output: Json | undefined): Settlement {
  const made = settlement(held, 'COMPLETE', false)
  if (output !== undefined) made.output = output
  return made
}

/** Would a failure now be followed by another attempt? */
export const mayRetry = (held: LeaseRef): boolean => nextArrow('running', 'FAIL', held, false)?.to === 'retrying'

export function retryAfter(held: LeaseRef, error: ErrorRecord, delayMs: number): Settlement {
  return { ...settlement(held, 'FAIL', false), error, delayMs }
}

export function dead(held: LeaseRef, error: ErrorRecord): Settlement {
  return { ...settlement(held, 'FAIL', true), error, fatal: true }
}

export function snoozedFor(held: LeaseRef, delayMs: number): Settlement {
  return { ...settlement(held, 'SNOOZE', false), delayMs }
}

/** Parks a machine that has come to rest until a message, or `delayMs` from now. */
export function parked(
  held: LeaseRef,
  checkpoint: NewCheckpoint | null,
  delayMs: number | null,
  gather?: Gather,
): Settlement {
  return {
    ...settlement(held, 'PARK', false),
    ...(gather !== undefined && { gather }),
    ...(checkpoint !== null && { checkpoint }),
    ...(delayMs !== null && { delayMs }),
  }
}

/** Puts off a job whose machine this worker cannot run, until another one may. */
export function unsupported(held: LeaseRef, version: string, reason: string): Settlement {
  return { ...settlement(held, 'SNOOZE', false), unsupported: version, reason }
}

export function released(held: LeaseRef, reason: string): Settlement {
  return { ...settlement(held, 'RELEASE', false), reason }
}
