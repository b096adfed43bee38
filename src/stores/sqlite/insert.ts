/** New jobs as they are passed to the engine: their payloads as JSON text. */
import { Packed } from '../../core/cell.ts'
import { recordError, type ErrorRecord } from '../../core/failure.ts'
import { insertFailed } from '../../core/failures.ts'
import { insert } from '../../core/insert.ts'
import type { JobToInsert } from '../../core/job-row.ts'
import type { Unit } from '../../core/unit.ts'
import type { InsertAnswer, InsertRequest, NewJob } from '../../store.ts'
import { noTags, type Row } from './row.ts'

export interface PackedRequest extends Omit<InsertRequest, 'jobs'> {
  readonly jobs: readonly JobToInsert[]
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

export const insertPacked = (unit: Unit<Row>, request: PackedRequest | Unpackable): InsertAnswer[] =>
  'error' in request ? refused(request.error, request) : insert(unit, request)

export const refused = (error: ErrorRecord, request: PackedRequest | Unpackable): InsertAnswer[] =>
  insertFailed('error' in request ? request.ids : request.jobs.map(({ id }) => id), error)

/** Only fields of the contract. Most jobs have no rare ones: a spread costs as much as the rest. */
export function packJob(job: NewJob): JobToInsert {
  const { tags } = job
  const plain = {
    id: job.id,
    type: job.type,
    input: packed(job.input),
    priority: job.priority,
    maxAttempts: job.maxAttempts,
    tags: tags.length === 0 ? noTags : packed(tags),
    concurrencyKey: job.concurrencyKey,
    runAt: job.runAt,
    delayMs: job.delayMs,
    key: job.key,
    onConflict: job.onConflict,
  }
  const { meta, parent, version, checkpoint, until, pins, keyWeight } = job
  const isOfMachine = parent !== undefined || version !== undefined || checkpoint !== undefined
  const isPlain = meta === undefined && until === undefined && pins === undefined && keyWeight === undefined
  if (isPlain && !isOfMachine) return plain
  return {
    ...plain,
    ...(meta !== undefined && { meta: packed(meta) }),
    ...(parent !== undefined && { parent }),
    ...(version !== undefined && { version }),
    ...(checkpoint !== undefined && { checkpoint: packed(checkpoint) }),
    ...(until !== undefined && { until }),
    ...(pins !== undefined && { pins }),
    ...(keyWeight !== undefined && { keyWeight }),
  }
}

const packed = <T>(value: T): Packed<T> | T => (value === undefined ? value : new Packed<T>(JSON.stringify(value)))

/** A request whose packed values have come from another thread, as objects without their class. */
export const unpackedRequest = (request: PackedRequest | Unpackable): PackedRequest | Unpackable =>
  'error' in request ? request : { ...request, jobs: request.jobs.map(revivedJob) }

export function revivedJob(job: JobToInsert): JobToInsert {
  const { input, tags, meta, checkpoint } = job
  return {
    ...job,
    input: revived(input),
    tags: revived(tags),
    ...(meta !== undefined && { meta: revived(meta) }),
    ...(checkpoint !== undefined && { checkpoint: revived(checkpoint) }),
  }
}

const revived = <T>(value: T): T =>
  value !== null && typeof value === 'object' && 'json' in value ? (new Packed(value.json as string) as T) : value
