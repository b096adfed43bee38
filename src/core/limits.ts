/** Fixed limits: no option raises them. */
import type { PayloadLimits } from './payload.ts'

/** Attempts of a job whose definition does not set them. */
export const defaultMaxAttempts = 3

export const limits = {
  slotsMax: 1_000_000,
  capacityMax: 1_000_000_000,
  jobTypesMax: 100_000,
  /** Jobs of one `enqueueMany`, which is one write. */
  enqueueManyMax: 10_000,
  /** About how many bytes of JSON their inputs have together: one write of more would hold up a server for long. */
  enqueueManyBytesMax: 16_777_216,
  attemptsMax: 1_000_000,
  idCharsMax: 200,
  /** Of an id that is looked for: that of a hook's job is longer than the id which it is derived from. */
  knownIdCharsMax: 250,
  tagsMax: 20,
  /** Members of `meta` that a filter compares. */
  filterMetaMax: 20,
  /** The filter of a bulk operation, bytes of JSON. */
  bulkFilterBytesMax: 16_384,
  keyCharsMax: 500,
  reasonCharsMax: 500,
  priorityMax: 2 ** 31 - 1,
  /** Length of a step's name. */
  stepNameCharsMax: 200,
  /** Jobs of one batch. */
  batchSizeMax: 10_000,
  /** Memory of a thread, MiB: with less than 16, V8 may end the whole process instead of the thread. */
  threadMemoryMb: [16, 65_536],
  /** Steps of one generation of a job, and the characters of all their results as JSON: a claim returns all of them. */
  stepsMax: 10_000,
  stepsCharsMax: 16 * 1_048_576,
  /**
   * Minimum age at which retention removes an ended job, ms: callers can read its result, and its id is not used again.
   */
  retentionAgeMin: 60_000,
  /** Above the `count` of the retention plus this number of jobs, the minimum age does not apply. */
  retentionSurplusMax: { durable: 100_000, memory: 5_000 },
  /**
   * The same for a type with `keepDead`: where other processes may wait for the result of a job, they have the time to
   * see how it ended.
   */
  keepDeadAgeMin: { shared: 10_000, alone: 0 },
  /** Default of the `count` of a type, and of all types of a runtime together. */
  retentionCount: 10_000,
  retentionCountTotal: 1_000_000,
} as const

/**
 * Size of a checkpoint of a machine: context, timers, and actors with their inputs. It is deeper than a payload: an
 * event, an input or an output that is accepted has its place within the state, perhaps of a machine within others.
 */
export const checkpointLimits: PayloadLimits = { bytesMax: 16 * 1_048_576, depthMax: 200 }

/** Size of the fields of one log line: a line always fits into the log (`caps.logBytes`). */
export const logFieldLimits: PayloadLimits = { bytesMax: 32_768, depthMax: 100 }

/** Size of the `meta` of a job. */
export const metaLimits: PayloadLimits = { bytesMax: 16_384, depthMax: 100 }

/** Size of the input and of the output of a job. */
export const payloadLimits: PayloadLimits = { bytesMax: 1_048_576, depthMax: 100 }

/** The latest time that a Date can hold, ms since the epoch: a server has no later ones either. */
export const timeMsMax = 8.64e15
