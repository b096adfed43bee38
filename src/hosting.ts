/** A machine in a job's seat: what its host asks of the flow, and what the flow asks of a host. */
import type { EnqueueOptions } from './call-options.ts'
import type { Timer } from './clock.ts'
import type { JobDefinition } from './define-job.ts'
import type { JobRecord } from './job/job.ts'
import type { Checkpoint, Gather, Letter, Mail, NewCheckpoint } from './job/machine.ts'
import type { Json } from './job/payload.ts'
import type { Logger } from './log.ts'

/** How a child ended, as its parent hears of it. */
export type ChildEnd = Omit<Extract<Letter, { readonly kind: 'ended' }>, 'kind'>

/** One attempt of a job, as the host of its machine sees it. */
export interface Seat {
  readonly id: string
  readonly type: string
  /** Goes up when the job is sent through again after its end. */
  readonly generation: number
  /** Validated again, as for a handler. */
  readonly input: unknown
  /** Where the machine stood when it was last at rest. */
  readonly checkpoint: Checkpoint | null
  /** Letters it has not read. More come to `mail`. */
  readonly inbox: readonly Mail[]
  /** Has an attempt of the job failed before? */
  readonly hasFailed: () => boolean
  readonly signal: AbortSignal
  readonly logger: Logger
  /** ms since the epoch, by the store's clock. */
  readonly now: () => number
  readonly after: (delayMs: number, run: () => void) => Timer
  /** From now on calls the listener with letters that arrive, in order. */
  readonly mail: (listener: (letters: readonly Mail[]) => void) => void
  /**
   * Writes a checkpoint; gives the letters that have not been read.
   * @throws JobchartError LEASE_LOST if the job is no longer this attempt's; STORE_UNAVAILABLE
   */
  readonly commit: (checkpoint: NewCheckpoint) => Promise<readonly Mail[]>
  /** Keeps a line with the job. */
  readonly log: (message: string) => void
  /** Tells an event that the machine has emitted. */
  readonly emitted: (event: Json) => void
  /** Enqueues a job as a child of this one. Its end comes as a letter; if it has ended before, it is the answer. */
  readonly invoke: (
    job: JobDefinition,
    input: unknown,
    options: EnqueueOptions,
    checkins: boolean,
  ) => Promise<ChildEnd | null>
  /** Cancels a child that is left. */
  readonly cancel: (id: string) => Promise<unknown>
}

/** How an attempt of a machine ends, if it does not fail: at its final state, or parked until a letter or a time. */
export type Rest =
  | {
      readonly kind: 'done'
      readonly output: unknown
      readonly checkpoint: NewCheckpoint | null
      /** Has the machine taken the cancel that it was sent? Then its job is cancelled, else the cancel came too late. */
      readonly cancelTaken: boolean
    }
  | {
      readonly kind: 'parked'
      readonly checkpoint: NewCheckpoint | null
      /** ms since the epoch; null: until a letter. */
      readonly wakeAt: number | null
      readonly gather?: Gather
      readonly reason?: string
    }

/** Where a machine stands, as it is seen from outside. */
export interface MachineView {
  /** The state: `'paid'`, or `{ paid: 'shipping' }`. */
  readonly value: Json
  readonly context: Json
  readonly tags: readonly string[]
  readonly status: 'active' | 'done' | 'error' | 'stopped'
  readonly output: Json | undefined
  /** Is it in this state, given as a path (`'paid.shipping'`)? */
  readonly matches: (state: string) => boolean
  readonly hasTag: (tag: string) => boolean
  /** Would it take this event now? */
  readonly can: (event: { readonly type: string }) => boolean
}

/**
 * Where the machine of a job stands at a time (ms since the epoch), letters that it has not read and timers that are due
 * included.
 * @throws JobchartError UNSUPPORTED; NOT_ACCEPTED if the machine throws
 */
export type MachineViewer = (record: JobRecord, now: number) => MachineView

/** The machine of a job type, hosted. */
export interface MachineHost {
  /**
   * Brings the machine from where it stands to its next rest.
   * @throws what its actors and actions throw, and why it was asked to end
   */
  readonly host: (seat: Seat) => Promise<Rest>
  /** Looks at jobs of one store. */
  readonly viewer: () => MachineViewer
  /** Was the machine of a waiting job defined otherwise, so that it has to go on before it waits for the right things? */
  readonly isOutdated: (record: JobRecord) => boolean
  /** Its versions, for other processes to compare. */
  readonly definitions: string
  /** Where it stood at a checkpoint. */
  readonly viewAt: (state: Json) => MachineView
  /** Refuses a name that is no state and no tag of any of its versions. @throws JobchartError INVALID_OPTION, hinting at the nearest */
  readonly checkName: (name: string) => void
  /** The jobs that its actors enqueue. */
  readonly invokes: ReadonlySet<JobDefinition>
  /** The same, and knows this other version of the machine as well. */
  readonly beside: (other: MachineHost) => MachineHost
  /** Is the other one of its versions? */
  readonly knows: (other: MachineHost) => boolean
}
