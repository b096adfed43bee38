/** A row of the memory store: a job, and where its indexes have it. */
import { JobRow, Terms, Tick, type Additions, type InsertedJob } from '../../core/job-row.ts'
import { Packed, valueOf, type Cell } from '../../core/cell.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { InboxEntry } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import { phases, type Phase } from './phases.ts'
import { Queue, type QueuedJob } from './queue.ts'

/** A checkpoint, its state as text: as objects the states would be most of what the garbage collector visits. */
export class KeptCheckpoint {
  readonly number: number
  readonly seq: number
  readonly at: number
  readonly note: string
  private readonly packed: Cell<Json>

  constructor({ number, state, seq, at, note }: Additions['checkpoints'][number]) {
    this.number = number
    this.seq = seq
    this.at = at
    this.note = note
    this.packed = state instanceof Packed ? state : new Packed(JSON.stringify(valueOf(state)))
  }

  /** A copy. */
  get state(): Json {
    return valueOf(this.packed)
  }
}

const noSteps: ReadonlyMap<string, Json> = new Map()

/** The lists that few jobs have. */
class Lists {
  /** Messages that were not read, and deferred ones. */
  messages: InboxEntry[] = []
  /** The oldest first; the last one is the current one. */
  checkpoints: KeptCheckpoint[] = []
  private ownSteps: Map<string, Json> | null = null

  /** Results of finished steps, by name. */
  get steps(): ReadonlyMap<string, Json> {
    return this.ownSteps ?? noSteps
  }

  changeSteps({ steps, forgetsSteps }: Additions): void {
    if (forgetsSteps) this.ownSteps = null
    if (steps.size === 0) return
    const own = (this.ownSteps ??= new Map())
    for (const [name, result] of steps) {
      if (result === null) own.delete(name)
      else own.set(name, result)
    }
  }
}

const sampleTerms = { type: '', priority: 0, maxAttempts: 1, tags: [], key: null, concurrencyKey: null }

export class Row extends JobRow implements QueuedJob<Row> {
  /** Keeps the shape: at a collection that finds no row V8 would drop it, and all code that was compiled for it. */
  static readonly sample = new Row(
    { id: '', input: undefined },
    new Terms(sampleTerms),
    'queued',
    0,
    new Tick(0),
    new Queue<Row>(''),
  )

  readonly queue: Queue<Row>
  /** Its neighbours in a linked list: that of its queue, or of the leased or ended rows. */
  prev: Row | null = null
  next: Row | null = null
  /** Its place among the jobs that returned to an earlier place in their queue. */
  heapIndex = -1
  /** The hash of its id, for the row table. */
  hash = 0
  lists: Lists | null = null

  constructor(job: InsertedJob, terms: Terms, state: JobState, seq: number, came: Tick, queue: Queue<Row>) {
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
