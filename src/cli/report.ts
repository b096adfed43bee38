/** What became of many jobs: numbers and ids by outcome. */
import { grouped } from '../core/counted.ts'

/** How many ids of each outcome a report lists. */
const idsMax = 10_000

const words: Readonly<Record<string, string>> = { notFound: 'not found', finished: 'had ended before' }

/** `2 retried, 1 refused`. */
export function countsText(counts: Readonly<Record<string, number>>): string {
  const positive = Object.entries(counts).filter(([, count]) => count > 0)
  if (positive.length === 0) return 'no jobs'
  return positive.map(([name, count]) => `${grouped(count)} ${words[name] ?? name}`).join(', ')
}

export class Report {
  private readonly totals: Record<string, number> = {}
  private readonly ids: Record<string, string[]> = {}

  /** @param outcomes are listed also if no job had them */
  constructor(outcomes: readonly string[]) {
    for (const name of outcomes) this.add({ [name]: [] })
  }

  get sum(): number {
    return Object.values(this.totals).reduce((sum, count) => sum + count, 0)
  }

  add(outcomes: Readonly<Record<string, readonly string[]>>): void {
    for (const [name, ids] of Object.entries(outcomes)) {
      const kept = (this.ids[name] ??= [])
      kept.push(...ids.slice(0, idsMax - kept.length))
      this.totals[name] = (this.totals[name] ?? 0) + ids.length
    }
  }

  /** Takes numbers that count more jobs than the ids that were added. */
  count(counts: Readonly<Record<string, number>>): void {
    Object.assign(this.totals, counts)
  }

  hasOthers(wanted: readonly string[]): boolean {
    return Object.entries(this.totals).some(([name, count]) => count > 0 && !wanted.includes(name))
  }

  /** `{ totals: { retried: 2, … }, retried: ['a', 'b'], … }`; the first 10,000 ids of each. */
  forJson(): object {
    return { totals: this.totals, ...this.ids }
  }

  forPeople(): string {
    return countsText(this.totals)
  }
}
