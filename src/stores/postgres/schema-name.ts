import { text } from '../../core/checks.ts'
import { invalidOption } from '../../core/errors.ts'

const schemaText = text(63)

/** The name of a schema. @throws JobchartError INVALID_OPTION */
export function schemaName(value: unknown, name = 'schema'): string {
  const schema = schemaText(value, name)
  const isName = Buffer.byteLength(schema) <= 63 && !schema.includes('\0') && schema.isWellFormed()
  if (!isName || schema.startsWith('pg_')) throw invalidOption(name, 'a name of at most 63 bytes, not pg_…', schema)
  // It is part of the bodies of functions, between two dollars each; a backslash is one only by some settings.
  if (schema.includes('$$') || schema.includes('\\')) throw invalidOption(name, 'a name without $$ and \\', schema)
  return schema
}
