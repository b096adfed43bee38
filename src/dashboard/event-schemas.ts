/** The JSON Schema of a machine's event, for the form that sends it. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { Json } from '../index.ts'

const charsMax = 65_536

/**
 * @returns null if the schema gives no JSON Schema (Standard JSON Schema), cannot express itself as one, or is too
 * large to send
 */
export function jsonSchemaOf(schema: StandardSchemaV1): Json {
  const standard: StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props> = schema['~standard']
  if (standard.jsonSchema === undefined) return null
  let text: string
  try {
    text = JSON.stringify(standard.jsonSchema.input({ target: 'draft-2020-12' }))
  } catch {
    // A library throws for what JSON Schema cannot say, for example a transform: the event is sent as JSON then.
    return null
  }
  return text.length > charsMax ? null : (JSON.parse(text) as Json)
}
