/**
 * The lines of a history: the request and the answer of each call to a store, and the start and the end of each run. A
 * line is plain JSON. A call has two lines, so that a call whose process was killed in between is known to have an
 * unknown result.
 */
import type { JobRecord } from '../../core/record.ts'
import type { NewCheckpoint } from '../../core/machine-record.ts'
import type { Settlement } from '../../core/settlement.ts'
import type {
  HeartbeatAnswer,
  CancelAnswer,
  CancelRequest,
  BulkAnswer,
  CheckpointAnswer,
  ClaimedJob,
  ClaimRequest,
  DiscardAnswer,
  ExtendRequest,
  InsertAnswer,
  WrittenTransition,
  NewJob,
  RetentionPolicy,
  RetryAnswer,
  SendAnswer,
  SendRequest,
  SettleAnswer,
} from '../../store.ts'

interface JobIds {
  readonly ids: readonly string[]
}

/** A requested job, without its input, and without the content of the checkpoint it starts from. */
export type AskedJob = Pick<
  NewJob,
  'id' | 'type' | 'maxAttempts' | 'key' | 'concurrencyKey' | 'onConflict' | 'until' | 'parent'
> & { readonly forked?: true; readonly pinned?: true }

/** By type: how many attempts a claim allows the jobs that have not pinned theirs. */
export type AskedAttempts = Readonly<Record<string, number>>

/** By type: the type of the job that a claim says is inserted when one of its jobs dies. */
export type AskedHooks = Readonly<Record<string, string>>

/** Identifies an attempt. */
export type AttemptName = Pick<Settlement, 'id' | 'attempt' | 'token'>

/** A claimed job. */
export interface GivenJob extends Pick<
  ClaimedJob,
  'id' | 'type' | 'attempt' | 'maxAttempts' | 'generation' | 'token' | 'startedAt' | 'seq'
> {
  /** The number of its checkpoint, if it has one. */
  readonly checkpoint?: number
  /** The numbers of its messages, if there are any. */
  readonly inbox?: readonly number[]
}

/** A requested checkpoint, without the state. */
export interface AskedCheckpoint extends Pick<NewCheckpoint, 'number' | 'read' | 'takesCancel' | 'deferred'> {
  /** Has its machine ended? */
  readonly isDone?: true
}

/** A requested settlement. */
export interface AskedEnd extends AttemptName, Pick<Settlement, 'event' | 'cancelTaken'> {
  readonly checkpoint?: AskedCheckpoint
  /** Is the job postponed because the worker cannot run it? */
  readonly unsupported?: true
}

/** The answer to a heartbeat; of messages only their numbers. */
export interface GivenBeat extends Pick<HeartbeatAnswer, 'outcome'> {
  readonly inbox?: readonly number[]
}

/** The answer to a checkpoint; of messages only their numbers. */
export interface GivenCheckpoint extends Pick<CheckpointAnswer, 'outcome' | 'seq' | 'maxAttempts'> {
  readonly inbox: readonly number[]
}

/** A run of a handler. `seq` is that of its claim; null if the record did not have it. */
export interface RunStart extends Pick<JobRecord, 'id' | 'type' | 'attempt' | 'generation'> {
  readonly seq: number | null
}

/** A heartbeat of one attempt; of steps only their names. */
export interface AskedBeat extends AttemptName {
  readonly steps?: readonly string[]
}

/** The start of a step. */
interface StepStart extends RunStart {
  readonly name: string
}

/**
 * What is recorded of each operation, without payloads, logs and check-ins. `run` and `step` are recorded by handlers.
 */
export interface RecordedCalls {
  readonly insert: { readonly asked: readonly (readonly AskedJob[])[]; readonly answer: readonly InsertAnswer[][] }
  readonly claim: {
    readonly asked: Omit<ClaimRequest, 'demand'> & {
      readonly maxAttempts?: AskedAttempts
      readonly onDead?: AskedHooks
    }
    readonly answer: readonly GivenJob[]
  }
  readonly settle: { readonly asked: readonly AskedEnd[]; readonly answer: readonly SettleAnswer[] }
  readonly extend: {
    readonly asked: Pick<ExtendRequest, 'worker' | 'leaseMs'> & { readonly heartbeats: readonly AskedBeat[] }
    readonly answer: readonly GivenBeat[]
  }
  readonly checkpoint: {
    readonly asked: readonly (AttemptName & { readonly checkpoint: AskedCheckpoint })[]
    readonly answer: readonly GivenCheckpoint[]
  }
  readonly send: {
    readonly asked: readonly Pick<SendRequest, 'id' | 'key' | 'expect'>[]
    readonly answer: readonly SendAnswer[]
  }
  readonly cancel: { readonly asked: readonly CancelRequest[]; readonly answer: readonly CancelAnswer[] }
  readonly queue: {
    readonly asked: { readonly type: string; readonly paused: boolean }
    readonly answer: { readonly paused: boolean }
  }
  readonly retry: { readonly asked: JobIds & { readonly fromStart?: true }; readonly answer: RetryAnswer }
  readonly discard: { readonly asked: JobIds; readonly answer: DiscardAnswer }
  /** A start or an advance of a bulk operation. */
  readonly bulk: { readonly asked: { readonly id: string }; readonly answer: BulkAnswer }
  readonly promote: { readonly asked: { readonly limit: number }; readonly answer: readonly WrittenTransition[] }
  readonly rescue: { readonly asked: { readonly limit: number }; readonly answer: readonly WrittenTransition[] }
  readonly retain: {
    readonly asked: {
      readonly types: readonly (readonly [type: string, policy: RetentionPolicy])[]
      readonly others: RetentionPolicy
    }
    readonly answer: null
  }
  readonly prune: {
    readonly asked: { readonly limit: number }
    readonly answer: { readonly pruned: number }
  }
  readonly run: { readonly asked: RunStart; readonly answer: null }
  readonly step: { readonly asked: StepStart; readonly answer: null }
}

export type RecordedOperation = keyof RecordedCalls

interface Line<Op> {
  readonly op: Op
  /** The same in both lines of a call, and in no other. */
  readonly call: string
  /** Store time at which the line was written, as its process knows it. */
  readonly at: number
}

type InvokeLine<Op extends RecordedOperation> = Line<Op> & { readonly invoke: RecordedCalls[Op]['asked'] }
type OkLine<Op extends RecordedOperation> = Line<Op> & { readonly ok: RecordedCalls[Op]['answer'] }

/**
 * One line. `invoke`: the call is made next · `ok`: its answer · `fail`: it was refused, and nothing was written (of a
 * run: the handler threw) · `unknown`: it failed without an answer, and may or may not have been written.
 */
export type HistoryLine =
  | { [Op in RecordedOperation]: InvokeLine<Op> | OkLine<Op> }[RecordedOperation]
  | (Line<RecordedOperation> & ({ readonly fail: string } | { readonly unknown: string }))

/** A call, combined from its lines. */
export type HistoryCall = { [Op in RecordedOperation]: CallOf<Op> }[RecordedOperation]

export interface CallOf<Op extends RecordedOperation> {
  readonly op: Op
  readonly asked: RecordedCalls[Op]['asked']
  readonly invokedAt: number
  /** null: refused, or unknown. */
  readonly answer: RecordedCalls[Op]['answer'] | null
  readonly outcome: 'ok' | 'fail' | 'unknown'
  /** null: never. */
  readonly answeredAt: number | null
}

/** Stores a line. The line must be stored when it returns, because the process may be killed right after. */
export type HistorySink = (line: HistoryLine) => void

/**
 * Combines lines into calls. The lines of one call must be in their order; lines of different calls and processes may
 * be in any order. Calls without a second line come last: their results are unknown.
 */
export function* callsOf(lines: Iterable<HistoryLine>): Generator<HistoryCall> {
  const open = new Map<string, HistoryLine & { readonly invoke: unknown }>()
  for (const line of lines) {
    if ('invoke' in line) {
      open.set(line.call, line)
      continue
    }
    const begin = open.get(line.call)
    if (begin === undefined) throw new TypeError(`history: call ${line.call} (${line.op}) ends without a start`)
    open.delete(line.call)
    if ('ok' in line) yield callOf(begin, 'ok', line.ok, line.at)
    else yield callOf(begin, 'fail' in line ? 'fail' : 'unknown', null, line.at)
  }
  for (const begin of open.values()) yield callOf(begin, 'unknown', null, null)
}

function callOf(
  { op, invoke, at }: HistoryLine & { readonly invoke: unknown },
  outcome: 'ok' | 'fail' | 'unknown',
  answer: unknown,
  answeredAt: number | null,
): HistoryCall {
  // Both lines have the same `call`, so that request and answer are of the same operation.
  return { op, asked: invoke, invokedAt: at, answer, outcome, answeredAt } as HistoryCall
}
