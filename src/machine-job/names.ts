/** The names of a chart that people ask for: its states, as paths from the root, and its tags. */
import type { AnyStateMachine } from 'xstate'
import { nodesOf } from './machines.ts'

export const namesIn = (machine: AnyStateMachine): string[] =>
  nodesOf(machine).flatMap(({ path, tags }) => [...(path.length === 0 ? [] : [path.join('.')]), ...tags])

/** The name that takes the fewest changes of a character. */
export function nearest(name: string, names: Iterable<string>): string {
  let best = ''
  let least = Infinity
  for (const each of names) {
    const changes = changesBetween(name, each)
    if (changes < least) [best, least] = [each, changes]
  }
  return best
}

/** Levenshtein's distance. */
function changesBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same))
    }
    row = next
  }
  return row[b.length] ?? 0
}
