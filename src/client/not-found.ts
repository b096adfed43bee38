/** The answers to those who ask for what a job is not, or does not do. */
import type { RetryReport } from '../core/call-options.ts'
import { describe, JobchartError } from '../core/errors.ts'

export const notFound = (id: string): JobchartError =>
  new JobchartError('NOT_FOUND', `job ${id} is not in the store`, {
    hint: 'It never was, or it was pruned or discarded; keep ended jobs longer with `retention`.',
  })

export const unknownType = (type: string): JobchartError =>
  new JobchartError(
    'UNKNOWN_TYPE',
    `job type ${describe(type)} is not listed in the \`jobs\` of this runtime or client`,
    {
      hint: 'Add its definition to `jobs` of createRuntime or createClient.',
    },
  )

/** @throws JobchartError NOT_FOUND, NOT_ACCEPTED */
export function expectRetried(id: string, { notFound: missing, refused }: RetryReport): void {
  if (missing.length > 0) throw notFound(id)
  if (refused.length === 0) return
  throw new JobchartError(
    'NOT_ACCEPTED',
    `job ${id} cannot be retried: it is neither dead nor cancelled, or its unique key is taken`,
    {
      hint: 'Look at record().state: wait for its end, or for the end of the job that holds the key.',
    },
  )
}
