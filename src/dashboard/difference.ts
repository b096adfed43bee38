/** What differs between two values: members that were added, removed or changed, by their paths. */
import type { Json } from '../index.ts'

export interface Difference {
  /** `customer.name`, `items[3].price`; empty for the value itself. */
  readonly path: string
  readonly kind: 'added' | 'removed' | 'changed'
  /** Undefined if it was added. */
  readonly before: Json | undefined
  /** Undefined if it was removed. */
  readonly after: Json | undefined
}

/** More differences than a person reads are not listed. */
const differencesMax = 200

interface Differences {
  readonly list: readonly Difference[]
  /** Are there more? */
  readonly more: boolean
}

/** The differences, in the order of the members. Lists are compared without what they begin and end with alike. */
export function differencesOf(before: Json | undefined, after: Json | undefined): Differences {
  const list: Difference[] = []
  compare(before, after, '', list)
  return { list: list.slice(0, differencesMax), more: list.length > differencesMax }
}

function compare(before: Json | undefined, after: Json | undefined, path: string, into: Difference[]): void {
  if (into.length > differencesMax || before === after) return
  if (before === undefined) return void into.push({ path, kind: 'added', before, after })
  if (after === undefined) return void into.push({ path, kind: 'removed', before, after })
  if (Array.isArray(before) && Array.isArray(after)) return compareLists(before, after, path, into)
  if (isMembers(before) && isMembers(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(memberOf(before, name), memberOf(after, name), joined(path, name), into)
    }
    return
  }
  into.push({ path, kind: 'changed', before, after })
}

function compareLists(before: readonly Json[], after: readonly Json[], path: string, into: Difference[]): void {
  let start = 0
  const shorter = Math.min(before.length, after.length)
  while (start < shorter && isSame(before[start], after[start])) start++
  let end = 0
  while (end < shorter - start && isSame(before.at(-1 - end), after.at(-1 - end))) end++
  const [was, is] = [before.slice(start, before.length - end), after.slice(start, after.length - end)]
  for (let i = 0; i < Math.max(was.length, is.length); i++) compare(was[i], is[i], `${path}[${start + i}]`, into)
}

const isMembers = (value: Json): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const memberOf = (of: { readonly [name: string]: Json }, name: string): Json | undefined =>
  Object.hasOwn(of, name) ? of[name] : undefined

function isSame(before: Json | undefined, after: Json | undefined): boolean {
  const found: Difference[] = []
  compare(before, after, '', found)
  return found.length === 0
}

const joined = (path: string, name: string): string => {
  if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path === '' ? name : `${path}.${name}`
}
