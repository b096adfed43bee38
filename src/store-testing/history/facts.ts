/** What is known of each job from a history and the final state of a store. */
import type { HistoryEntry, JobRecord, Transition } from '../../core/record.ts'
import { isEnded } from '../../core/lifecycle.ts'
import type { Counts, SendAnswer, SettleAnswer } from '../../store.ts'
import type { AskedJob } from './lines.ts'

/** The final state of a store, when everything has come to rest. */
export interface FinalState {
  /** Every job that is there. */
  readonly records: readonly JobRecord[]
  readonly counts: Counts
  /** The transition log, as far as it is kept. */
  readonly transitions?: readonly Transition[]
  /** Store time at which it was read. */
  readonly at: number
}

/** What somebody tells of a job. */
export type Telling = Pick<HistoryEntry, 'seq' | 'at' | 'event' | 'from' | 'to' | 'attempt' | 'reason'>

/** A transition of a job, and who tells of it. */
export interface Step extends Telling {
  readonly event: Exclude<HistoryEntry['event'], 'CHECKPOINT'>
  /** When it was first acknowledged to a caller: it was written by then, and not before `at`. Infinity: never. */
  knownBy: number
  recorded: boolean
  logged: boolean
  /** Is it a SNOOZE by a worker that cannot run the job? These alone give a reason. */
  unsupported: boolean
}

/** An attempt of which the claim was answered. */
export interface Attempt {
  readonly token: string
  readonly attempt: number
  readonly generation: number
  readonly seq: number
  readonly worker: string
  /** Attempts that its claim said the job may spend, unless it has pinned its own; null: the claim did not say. */
  readonly allowed: number | null
  /** The type of the job that is inserted if its job dies before the next claim; null: none. */
  readonly onDead: string | null
  /** When it was asked for, and as of when it was given. */
  readonly askedAt: number
  readonly claimedAt: number
  /** Where its machine stood, 0 for nowhere, and the messages it was given with the claim. */
  readonly checkpoint: number
  readonly inbox: readonly number[]
  /** The last message it was given by its claim or a checkpoint, and by whatever. */
  shown: number
  given: number
  /** When its lease was last known to be granted: its claim, or an extension that was accepted. */
  grantedAt: number
  /** The lease lasts until then at least, … */
  heldUntil: number
  /** … and until then at most, with what nobody knows the answer of. */
  heldUntilMost: number
}

/** A write of a worker in the name of an attempt. */
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

/** A step of a handler whose work was begun. `seq` is that of the claim of its run. */
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

/** One insert of a job, as it was answered. */
export interface InsertFact {
  readonly asked: AskedJob
  /** `refused`: nothing was stored · `unknown`: it may have been. */
  readonly outcome: 'inserted' | 'found' | 'refused' | 'unknown'
  /** The job that is there instead, or itself. */
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

/** A checkpoint that was asked for, by itself or with a settlement. */
export interface CheckpointFact {
  readonly token: string
  readonly number: number
  /** Messages up to this one were read. */
  readonly read: number
  /** `kept`: it is written · `lost`: it was refused, its attempt was over · `unknown`: it may be written. */
  readonly outcome: 'kept' | 'lost' | 'unknown'
  /** The messages that it answered with; null: it gave no such answer. */
  readonly inbox: readonly number[] | null
}

/** A message that somebody sent. */
interface LetterFact {
  readonly key: string
  readonly outcome: SendAnswer['outcome'] | 'unknown'
  readonly answeredAt: number
}

/** What is known of a job's machine. */
export interface MachineFacts {
  readonly checkpoints: CheckpointFact[]
  readonly messages: LetterFact[]
  /** Its checkpoints as the log has them. */
  readonly logged: { readonly seq: number; readonly attempt: number }[]
  /** seq of each RETRY that sent it back to its start. */
  readonly restarts: number[]
  /** Has one of its checkpoints asked to be told of a cancel? */
  takesCancel: boolean
  /** Was it given a new input while it waited? Then it started over, nobody knows when. */
  replaced: boolean
}

export interface JobFacts {
  readonly id: string
  readonly inserts: InsertFact[]
  /** By seq, once all is gathered. */
  steps: Step[]
  readonly attempts: Map<string, Attempt>
  readonly writes: Write[]
  readonly runs: RunFact[]
  readonly stepsBegun: StepFact[]
  readonly stepsStored: StoredStep[]
  readonly cancels: CancelFact[]
  /** null while nobody has told of one. */
  machine: MachineFacts | null
  record: JobRecord | null
  discarded: boolean
}

export interface Contradiction {
  readonly id: string
  readonly ways: readonly [string, string]
}

/** Its machine, to be written to. */
export const machineOf = (job: JobFacts): MachineFacts =>
  (job.machine ??= {
    checkpoints: [],
    messages: [],
    logged: [],
    restarts: [],
    takesCancel: false,
    replaced: false,
  })

/** What all who tell of a transition must agree on. */
export const wording = ({ seq, at, event, from, to, attempt }: Telling): string =>
  `${seq} ${event} ${from ?? '·'} → ${to}, attempt ${attempt}, at ${at}`

/** Are the steps of a job known from its enqueue on, without a gap, to its record or its end? */
export function isWhole({ steps, record }: JobFacts): boolean {
  if (steps[0]?.event !== 'ENQUEUE') return false
  if (record !== null) return record.history[0]?.event === 'ENQUEUE'
  const last = steps.at(-1)
  return steps.every((step, i) => i === 0 || step.from === steps[i - 1]?.to) && last !== undefined && isEnded(last.to)
}
