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
import { isThenable } from '../core/thenable.ts'

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

/** As `parseInput`, at once. @throws JobchartError INVALID_INPUT; UNSUPPORTED if the schema is asynchronous */
export const parseInputNow = ({ schema, type }: JobDefinition, input: unknown): unknown =>
  schema === null ? input : parseNow(schema, input, `input of job ${type}`)

/** As `checkEvent`, at once. @throws JobchartError INVALID_INPUT; UNSUPPORTED if the schema is asynchronous */
export function checkEventNow(job: JobDefinition | undefined, event: Json): void {
  const { type, ...data } = event as { readonly type: string }
  const schema = ownValue(job?.eventSchemas, type)
  if (schema !== undefined) parseNow(schema, data, `event ${type} of job ${job?.type}`)
}

async function parse(schema: StandardSchemaV1, value: unknown, what: string): Promise<unknown> {
  let result
  try {
    result = await schema['~standard'].validate(value)
  } catch (error) {
    throw schemaThrew(what, error)
  }
  return valueIn(result, what)
}

function parseNow(schema: StandardSchemaV1, value: unknown, what: string): unknown {
  let result
  try {
    result = schema['~standard'].validate(value)
  } catch (error) {
    throw schemaThrew(what, error)
  }
  if (!isThenable(result)) return valueIn(result, what)
  // Its error has no other reader.
  Promise.resolve(result).catch(() => {})
  throw new JobchartError('UNSUPPORTED', `the schema of the ${what} is asynchronous`, {
    hint: 'A synchronous transaction cannot wait for it: make the schema synchronous, or leave it to the worker with enqueueByName.',
  })
}

const schemaThrew = (what: string, cause: unknown): JobchartError =>
  new JobchartError('INVALID_INPUT', `the schema of the ${what} threw: ${recordError(cause).message}`, {
    hint: 'A schema should report issues, not throw.',
    cause,
  })

/** @param result nothing, from a schema without types @throws JobchartError INVALID_INPUT */
function valueIn(result: StandardSchemaV1.Result<unknown> | null | undefined, what: string): unknown {
  if (result === null || result === undefined) throw schemaThrew(what, new TypeError('it answered nothing'))
  if (result.issues === undefined) return result.value
  const issues = result.issues.slice(0, 10).map(({ message, path }) => {
    const at = (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    return at === '' ? message : `${at}: ${message}`
  })
  throw new JobchartError('INVALID_INPUT', `${what}: ${issues.join('; ')}`, {
    hint: 'Correct the paths that the message names; `cause` holds every issue of the schema.',
    cause: result.issues,
  })
}
