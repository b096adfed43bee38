/** The limits nobody may lift. */
import type { PayloadLimits } from './job/payload.ts'

export const limits = {
  slotsMax: 1_000_000,
  capacityMax: 1_000_000_000,
  jobTypesMax: 100_000,
  /** Jobs of one `enqueueMany`: they are one write. */
  enqueueManyMax: 10_000,
  idCharsMax: 200,
  tagsMax: 20,
  keyCharsMax: 500,
  reasonCharsMax: 500,
  priorityMax: 2 ** 31 - 1,
} as const

/** What a job's payloads and outputs may weigh. */
export const payloadLimits: PayloadLimits = { bytesMax: 1_048_576, depthMax: 100 }
