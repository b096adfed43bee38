/**
 * Notices slot deadlocks: handlers that hold all slots of this worker, or all of a type, and await jobs that need such
 * a slot, or room for an enqueue, which a job that starts makes. Nothing is read or timed while no run waits.
 */
import type { Timer } from '../core/clock.ts'
import type { JobDefinition } from '../core/definition.ts'
import type { Logger } from '../core/logger.ts'
import type { JobRecord } from '../core/record.ts'
import type { Store, WorkerRecord } from '../store.ts'
import type { Timers } from '../client/timers.ts'
import type { Waiting, Waits } from '../client/waits.ts'
import type { Permits } from './permits.ts'

/** Time between two checks while a run waits, ms. */
const checkMs = 1_000
/** Awaited jobs that are read per run. */
const readPerRun = 10
/** Jobs per call of the store. */
const readMax = 500
/** Runs named in a warning. */
const namedMax = 10

const needsSlot: ReadonlySet<string> = new Set(['queued', 'scheduled', 'retrying'])

interface SlotWaitsOptions {
  readonly worker: string
  readonly store: Store
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly permits: Permits
  readonly waits: Waits
  readonly timers: Timers
  readonly logger: Logger
}

/** What a check has read. */
interface Seen {
  readonly records: ReadonlyMap<string, JobRecord | null>
  /** Types that another worker has a free slot for. */
  readonly elsewhere: ReadonlySet<string>
  /** Does no other worker run? One that is busy now makes room later. */
  readonly isAlone: boolean
}

export class SlotWaits {
  private readonly options: SlotWaitsOptions
  private readonly warned = new WeakSet<Waiting>()
  private timer: Timer | null = null

  constructor(options: SlotWaitsOptions) {
    this.options = options
  }

  /** Checks the waits after a while, and again until no run waits. */
  check(): void {
    this.timer ??= this.options.timers.after(checkMs, () => void this.checkNow(), false)
  }

  private async checkNow(): Promise<void> {
    try {
      const runs = this.suspects()
      if (runs.some((run) => !this.warned.has(run))) {
        const seen = await this.read(runs)
        this.warn(this.deadlocked(runs, seen), seen)
      }
    } catch (error) {
      this.options.logger.debug('awaited jobs could not be read to find slot deadlocks', { error })
    }
    this.timer = null
    if (this.options.waits.runs.length > 0) this.check()
  }

  /** The runs that wait, if they hold all slots of the worker or of a type. */
  private suspects(): readonly Waiting[] {
    const { runs } = this.options.waits
    return this.holdWorker(runs) || runs.some(({ claimed }) => this.holdType(runs, claimed.type)) ? runs : []
  }

  private holdWorker(runs: readonly Waiting[]): boolean {
    const { permits } = this.options
    return permits.free === 0 && runs.length >= permits.taken
  }

  private holdType(runs: readonly Waiting[], type: string): boolean {
    const cap = this.options.jobs.get(type)?.limits.concurrency ?? null
    return cap !== null && cap > 0 && runs.filter(({ claimed }) => claimed.type === type).length >= cap
  }

  private async read(runs: readonly Waiting[]): Promise<Seen> {
    const { store, worker } = this.options
    const ids = [...new Set(runs.flatMap((run) => this.awaitedBy(run)))].filter((id) => id !== null)
    const records = new Map<string, JobRecord | null>()
    for (let i = 0; i < ids.length; i += readMax) {
      const some = ids.slice(i, i + readMax)
      const found = await store.get(some)
      some.forEach((id, place) => records.set(id, found[place] ?? null))
    }
    const others = (await store.workers()).filter(({ id, lost }) => id !== worker && !lost)
    const hasSlot = ({ paused, slots, running }: WorkerRecord): boolean => paused !== true && running.length < slots
    const elsewhere = new Set(others.filter(hasSlot).flatMap(({ types }) => types))
    return { records, elsewhere, isAlone: others.length === 0 }
  }

  private awaitedBy(run: Waiting): readonly (string | null)[] {
    return this.options.waits.awaitedBy(run, readPerRun)
  }

  /** The runs of which each awaits only room, and jobs that need a slot, or run, among these runs. */
  private deadlocked(all: readonly Waiting[], seen: Seen): readonly Waiting[] {
    const { records, elsewhere, isAlone } = seen
    const runs = all.filter((run) => run.ending === null)
    const isBlocked = (id: string | null): boolean => {
      if (id === null) return isAlone && this.holdWorker(runs)
      const record = records.get(id) ?? null
      if (record === null) return false
      const { type, state } = record
      if (state === 'running') return runs.some(({ claimed }) => claimed.id === id)
      if (!needsSlot.has(state) || !this.options.jobs.has(type)) return false
      return this.holdType(runs, type) || (this.holdWorker(runs) && !elsewhere.has(type))
    }
    const left = runs.filter((run) => {
      const ids = this.awaitedBy(run)
      return ids.length > 0 && ids.every(isBlocked)
    })
    return left.length === runs.length ? left : this.deadlocked(left, seen)
  }

  private warn(runs: readonly Waiting[], { records }: Seen): void {
    if (runs.every((run) => this.warned.has(run))) return
    for (const run of runs) this.warned.add(run)
    const waiting = runs.slice(0, namedMax).map((run) => ({
      id: run.claimed.id,
      type: run.claimed.type,
      awaits: this.awaitedBy(run).map((id) => (id === null ? 'room' : { id, type: records.get(id)?.type })),
    }))
    const needsRoom = runs.some((run) => this.awaitedBy(run).includes(null))
    const what = needsRoom ? 'room in the backlog, which a job in such a slot makes' : 'jobs that need such a slot'
    const held = this.holdWorker(runs) ? 'all slots of this worker' : 'all slots of a type'
    this.options.logger.warn(`${held} wait for ${what}: none of them can go on`, {
      jobs: runs.length,
      waiting,
      hint: needsRoom ? roomHint : slotHint,
    })
  }
}

/** What to do instead of waiting in a handler. */
export const slotHint =
  'A handler keeps its slot while it awaits a job. Await jobs in a machine (fromJob), which gives its slot back meanwhile; or give the awaited jobs a runtime of their own.'

const roomHint = 'Enqueue with ctx.enqueue in a handler: it needs no room. Or raise `capacity`, or the number of slots.'
