/** A row of the memory store: a job, and where its indexes have it. */
import { JobRow, type JobToInsert, type Terms, type Tick } from '../../core/job-row.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { CheckpointEntry, InboxEntry } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import { phases, type Phase } from './phases.ts'
import type { Queue, QueuedJob } from './queue.ts'

/** The lists that few jobs have. */
class Lists {
  /** Messages that were not read, and deferred ones. */
  messages: InboxEntry[] = []
  /** The oldest first; the last one is the current one. */
  checkpoints: CheckpointEntry[] = []
  /** Results of finished steps, by name. */
  readonly steps = new Map<string, Json>()
}

export class Row extends JobRow implements QueuedJob<Row> {
  readonly queue: Queue<Row>
  /** Its neighbours in a linked list: that of its queue, or of the leased or ended rows. */
  prev: Row | null = null
  next: Row | null = null
  /** Its place among the jobs that returned to an earlier place in their queue. */
  heapIndex = -1
  /** The hash of its id, for the row table. */
  hash = 0
  lists: Lists | null = null

  constructor(job: JobToInsert, terms: Terms, state: JobState, seq: number, came: Tick, queue: Queue<Row>) {
    super(job, terms, state, seq, came)
    this.queue = queue
  }

  get phase(): Phase {
    return phases[this.stateIndex] as Phase
  }

  withLists(): Lists {
    return (this.lists ??= new Lists())
  }

  /**
   * Drops the references to its other objects. A removed row may stay in memory long before the garbage collector frees
   * it, and would keep everything alive that it refers to.
   */
  forget(): void {
    this.run = null
    this.last = null
    this.rare = null
    this.machineCell = null
    this.lists = null
  }
}
