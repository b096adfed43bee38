/** Counts what happens to the jobs, from the runtime's events; what it holds is bounded by the jobs that are under way. */
import type { JobEvent } from 'jobchart'
import type { Progress } from './jobs.ts'

/** How the jobs of a type fare. */
export interface Tally {
  enqueued: number
  started: number
  done: number
  dead: number
  retries: number
  readBytes: number
  /** Attempts that have ended, and their time in handlers. */
  attempts: number
  ranMs: number
  /** From the enqueue to the first start, all jobs together. */
  waitedMs: number
}

const nothing: Readonly<Tally> = {
  enqueued: 0,
  started: 0,
  done: 0,
  dead: 0,
  retries: 0,
  readBytes: 0,
  attempts: 0,
  ranMs: 0,
  waitedMs: 0,
}

export class Tallies {
  readonly types: readonly string[]
  /** The last check-in of each running job that has checked in. */
  readonly checkins = new Map<string, { readonly type: string; readonly progress: Progress }>()
  private readonly startedAt = performance.now()
  private readonly byType: ReadonlyMap<string, Tally>
  private readonly enqueuedAt = new Map<string, number>()
  private readonly claimedAt = new Map<string, number>()

  constructor(types: readonly string[]) {
    this.types = types
    this.byType = new Map(types.map((type) => [type, { ...nothing }]))
  }

  get elapsedMs(): number {
    return performance.now() - this.startedAt
  }

  of(type: string): Readonly<Tally> {
    return this.byType.get(type) ?? nothing
  }

  total(): Tally {
    const total = { ...nothing }
    for (const tally of this.byType.values()) {
      for (const figure of Object.keys(total) as (keyof Tally)[]) total[figure] += tally[figure]
    }
    return total
  }

  take({ event, from, to, type, id, at, value }: JobEvent): void {
    const tally = this.byType.get(type)
    if (tally === undefined) return
    if (event === 'ENQUEUE') {
      tally.enqueued++
      this.enqueuedAt.set(id, at)
    } else if (event === 'CLAIM') {
      const enqueuedAt = this.enqueuedAt.get(id)
      if (enqueuedAt !== undefined) {
        tally.started++
        tally.waitedMs += at - enqueuedAt
        this.enqueuedAt.delete(id)
      }
      this.claimedAt.set(id, at)
    } else if (event === 'CHECKIN') {
      this.checkins.set(id, { type, progress: value as unknown as Progress })
    } else if (from === 'running') {
      tally.attempts++
      tally.ranMs += at - (this.claimedAt.get(id) ?? at)
      this.claimedAt.delete(id)
      this.checkins.delete(id)
    }
    if (event === 'FAIL' && to === 'retrying') tally.retries++
    if (event === 'FAIL' && to === 'dead') tally.dead++
    if (event === 'COMPLETE') {
      tally.done++
      tally.readBytes += (value as { bytes: number }).bytes
    }
  }
}
