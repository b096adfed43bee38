/** Counts what became of the jobs, from their records: whichever process has done them, now or before. */
import type { JobRecord } from 'jobchart'

/** How the jobs of a type fare. */
export interface Tally {
  jobs: number
  done: number
  dead: number
  /** Of both: before this start, and by other processes since. */
  before: number
  elsewhere: number
  retries: number
  readBytes: number
  /** Attempts that have ended, and their time in handlers. */
  attempts: number
  ranMs: number
  /** From the enqueue to the first start, all jobs together. */
  waitedMs: number
}

const nothing: Readonly<Tally> = {
  jobs: 0,
  done: 0,
  dead: 0,
  before: 0,
  elsewhere: 0,
  retries: 0,
  readBytes: 0,
  attempts: 0,
  ranMs: 0,
  waitedMs: 0,
}

export class Tallies {
  readonly types: readonly string[]
  private readonly startedAt: number
  private readonly worker: string
  private readonly startedMs = performance.now()
  private readonly byType: ReadonlyMap<string, Tally>

  /** @param startedAt by the store's clock @param worker who counts as this process */
  constructor(types: readonly string[], startedAt: number, worker: string) {
    this.types = types
    this.startedAt = startedAt
    this.worker = worker
    this.byType = new Map(types.map((type) => [type, { ...nothing }]))
  }

  get elapsedMs(): number {
    return performance.now() - this.startedMs
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

  found(type: string): void {
    const tally = this.byType.get(type)
    if (tally !== undefined) tally.jobs++
  }

  ended(record: JobRecord): void {
    const tally = this.byType.get(record.type)
    if (tally === undefined) return
    const { state, attempt, enqueuedAt, startedAt, errors, output } = record
    if (state === 'done') {
      tally.done++
      tally.readBytes += (output as { bytes: number }).bytes
    } else tally.dead++
    if (endedBefore(record, this.startedAt)) tally.before++
    else if (record.worker !== this.worker) tally.elsewhere++
    tally.retries += Math.max(0, attempt - 1)
    for (const { ranMs } of attemptsOf(record)) {
      tally.attempts++
      tally.ranMs += ranMs
    }
    tally.waitedMs += (errors[0]?.startedAt ?? startedAt ?? enqueuedAt) - enqueuedAt
  }
}

export const endedBefore = ({ finishedAt }: JobRecord, at: number): boolean => finishedAt !== null && finishedAt < at

/** Those that came to an end; how long one ran whose process died nobody knows. */
function attemptsOf({ state, startedAt, finishedAt, errors }: JobRecord): { readonly ranMs: number }[] {
  const failed = errors.filter(({ error }) => error.code !== 'LEASE_LOST')
  const ran = failed.map((attempt) => ({ ranMs: attempt.failedAt - attempt.startedAt }))
  return state === 'done' ? [...ran, { ranMs: (finishedAt ?? 0) - (startedAt ?? 0) }] : ran
}
