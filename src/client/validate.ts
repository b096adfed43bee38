/**
 * Validates input against the schema of its job, at the enqueue, and again before a run, because a deployment may
 * change it; and events against the schemas of a machine's events, when they are sent.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JobDefinition } from '../core/definition.ts'
import { JobchartError } from '../core/errors.ts'
import { recordError } from '../core/failure.ts'
import type { Json } from '../core/payload.ts'
import { ownValue } from '../core/own-value.ts'

/**
 * The input as the handler gets it.
 * @throws JobchartError INVALID_INPUT with every issue of the schema in its message
 */
export async function parseInput({ schema, type }: JobDefinition, input: unknown): Promise<unknown> {
  return schema === null ? input : parse(schema, input, `input of job ${type}`)
}

/**
 * @throws JobchartError INVALID_INPUT if the definition has a schema for such an event, and the event does not match it
 */
export async function checkEvent(job: JobDefinition | undefined, event: Json): Promise<void> {
  const { type, ...data } = event as { readonly type: string }
  const schema = ownValue(job?.eventSchemas, type)
  if (schema !== undefined) await parse(schema, data, `event ${type} of job ${job?.type}`)
}

async function parse(schema: StandardSchemaV1, value: unknown, what: string): Promise<unknown> {
  let result
  try {
    result = await schema['~standard'].validate(value)
    if (result.issues === undefined) return result.value
  } catch (error) {
    throw new JobchartError('INVALID_INPUT', `the schema of the ${what} threw: ${recordError(error).message}`, {
      hint: 'A schema should report issues, not throw.',
      cause: error,
    })
  }
  const issues = result.issues.slice(0, 10).map(({ message, path }) => {
    const at = (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    return at === '' ? message : `${at}: ${message}`
  })
  throw new JobchartError('INVALID_INPUT', `${what}: ${issues.join('; ')}`, {
    hint: 'Correct the paths that the message names; `cause` holds every issue of the schema.',
    cause: result.issues,
  })
}
