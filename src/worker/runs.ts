/**
 * The runs of this process. Every job adds and removes one, but look-ups by id are rare (cancels, messages): so they
 * are kept in a list, each with its position, and an index is made only for large look-ups.
 */
import type { Run } from './attempt.ts'

/** Number of ids from which an index is faster. */
const indexFrom = 8

export class Runs {
  private readonly list: Run[] = []

  get size(): number {
    return this.list.length
  }

  add(run: Run): void {
    run.place = this.list.length
    this.list.push(run)
  }

  remove(run: Run): void {
    const last = this.list.pop()
    if (last === undefined || last === run) return
    this.list[run.place] = last
    last.place = run.place
  }

  all(): Run[] {
    return [...this.list]
  }

  /**
   * The runs of these jobs, null for jobs that do not run here. A job whose lease was lost may be claimed again before
   * its old run has ended: then the latest run is found.
   */
  find(ids: readonly string[]): (Run | null)[] {
    if (ids.length < indexFrom) {
      return ids.map((id) =>
        this.list.reduce<Run | null>((best, run) => (run.claimed.id === id ? later(best, run) : best), null),
      )
    }
    const index = new Map<string, Run>()
    for (const run of this.list) index.set(run.claimed.id, later(index.get(run.claimed.id) ?? null, run))
    return ids.map((id) => index.get(id) ?? null)
  }
}

const later = (a: Run | null, b: Run): Run => (a !== null && a.claimed.seq > b.claimed.seq ? a : b)
