/**
 * Calls from a lower room into a higher one: a file makes an object of a class of another room and gives it functions
 * to call. Only functions that are written in the arguments of `new` are found. An argument of a plain call is not
 * listed: the call ends.
 */
import { posix } from 'node:path'
import { roomOf } from './import-table.ts'
import type { SourceFile } from './source-file.ts'

interface UpwardCall {
  /** Class and member of its options. */
  readonly name: string
  /** The room of the class, which calls. */
  readonly from: string
  /** The rooms that give the function. */
  readonly to: string
}

export function upwardCalls(files: readonly SourceFile[]): UpwardCall[] {
  const found = new Map<string, { readonly from: string; readonly to: Set<string> }>()
  for (const file of files) {
    for (const { name, to: made } of file.given) {
      const imported = file.imports.find(({ from, names }) => from.startsWith('.') && names.includes(made))
      if (imported === undefined) continue
      const from = roomOf(posix.join(posix.dirname(file.path), imported.from))
      if (from === roomOf(file.path)) continue
      const call = found.get(name) ?? { from, to: new Set() }
      found.set(name, call)
      call.to.add(roomOf(file.path))
    }
  }
  const calls = Array.from(found, ([name, { from, to }]) => ({ name, from, to: [...to].toSorted().join(', ') }))
  return calls.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** The calls that a page lists: | `Worker.changed` | worker | api | why | */
export const listedCalls = (markdown: string): UpwardCall[] =>
  Array.from(markdown.matchAll(/^\| `([\w.]+)` +\| ([^|]+?) +\| ([^|]+?) +\| [^|]+\|$/gm), ([, name, from, to]) => ({
    name: name ?? '',
    from: from ?? '',
    to: to ?? '',
  }))
