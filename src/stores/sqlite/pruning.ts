/** Retention: what `prune` asks of the file, and removes from it. */
import type { EndedJob, EndedState, PruneUnit } from '../../core/prune.ts'
import type { RetentionPolicy } from '../../store.ts'
import type { JobFile } from './job-file.ts'
import { oldestOf } from './log.ts'
import type { Queue } from './queue.ts'

/** An ended job, as much of it as its removal needs. */
interface Ended extends EndedJob {
  readonly seq: number
  readonly queue: Queue
  readonly state: EndedState
  readonly finishedAt: number
  /** Its end has at most this number. */
  readonly last: number
}

export class Pruning implements PruneUnit<Ended> {
  private readonly file: JobFile

  constructor(file: JobFile) {
    this.file = file
    file.flush()
  }

  get now(): number {
    return this.file.now
  }

  typesToPrune(limit: number): readonly string[] {
    return this.file.retention.due(this.now, limit).map((queue) => this.file.queues.at(queue).type)
  }

  retentionOf(type: string): RetentionPolicy | null {
    return this.file.retention.of(type)
  }

  endedCount(type: string, state: EndedState): number {
    return this.file.queues.known(type)?.in(state) ?? 0
  }

  firstEnded(type: string, state: EndedState, limit: number): readonly Ended[] {
    const queue = this.file.queues.of(type)
    const first = this.file.ends.first(queue.number, state, limit)
    return first.map(({ job: seq, last, at }) => ({ seq, queue, state, finishedAt: at, last }))
  }

  /** All are of one queue and state. */
  removeEnded(jobs: readonly Ended[]): void {
    const [first] = jobs
    if (first === undefined) return
    const { sql, ends, writer, queues, failures } = this.file
    const { queue, state } = first
    const oldest = oldestOf(this.file) - 1
    const numbers = jobs.map(({ seq }) => seq)
    // Most have nothing beside their rows.
    const more = new Map(sql.all('removed', JSON.stringify(numbers)).map((values) => [values[0], values]))
    for (const { seq, finishedAt } of jobs) {
      const failure = more.get(seq)?.[2] ?? null
      if (state === 'dead' && failure !== null) failures.countDead(queue.number, failure, finishedAt, -1)
    }
    writer.removeJobs(
      numbers.map((seq) => {
        const [, tags = null, , checkpointed = null] = more.get(seq) ?? []
        return { seq, isMachine: checkpointed !== null, tags }
      }),
      jobs.some(({ last }) => last > oldest) ? oldest : Infinity,
    )
    ends.removeFirst(queue.number, state, numbers)
    queues.count(queue, state, -jobs.length)
  }

  lookAgain(type: string, at: number): void {
    this.file.retention.lookAgain(this.file.queues.of(type).number, at)
  }

  get nextLookAt(): number {
    return this.file.retention.nextLookAt
  }
}
