/** What became of many jobs: numbers and ids by outcome. */
import type { BulkOutcome } from './bulk-record.ts'
import { caps } from './caps.ts'
import { grouped } from './counted.ts'

/** What became of a job that a change was to apply to. */
export type JobOutcome = BulkOutcome | 'notFound' | 'finished'

/** Ids of jobs, by what became of them. */
export type Lists<Name extends JobOutcome> = { readonly [name in Name]?: readonly string[] }

/** Merges the lists of all batches: the first ids of each list, and its length. */
export class Report<Name extends JobOutcome> {
  private readonly names: readonly Name[]
  /** The first ids of each list. */
  readonly ids: Record<Name, string[]>
  /** How many jobs had each outcome. */
  readonly totals: Record<Name, number>

  constructor(names: readonly Name[]) {
    this.names = names
    this.ids = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, string[]>
    this.totals = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
  }

  add(lists: Lists<Name>): void {
    for (const name of this.names) {
      const added = lists[name] ?? []
      const room = caps.reportIds - this.ids[name].length
      if (room > 0) this.ids[name].push(...added.slice(0, room))
      this.totals[name] += added.length
    }
  }

  /** Takes numbers that count more jobs than the ids that were added: another process may have done batches. */
  count(counts: { readonly [name in Name]?: number }): void {
    for (const name of this.names) this.totals[name] = Math.max(this.totals[name], counts[name] ?? 0)
  }

  made(): Record<Name, string[]> & { readonly totals?: Record<Name, number> } {
    const isCut = this.names.some((name) => this.totals[name] > this.ids[name].length)
    return isCut ? { ...this.ids, totals: this.totals } : this.ids
  }
}

const words: Readonly<Record<string, string>> = { notFound: 'not found', finished: 'had ended before' }

/** `2 retried, 1 refused`: how many jobs had which outcome. */
export function countsText(counts: Readonly<Record<string, number>>): string {
  const positive = Object.entries(counts).filter(([, count]) => count > 0)
  if (positive.length === 0) return 'no jobs'
  return positive.map(([name, count]) => `${grouped(count)} ${words[name] ?? name}`).join(', ')
}
