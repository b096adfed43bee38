/**
 * Gathers the runs of a type into calls of its handler of batches. Each run stays a run of its own, with its permit,
 * lease, signal and middleware; the handler is called when enough of them wait for it. A run that is aborted while it
 * waits leaves the batch.
 */
import { counted } from '../core/counted.ts'
import type { Timer } from '../core/clock.ts'
import type { BatchDefinition, BatchItem, JobDefinition, RunContext } from '../core/definition.ts'
import { describe, JobchartError } from '../core/errors.ts'
import { fatal } from '../core/intent.ts'
import type { AttemptSpan, Telemetry } from '../core/telemetry.ts'
import type { Timers } from '../client/timers.ts'

interface BatchesOptions {
  readonly slots: () => number
  readonly timers: Timers
  readonly telemetry: Telemetry | null
  /** Does a batch start without waiting for more jobs, because the runtime is paused, drains or stops? */
  readonly startsAtOnce: () => boolean
  /** As `Waits.outside`. */
  readonly outside: (work: () => void) => void
}

interface Member {
  readonly item: BatchItem<unknown>
  readonly span: AttemptSpan | null
  readonly end: PromiseWithResolvers<unknown>
  readonly leave: () => void
}

/** A batch that waits for more jobs. */
interface Gathering {
  readonly type: string
  readonly definition: BatchDefinition
  readonly members: Set<Member>
  timer: Timer | null
  isScheduled: boolean
}

export class Batches {
  private readonly gathering = new Map<string, Gathering>()
  private readonly options: BatchesOptions

  constructor(options: BatchesOptions) {
    this.options = options
  }

  /** Adds a job to the batch that its type gathers. Resolves with its output when the batch has run. */
  join(
    job: JobDefinition,
    definition: BatchDefinition,
    ctx: RunContext,
    input: unknown,
    span: AttemptSpan | null,
  ): Promise<unknown> {
    const { signal } = ctx
    if (signal.aborted) return Promise.reject(signal.reason as Error)
    const { slots, timers, startsAtOnce } = this.options
    const batch = this.gathering.get(job.type) ?? this.begin(job.type, definition)
    const end = Promise.withResolvers<unknown>()
    const leave = (): void => this.leave(batch, member)
    const member: Member = { item: { input, ctx }, span, end, leave }
    batch.members.add(member)
    signal.addEventListener('abort', leave, { once: true })
    // More can never wait at once: each holds a slot.
    const size = Math.min(definition.size, slots(), job.limits.concurrency ?? Infinity)
    if (batch.members.size >= size) this.run(batch)
    else if (startsAtOnce() && !batch.isScheduled) {
      // With those that start in the same turn.
      batch.isScheduled = true
      timers.clock.nextTurn(() => this.run(batch))
    }
    return end.promise
  }

  /** Runs the batch that this type gathers (null: those of all types) without waiting for more. */
  flush(type: string | null): void {
    this.options.outside(() => {
      for (const batch of this.gathering.values()) if (type === null || batch.type === type) this.run(batch)
    })
  }

  private begin(type: string, definition: BatchDefinition): Gathering {
    const batch: Gathering = { type, definition, members: new Set(), timer: null, isScheduled: false }
    batch.timer = this.options.timers.after(definition.waitMs, () => this.run(batch))
    this.gathering.set(type, batch)
    return batch
  }

  private leave(batch: Gathering, member: Member): void {
    batch.members.delete(member)
    if (batch.members.size === 0) this.close(batch)
    member.end.reject(member.item.ctx.signal.reason)
  }

  private close(batch: Gathering): void {
    batch.timer?.cancel()
    this.gathering.delete(batch.type)
  }

  private run(batch: Gathering): void {
    // It may have run already, or all its jobs may have left.
    if (this.gathering.get(batch.type) !== batch) return
    this.close(batch)
    const members = [...batch.members]
    for (const { item, leave } of members) item.ctx.signal.removeEventListener('abort', leave)
    void call(batch, members, this.options.telemetry)
  }
}

/** Calls the handler; ends each run with its result, or all with what the handler throws. */
async function call(
  { type, definition }: Gathering,
  members: readonly Member[],
  telemetry: Telemetry | null,
): Promise<void> {
  const items = members.map(({ item }) => item)
  const handle = async (): Promise<unknown> => definition.run(items, { type, signal: signalOfAll(items) })
  const spans = members.flatMap(({ span }) => span ?? [])
  try {
    const returned = await (telemetry === null ? handle() : telemetry.batch(type, spans, handle))
    // The list is the handler's: it may have taken the items out of it.
    const results = outputs(returned, members.length, type)
    members.forEach(({ end }, i) => {
      const result = results?.[i]
      if (result instanceof Error) end.reject(result)
      else end.resolve(result)
    })
  } catch (error) {
    for (const { end } of members) end.reject(error)
  }
}

/**
 * Null: no item has an output.
 * @throws FatalError unless there is a result for each item: a retry would repeat the work and fail in the same way
 */
function outputs(results: unknown, count: number, type: string): readonly unknown[] | null {
  if (results === undefined) return null
  if (Array.isArray(results) && results.length === count) return results as unknown[]
  const got = Array.isArray(results) ? counted(results.length, 'result') : describe(results)
  throw fatal(
    new JobchartError(
      'INVALID_OUTPUT',
      `the batch handler of job ${type} returned ${got} for ${counted(count, 'job')}`,
      {
        hint: 'Return one result per item, in their order: its output, or the Error with which it has failed.',
      },
    ),
  )
}

function signalOfAll(items: readonly BatchItem<unknown>[]): AbortSignal {
  const controller = new AbortController()
  let left = items.length
  for (const { ctx } of items) {
    const { signal } = ctx
    const aborted = (): void => {
      if (--left === 0) controller.abort(signal.reason)
    }
    signal.addEventListener('abort', aborted, { once: true })
  }
  return controller.signal
}
