/** Carries out bulk operations: one batch after the other, with a turn of the event loop between two. */
import { nanoid } from 'nanoid'
import { systemClock, type Clock } from '../core/clock.ts'
import { counted } from '../core/counted.ts'
import { JobchartError } from '../core/errors.ts'
import { recordError } from '../core/failure.ts'
import type { Logger } from '../core/logger.ts'
import type { Answer, BulkAnswer, StartBulk, Store } from '../store.ts'
import { promised } from './answer.ts'
import type { EventHub } from './event-hub.ts'
import { HeldError, heldMs, pauseHeld } from './held.ts'

/** How long an operation is left to a process that does not go on with it. */
const bulkLeaseMs = 10_000

export interface DriverOptions {
  readonly store: Store
  readonly hub: EventHub
  readonly clock: Clock
  readonly logger: Logger
  /** Lets the store do a batch, and emits what it has written. Default: at once. */
  readonly submit?: SubmitBatch
}

export type SubmitBatch = (ask: () => Answer<BulkAnswer>) => Promise<BulkAnswer>

/** Lets the store do a batch at once, and emits what it has written. */
export const submitTo =
  (hub: EventHub): SubmitBatch =>
  (ask) =>
    promised(ask, (answer) => {
      hub.emitAll(answer.transitions)
      return answer
    })

/** Who carries out one operation. */
export class BulkDriver {
  readonly token = nanoid()
  private readonly options: DriverOptions
  private readonly submit: SubmitBatch

  constructor(options: DriverOptions) {
    this.options = options
    this.submit = options.submit ?? submitTo(options.hub)
  }

  /** Starts an operation with its first batch. */
  start(request: Omit<StartBulk, 'token' | 'leaseMs'>, leaseMs = bulkLeaseMs): Promise<BulkAnswer> {
    return this.submit(() => this.options.store.bulk.start({ ...request, token: this.token, leaseMs }))
  }

  /**
   * Does batches until the operation has ended, another one carries it out, or `goesOn` is false. An error other than
   * STORE_UNAVAILABLE would come again: the operation ends as failed.
   * @returns the last answer
   * @throws HeldError if for a second only jobs are left whose rows somebody else holds
   */
  async advance(
    id: string,
    goesOn: () => boolean,
    onBatch: (answer: BulkAnswer) => void = () => {},
  ): Promise<BulkAnswer> {
    const { store, clock } = this.options
    let heldSince: number | null = null
    for (;;) {
      let answer: BulkAnswer
      // What is given up after a second is not to wait for the end of a long lease.
      const leaseMs = heldSince === null ? bulkLeaseMs : heldMs.most
      try {
        answer = await this.submit(() => store.bulk.advance({ id, token: this.token, leaseMs }))
      } catch (error) {
        const isPassing = error instanceof JobchartError && error.code === 'STORE_UNAVAILABLE'
        if (!isPassing) await this.fail(id, error)
        throw error
      }
      if (answer.outcome === 'advanced') onBatch(answer)
      if (answer.outcome !== 'advanced' || answer.operation?.state !== 'running') return answer
      const { held } = answer
      if (held === undefined) await new Promise<void>((resolve) => clock.nextTurn(resolve))
      else {
        heldSince ??= systemClock.monotonic()
        if (systemClock.monotonic() - heldSince > heldMs.most) throw stillHeld(id, held)
        await pauseHeld()
      }
      if (!goesOn()) return answer
    }
  }

  /** As `advance`, for an operation that no caller waits for: an error is logged, unless `goesOn` is false by then. */
  async advanceInBackground(id: string, goesOn: () => boolean): Promise<void> {
    try {
      await this.advance(id, goesOn)
    } catch (error) {
      if (goesOn()) this.options.logger.warn('a bulk operation was interrupted', { id, error })
    }
  }

  /** @throws AggregateError of this error and the store's, if the store cannot keep it */
  private async fail(id: string, error: unknown): Promise<void> {
    const refusal = await this.options.store.bulk.stop({ id, error: recordError(error) }).then(
      () => null,
      (another: unknown) => another,
    )
    if (refusal === null) return
    throw new AggregateError([error, refusal], `bulk operation ${id} failed, and the store could not keep why`)
  }
}

const stillHeld = (id: string, held: number): HeldError =>
  new HeldError(
    'STORE_UNAVAILABLE',
    `other transactions hold the rows of ${counted(held, 'job')} of bulk operation ${id}`,
    {
      hint: 'All others are done. A runtime does those after that transaction.',
    },
  )
