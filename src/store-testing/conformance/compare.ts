/** Normalizes values of two stores for comparison: seq numbers and times differ, everything else must be equal. */
import type { Transition } from '../../core/record.ts'

interface Origin {
  /** The store's time at the start. */
  readonly at: number
  /** Times are compared in whole units of it. */
  readonly unitMs: number
}

const times = new Set([
  'at',
  'createdAt',
  'dueAt',
  'enqueuedAt',
  'startedAt',
  'finishedAt',
  'failedAt',
  'requestedAt',
  'endedAt',
  'leaseUntil',
  'firstAt',
  'lastAt',
  'seenAt',
  'diedAt',
  'since',
  'until',
])
/** Lists whose order the contract does not define. */
const unordered = new Set(['notFound', 'refused', 'discarded', 'retried', 'workers', 'running'])

/** The cursor of a bulk operation: each store has its own. */
const left = 'cursor'

/** Replaces each seq by its rank in the log, each time by its distance from the start in whole units. */
export function normaliser(log: readonly Transition[], { at: start, unitMs }: Origin): (answer: unknown) => unknown {
  const rank = new Map(log.map(({ seq }, i) => [seq, i + 1]))
  const plain = (value: unknown, name: string): unknown => {
    if (typeof value === 'number') {
      if (name === 'seq') return value === 0 ? 0 : (rank.get(value) ?? `seq ${value} is not in the log`)
      return times.has(name) || name === 'nextAt' ? Math.floor((value - start) / unitMs) : value
    }
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) {
      const members = value.map((member) => plain(member, ''))
      return unordered.has(name)
        ? members.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
        : members
    }
    // Entries in the order of their names, and as data: a payload may have a member named __proto__.
    const members = Object.entries(value).filter(([key, member]) => member !== undefined && key !== left)
    return members.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, plain(member, key)])
  }
  return (answer) => plain(answer, '')
}
