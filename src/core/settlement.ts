/**
 * The end of an attempt as data: constructors make a settlement, and one conditional write of the store applies it.
 *
 * The target state of a running job is taken from the chart here. If a cancel was committed first, the store takes the
 * chart's arrow out of `cancelling` instead: only the store knows which of the two was first.
 */
import type { ErrorRecord } from './failure.ts'
import { nextArrow, type ArrowEvent, type JobCounters, type JobState } from './lifecycle.ts'
import type { CheckIn, LogLine } from './record.ts'
import type { Gather, NewCheckpoint } from './machine-record.ts'
import type { Json } from './payload.ts'

export type SettleEvent = Extract<ArrowEvent, 'COMPLETE' | 'FAIL' | 'SNOOZE' | 'RELEASE' | 'PARK'>

/** The lease of the attempt that is settled, and the counters of its job. */
export interface LeaseRef extends JobCounters {
  readonly id: string
  readonly token: string
}

/** Reports of a run that are not written yet. */
interface HeartbeatNews {
  readonly checkin?: CheckIn
  readonly logs?: readonly LogLine[]
}

export interface Settlement extends HeartbeatNews {
  readonly id: string
  readonly attempt: number
  readonly token: string
  readonly event: SettleEvent
  /** The target state if the job is still `running`. */
  readonly to: JobState
  readonly fatal?: boolean
  readonly output?: Json
  readonly error?: ErrorRecord
  /** For a timed state: due this many ms after the store's now. */
  readonly delayMs?: number
  readonly reason?: string
  /** Of a machine job that completes: its machine has handled the cancel message, so the job ends as cancelled. */
  readonly cancelTaken?: boolean
  /** Of a machine job that completes: how its machine has ended, for `MachineCounts.outcomes`. */
  readonly outcome?: string
  /** Of a machine job: the state of its machine at the end of the attempt, written together with the end. */
  readonly checkpoint?: NewCheckpoint
  /**
   * Of a SNOOZE: the version of the job's machine that the worker cannot run, for the given reason. The store sets when
   * the job is offered again, and keeps all but the first of such claims out of its history.
   */
  readonly unsupported?: string
  /** Of a PARK: messages that do not wake the job at once. Left out: every message does. */
  readonly gather?: Gather
}

function settlement(
  lease: LeaseRef,
  event: SettleEvent,
  fatal: boolean,
): { -readonly [K in keyof Settlement]: Settlement[K] } {
  const arrow = nextArrow('running', event, lease, fatal)
  if (arrow === null) throw new TypeError(`the chart has no ${event} from running`)
  return { id: lease.id, attempt: lease.attempt, token: lease.token, event, to: arrow.to }
}

export function completed(lease: LeaseRef, output: Json | undefined): Settlement {
  const made = settlement(lease, 'COMPLETE', false)
  if (output !== undefined) made.output = output
  return made
}

/** Would a failure now be followed by another attempt? */
export const mayRetry = (lease: LeaseRef): boolean => nextArrow('running', 'FAIL', lease, false)?.to === 'retrying'

export function retryAfter(lease: LeaseRef, error: ErrorRecord, delayMs: number): Settlement {
  return { ...settlement(lease, 'FAIL', false), error, delayMs }
}

export function dead(lease: LeaseRef, error: ErrorRecord): Settlement {
  return { ...settlement(lease, 'FAIL', true), error, fatal: true }
}

export function snoozedFor(lease: LeaseRef, delayMs: number): Settlement {
  return { ...settlement(lease, 'SNOOZE', false), delayMs }
}

/** Parks a machine job until a message arrives, or for `delayMs`. */
export function parked(
  lease: LeaseRef,
  checkpoint: NewCheckpoint | null,
  delayMs: number | null,
  gather?: Gather,
): Settlement {
  return {
    ...settlement(lease, 'PARK', false),
    ...(gather !== undefined && { gather }),
    ...(checkpoint !== null && { checkpoint }),
    ...(delayMs !== null && { delayMs }),
  }
}

/** Postpones a job whose machine this worker cannot run. */
export function unsupported(lease: LeaseRef, version: string, reason: string): Settlement {
  return { ...settlement(lease, 'SNOOZE', false), unsupported: version, reason }
}

export function released(lease: LeaseRef, reason: string): Settlement {
  return { ...settlement(lease, 'RELEASE', false), reason }
}
