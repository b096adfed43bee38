/** Limits that no option can raise. */
import type { PayloadLimits } from './payload.ts'

/** Attempts of a job whose definition does not say. */
export const defaultMaxAttempts = 3

export const limits = {
  slotsMax: 1_000_000,
  capacityMax: 1_000_000_000,
  jobTypesMax: 100_000,
  /** Jobs of one `enqueueMany`: they are one write. */
  enqueueManyMax: 10_000,
  attemptsMax: 1_000_000,
  idCharsMax: 200,
  tagsMax: 20,
  /** Members of `meta` that a filter compares. */
  filterMetaMax: 20,
  keyCharsMax: 500,
  reasonCharsMax: 500,
  priorityMax: 2 ** 31 - 1,
  /** Length of a step's name. */
  stepNameCharsMax: 200,
  /** Jobs of one batch. */
  batchSizeMax: 10_000,
  /** Memory of a thread, MiB: with less than 16, V8 may end the whole process instead of the thread. */
  threadMemoryMb: [16, 65_536],
  /** Steps of one generation of a job, and the characters of all their results as JSON: a claim hands them all out. */
  stepsMax: 10_000,
  stepsCharsMax: 16 * 1_048_576,
  /** An ended job is kept so long, whatever the retention says, so that its result can be asked for and its id is known, ms … */
  retentionAgeMin: 60_000,
  /** … unless more of its state are kept than the retention allows, and so many more: on a durable store, and in memory. */
  retentionSurplusMax: { durable: 100_000, memory: 5_000 },
} as const

/** What a checkpoint of a machine may weigh: its context, its timers, its actors with what they were given. */
export const checkpointLimits: PayloadLimits = { bytesMax: 16 * 1_048_576, depthMax: 100 }

/** What the fields of one line of a job's log may weigh: so that a line always fits into the log (`caps.logBytes`). */
export const logFieldLimits: PayloadLimits = { bytesMax: 32_768, depthMax: 100 }

/** What the `meta` of a job may weigh. */
export const metaLimits: PayloadLimits = { bytesMax: 16_384, depthMax: 100 }

/** What a job's payloads and outputs may weigh. */
export const payloadLimits: PayloadLimits = { bytesMax: 1_048_576, depthMax: 100 }
