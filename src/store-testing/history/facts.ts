/** The facts of each job, from a history and the final state of a store. */
import type { HistoryEntry, JobRecord, Transition } from '../../core/record.ts'
import { isEnded } from '../../core/lifecycle.ts'
import type { Counts, SendAnswer, SettleAnswer } from '../../store.ts'
import type { AskedJob } from './lines.ts'

/** The final state of a store, after all calls have ended. */
export interface FinalState {
  /** The records of all jobs. */
  readonly records: readonly JobRecord[]
  readonly counts: Counts
  /** The transition log, as far as it is kept. */
  readonly transitions?: readonly Transition[]
  /** Store time at which it was read. */
  readonly at: number
}

/** What somebody tells of a job. */
export type Telling = Pick<HistoryEntry, 'seq' | 'at' | 'event' | 'from' | 'to' | 'attempt' | 'reason'>

/** A transition of a job, and the sources that report it. */
export interface Step extends Telling {
  readonly event: Exclude<HistoryEntry['event'], 'CHECKPOINT'>
  /** When it was first acknowledged to a caller: it was written between `at` and then. Infinity: never. */
  knownBy: number
  recorded: boolean
  logged: boolean
  /** Is it a SNOOZE by a worker that cannot run the job? Only these have a reason. */
  unsupported: boolean
}

/** An attempt whose claim was answered. */
export interface Attempt {
  readonly token: string
  readonly attempt: number
  readonly generation: number
  readonly seq: number
  readonly worker: string
  /** `maxAttempts` of its claim, unless the job has pinned its own; null: the claim had none. */
  readonly allowed: number | null
  /** The type of the job that is inserted if its job dies before the next claim; null: none. */
  readonly onDead: string | null
  /** When the claim was called, and its store time. */
  readonly askedAt: number
  readonly claimedAt: number
  /** The number of its checkpoint at the claim, 0 for none, and the numbers of its unread messages. */
  readonly checkpoint: number
  readonly inbox: readonly number[]
  /** The last message it got by its claim or a checkpoint, and by any answer. */
  shown: number
  given: number
  /** When its lease was last granted: by its claim, or by an accepted extension. */
  grantedAt: number
  /** The earliest end of its lease. */
  heldUntil: number
  /** The latest end of its lease, if all extensions without an answer were written. */
  heldUntilMost: number
}

/** A write of a worker for an attempt. */
export interface Write {
  readonly kind: 'settle' | 'extend' | 'checkpoint'
  readonly token: string
  readonly attempt: number
  readonly accepted: boolean
  readonly invokedAt: number
  readonly answeredAt: number
  /** Of a settle: its machine took its cancel. */
  readonly cancelTaken?: boolean
  /** Of an accepted settle. */
  readonly answer: SettleAnswer | null
}

export interface RunFact {
  readonly seq: number | null
  readonly attempt: number
  readonly generation: number
  readonly startedAt: number
  /** null: it is not known to have ended. */
  readonly endedAt: number | null
}

/** A step that a handler has started. `seq` is that of the claim of its run. */
export interface StepFact {
  readonly name: string
  readonly seq: number | null
  readonly attempt: number
  readonly generation: number
  readonly begunAt: number
}

/** The result of a step that is stored. */
interface StoredStep {
  readonly name: string
  readonly token: string
  /** When that was acknowledged. */
  readonly storedBy: number
}

/** One insert of a job, and its answer. */
export interface InsertFact {
  readonly asked: AskedJob
  /** `refused`: nothing was stored · `unknown`: it may have been. */
  readonly outcome: 'inserted' | 'found' | 'refused' | 'unknown'
  /** The id of the existing job, or of the new one. */
  readonly holder: string
  readonly invokedAt: number
  readonly answeredAt: number
}

interface CancelFact {
  readonly invokedAt: number
  readonly answeredAt: number
  /** seq of its transition; null if the mark was set before. */
  readonly seq: number | null
}

/** A requested checkpoint, by itself or with a settlement. */
export interface CheckpointFact {
  readonly token: string
  readonly number: number
  /** Messages up to this one were read. */
  readonly read: number
  /** Those that stay in the inbox although they were read. */
  readonly deferred?: readonly number[]
  /** Has its machine ended? */
  readonly isDone?: true
  /**
   * `kept`: it was written · `lost`: it was refused, because its attempt had ended · `unknown`: it may have been
   * written.
   */
  readonly outcome: 'kept' | 'lost' | 'unknown'
  /** The messages in its answer; null without an answer. */
  readonly inbox: readonly number[] | null
}

/** A message that was sent. */
interface LetterFact {
  readonly key: string
  readonly outcome: SendAnswer['outcome'] | 'unknown'
  readonly answeredAt: number
}

/** The facts of a job's machine. */
export interface MachineFacts {
  readonly checkpoints: CheckpointFact[]
  readonly messages: LetterFact[]
  /** Its checkpoints in the log. */
  readonly logged: { readonly seq: number; readonly attempt: number }[]
  /** seq of each RETRY from the start. */
  readonly restarts: number[]
  /** Has one of its checkpoints `takesCancel`? */
  takesCancel: boolean
  /** Was its input replaced while it waited? Then it started from the beginning at an unknown time. */
  replaced: boolean
}

export interface JobFacts {
  readonly id: string
  readonly inserts: InsertFact[]
  /** Ordered by seq after gathering. */
  steps: Step[]
  readonly attempts: Map<string, Attempt>
  readonly writes: Write[]
  readonly runs: RunFact[]
  readonly stepsBegun: StepFact[]
  readonly stepsStored: StoredStep[]
  readonly cancels: CancelFact[]
  /** null while no source has reported one. */
  machine: MachineFacts | null
  record: JobRecord | null
  discarded: boolean
}

export interface Contradiction {
  readonly id: string
  readonly ways: readonly [string, string]
}

/** The facts of its machine, created if missing. */
export const machineOf = (job: JobFacts): MachineFacts =>
  (job.machine ??= {
    checkpoints: [],
    messages: [],
    logged: [],
    restarts: [],
    takesCancel: false,
    replaced: false,
  })

/** The fields of a transition that all sources must report equally. */
export const wording = ({ seq, at, event, from, to, attempt }: Telling): string =>
  `${seq} ${event} ${from ?? '·'} → ${to}, attempt ${attempt}, at ${at}`

/** Are the transitions of a job known without a gap from its enqueue to its record or its end? */
export function isWhole({ steps, record }: JobFacts): boolean {
  if (steps[0]?.event !== 'ENQUEUE') return false
  if (record !== null) return record.history[0]?.event === 'ENQUEUE'
  const last = steps.at(-1)
  return steps.every((step, i) => i === 0 || step.from === steps[i - 1]?.to) && last !== undefined && isEnded(last.to)
}
