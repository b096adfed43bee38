/** Validates input against the schema of its job: at the enqueue, and again before a run, because a deployment may change it. */
import type { JobDefinition } from '../core/definition.ts'
import { JobchartError } from '../core/errors.ts'
import { recordError } from '../core/failure.ts'

/**
 * The input as the handler gets it.
 * @throws JobchartError INVALID_INPUT with every issue of the schema in its message
 */
export async function parseInput(job: JobDefinition, input: unknown): Promise<unknown> {
  if (job.schema === null) return input
  let result
  try {
    result = await job.schema['~standard'].validate(input)
  } catch (error) {
    throw new JobchartError('INVALID_INPUT', `the schema of job ${job.type} threw: ${recordError(error).message}`, {
      hint: 'A schema should report issues, not throw.',
      cause: error,
    })
  }
  if (result.issues === undefined) return result.value
  const issues = result.issues.slice(0, 10).map(({ message, path }) => {
    const at = (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    return at === '' ? message : `${at}: ${message}`
  })
  throw new JobchartError('INVALID_INPUT', `input of job ${job.type}: ${issues.join('; ')}`, {
    hint: 'Correct the input at the paths that the message names; `cause` holds every issue of the schema.',
    cause: result.issues,
  })
}
