/**
 * The key under which at most one job lives: the caller's own, or a digest of the input; and when two inputs are the
 * same.
 */
import type { Json } from './payload.ts'
import { digestOf } from './platform.ts'

/** JSON with the members of every object in the order of their names: equal payloads give equal text. */
export function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const members = Object.keys(value).toSorted()
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name] as Json)}`).join(',')}}`
}

/** Do two payloads say the same, whatever the order of their members? */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i]))
  }
  const members = Object.keys(a)
  const same = (name: string): boolean => Object.hasOwn(b, name) && sameJson(a[name], b[name])
  return members.length === Object.keys(b).length && members.every(same)
}

/** The key of an input: the same for equal inputs, 43 characters whatever their size. */
export const inputKey = (input: Json): string => digestOf(canonical(input))
