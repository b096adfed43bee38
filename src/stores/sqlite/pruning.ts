/** Retention: what `prune` asks of the file, and removes from it. */
import type { EndedJob, EndedState, PruneUnit } from '../../core/prune.ts'
import type { RetentionPolicy } from '../../store.ts'
import type { JobFile } from './job-file.ts'
import type { Queue } from './queue.ts'

/** An ended job, as much of it as its removal needs. */
interface Ended extends EndedJob {
  readonly seq: number
  readonly queue: Queue
  readonly state: EndedState
  readonly finishedAt: number
  readonly isMachine: boolean
  readonly failure: string | null
  readonly tags: string | null
}

export class Pruning implements PruneUnit<Ended> {
  private readonly file: JobFile

  constructor(file: JobFile) {
    this.file = file
    file.writer.write()
  }

  get now(): number {
    return this.file.now
  }

  typesToPrune(limit: number): readonly string[] {
    return this.file.prunes.due(this.now, limit).map((queue) => this.file.queues.at(queue).type)
  }

  retentionOf(type: string): RetentionPolicy | null {
    return this.file.prunes.retentionOf(type)
  }

  endedCount(type: string, state: EndedState): number {
    return this.file.queues.known(type)?.in(state) ?? 0
  }

  firstEnded(type: string, state: EndedState, limit: number): readonly Ended[] {
    const queue = this.file.queues.of(type)
    return this.file.sql.all('ended', queue.number, state, limit).map(([seq, finishedAt, attempts, failure, tags]) => {
      return { seq, queue, state, finishedAt, isMachine: attempts !== null, failure, tags }
    })
  }

  removeEnded(jobs: readonly Ended[]): void {
    const { removals, queues, failures } = this.file
    removals.removeRows(jobs)
    for (const { queue, state, failure, finishedAt } of jobs) {
      queues.count(queue, state, -1)
      if (state === 'dead' && failure !== null) failures.countDead(queue.number, failure, finishedAt, -1)
    }
  }

  lookAgain(type: string, at: number): void {
    this.file.prunes.lookAgain(this.file.queues.of(type).number, at)
  }

  get nextLookAt(): number {
    return this.file.prunes.nextLookAt
  }
}
