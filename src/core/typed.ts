/** A schema that only types: for an input whose type is known, and that nothing has to check. */
import type { StandardSchemaV1 } from '@standard-schema/spec'

const vendor = 'jobchart.typed'

/**
 * The `input` of a job by its type alone: the output is still inferred from the handler, which `defineJob<Input,
 * Output>` cannot do. It checks nothing, so that a caller without types may enqueue anything that is JSON.
 * @example const resize = defineJob({ type: 'resize', input: typed<{ path: string }>(), run: async ({ path }) =>
 * path.length })
 */
export function typed<Input>(): StandardSchemaV1<Input, Input> {
  return { '~standard': { version: 1, vendor, validate: (value) => ({ value: value as Input }) } }
}

/** Does the schema check nothing? Then neither an enqueue nor a run calls it. */
export const isTyped = (schema: StandardSchemaV1): boolean => schema['~standard'].vendor === vendor
