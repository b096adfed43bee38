/**
 * The runs of this process. They come and go with every job, and are looked up by id only when something is cancelled: so
 * they stand in a plain list, each knowing its place, and an index is made for a large look-up alone.
 */
import type { Run } from './attempt.ts'

/** From how many ids on an index pays. */
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
   * The runs of these jobs, and null for those that do not run here. A job whose lease was lost may be claimed again while
   * its old run still ends: it is the latest that is found.
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
