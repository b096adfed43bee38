/** The key under which at most one job lives: the caller's own, or a digest of the input. */
import { createHash } from 'node:crypto'
import type { Json } from './payload.ts'

/** JSON with the members of every object in the order of their names: equal payloads give equal text. */
export function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const members = Object.keys(value).toSorted()
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name] as Json)}`).join(',')}}`
}

/** The key of an input: the same for equal inputs, 43 characters whatever their size. */
export const inputKey = (input: Json): string => createHash('sha256').update(canonical(input)).digest('base64url')
