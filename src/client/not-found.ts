/** Errors for jobs that do not exist or are of another type, types that are not listed and retries that are refused. */
import type { RetryReport } from '../core/call-options.ts'
import { describe, invalidOption, JobchartError } from '../core/errors.ts'
import type { JobRecord } from '../core/record.ts'

export const notFound = (id: string): JobchartError =>
  new JobchartError('NOT_FOUND', `job ${id} is not in the store`, {
    hint: 'Check the id. Ended jobs are pruned after a while (see `retention`) or discarded.',
  })

export const unknownType = (type: string): JobchartError =>
  new JobchartError(
    'UNKNOWN_TYPE',
    `job type ${describe(type)} is not listed in the \`jobs\` of this runtime or client`,
    {
      hint: 'Add its definition to `jobs` of createRuntime or createClient.',
    },
  )

/** @throws JobchartError INVALID_OPTION if the job is of another type than the definition that came with its id */
export function checkType({ id, type }: Pick<JobRecord, 'id' | 'type'>, expected: string): void {
  if (type === expected) return
  const hint = 'Pass the definition of its type, or the id alone.'
  throw invalidOption(`the definition given with job ${id}`, `one of type ${type}`, expected, hint)
}

/** @throws JobchartError NOT_FOUND, NOT_ACCEPTED */
export function expectRetried(id: string, { notFound: missing, refused }: RetryReport): void {
  if (missing.length > 0) throw notFound(id)
  if (refused.length === 0) return
  throw new JobchartError(
    'NOT_ACCEPTED',
    `job ${id} cannot be retried: it is neither dead nor cancelled, or its unique key is taken`,
    {
      hint: 'See record().state: wait for its end, or for the end of the job that holds the key.',
    },
  )
}
