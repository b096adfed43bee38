/** Follows every job to its end, in whichever process it comes, and has what it came to taken down. */
import { JobCancelledError, JobDeadError, type JobHandle, type JobRecord } from 'jobchart'
import type { Findings } from './findings.ts'
import { endedBefore, type Tallies } from './tally.ts'

const deadListed = 10

export interface OutcomesOptions {
  readonly tallies: Tallies
  readonly findings: Findings
  /** By the store's clock. */
  readonly startedAt: number
  /** Send through again what was dead at the start? */
  readonly retry: boolean
}

export class Outcomes {
  /** The first of the dead jobs. */
  readonly dead: JobRecord[] = []
  private readonly open = new Set<Promise<void>>()
  private readonly failures: unknown[] = []
  private readonly options: OutcomesOptions

  constructor(options: OutcomesOptions) {
    this.options = options
  }

  follow(job: JobHandle): void {
    this.options.tallies.found(job.type)
    const following = this.toItsEnd(job)
      .catch((error: unknown) => void this.failures.push(error))
      .finally(() => this.open.delete(following))
    this.open.add(following)
  }

  /** Resolves when no job is followed any more. @throws JobchartError if one could not be followed */
  async all(): Promise<void> {
    while (this.open.size > 0) await Promise.all(this.open)
    if (this.failures.length > 0) throw this.failures[0]
  }

  private async toItsEnd(job: JobHandle): Promise<void> {
    const { tallies, findings, startedAt, retry } = this.options
    let record = await endOf(job)
    // A cancelled one was taken back because its file had changed; now the file is again what it was.
    const again = record?.state === 'cancelled' || (retry && record?.state === 'dead')
    if (again && record !== null && endedBefore(record, startedAt)) {
      await job.retry()
      record = await endOf(job)
    }
    if (record === null || record.state === 'cancelled') return
    tallies.ended(record)
    findings.take(record)
    if (record.state === 'dead' && this.dead.length < deadListed) this.dead.push(record)
  }
}

/** Null if the runtime has stopped before it. */
async function endOf(job: JobHandle): Promise<JobRecord | null> {
  try {
    await job.result()
  } catch (error) {
    if (!(error instanceof JobDeadError || error instanceof JobCancelledError)) return null
  }
  return job.record()
}
