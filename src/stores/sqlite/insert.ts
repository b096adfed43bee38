/** New jobs as they are passed to the engine. */
import { insertFailed } from '../../core/failures.ts'
import { insert } from '../../core/insert.ts'
import type { InsertUnit } from '../../core/unit-of-work.ts'
import { recordError, type ErrorRecord } from '../../core/failure.ts'
import type { Parent } from '../../core/machine-record.ts'
import type { InsertAnswer, InsertRequest, NewJob } from '../../store.ts'
import { packed, type Row, type StoredOptions } from './row.ts'

/** A new job as it is passed to the engine: its payload as JSON text, and only fields of the contract. */
export interface PackedJob extends Omit<
  NewJob,
  'input' | 'tags' | 'meta' | 'parent' | 'version' | 'checkpoint' | 'until' | 'pins' | 'keyWeight'
> {
  readonly input: string | null
  readonly tags: string | null
  readonly meta: string | null
  readonly parent: Parent | null
  readonly version: string | null
  readonly checkpoint: string | null
  readonly options: string | null
}

export interface PackedRequest extends Omit<InsertRequest, 'jobs'> {
  readonly jobs: readonly PackedJob[]
}

/** A request that cannot be packed, and so cannot be written. */
export interface Unpackable {
  readonly ids: readonly string[]
  readonly error: ErrorRecord
}

export function packRequest({ jobs, capacity, queue }: InsertRequest): PackedRequest | Unpackable {
  try {
    return { jobs: jobs.map(packJob), capacity, ...(queue && { queue }) }
  } catch (error) {
    return { ids: jobs.map(({ id }) => id), error: recordError(error) }
  }
}

export const insertPacked = (unit: InsertUnit<Row, PackedJob>, request: PackedRequest | Unpackable): InsertAnswer[] =>
  'error' in request ? refused(request.error, request) : insert(unit, request)

export const refused = (error: ErrorRecord, request: PackedRequest | Unpackable): InsertAnswer[] =>
  insertFailed('error' in request ? request.ids : request.jobs.map(({ id }) => id), error)

export const packJob = (job: NewJob): PackedJob => ({
  id: job.id,
  type: job.type,
  input: packed(job.input),
  priority: job.priority,
  maxAttempts: job.maxAttempts,
  tags: job.tags.length === 0 ? null : JSON.stringify(job.tags),
  meta: packed(job.meta),
  concurrencyKey: job.concurrencyKey,
  runAt: job.runAt,
  delayMs: job.delayMs,
  key: job.key,
  onConflict: job.onConflict,
  parent: job.parent ?? null,
  version: job.version ?? null,
  checkpoint: packed(job.checkpoint),
  options: packOptions(job),
})

/** The options as they are stored; null if there are none. */
export const packOptions = ({ until, pins, keyWeight, onDead }: StoredOptions): string | null =>
  until === undefined && pins === undefined && keyWeight === undefined && onDead === undefined
    ? null
    : JSON.stringify({ until, pins, keyWeight, onDead })
