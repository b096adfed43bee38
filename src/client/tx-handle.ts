/** The handle of a job that was enqueued in a transaction of the caller: its calls wait until the job is stored. */
import type { EnqueueOutcome } from '../core/handle.ts'
import { waitOptions, type WaitOptions } from '../core/call-options.ts'
import { AbortError, JobchartError, TimeoutError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import { sameJson } from '../core/unique.ts'
import type { MachineTypes } from '../core/machine-record.ts'
import type { Stream } from '../core/stream.ts'
import type { NewJob, OpenTransaction, Store } from '../store.ts'
import { ClientHandle, outcomeOfNew, type HandleServices } from './handle.ts'
import { GuardedStream } from './stream.ts'
import { txRolledBack, type TxWrite } from './transactions.ts'

export interface TxHandleOptions {
  readonly services: HandleServices
  readonly store: Store
  readonly logger: Logger
  readonly job: NewJob
  readonly write: TxWrite
  /** Is a call with these options part of a transaction? Then it is written at once. */
  readonly joins: (options: { readonly tx?: OpenTransaction | null } | undefined) => boolean
}

/** What the enqueue has led to after the commit. */
interface Stored {
  readonly id: string
  readonly outcome: EnqueueOutcome
  readonly sameInput: boolean
}

export class TxHandle<Output, Machine extends MachineTypes> extends ClientHandle<Output, Machine> {
  /** Is it known by now that the transaction was rolled back, or its savepoint? */
  readonly isRolledBack: () => Promise<boolean>
  private readonly waiting: Pick<HandleServices, 'after'>
  private readonly found: () => Promise<Stored>

  constructor({ services, store, logger, job, write, joins }: TxHandleOptions) {
    let finding: Promise<Stored> | null = null
    const find = (): Promise<Stored> => {
      finding ??= write.settled().then((isCertain) => storedOf(store, job, isCertain))
      return finding
    }
    const own = afterCommit({ services, logger, joins, stored: async () => (await find()).id })
    const counters = { attempt: 0, maxAttempts: job.maxAttempts, generation: 1 }
    super(own, job.id, job.type, 'inserted', true, 'queued', 0, counters)
    this.isRolledBack = () => write.isRolledBack()
    this.waiting = services
    this.found = find
  }

  override async stored(options: WaitOptions = {}): Promise<void> {
    const { timeout, signal } = waitOptions(options, 'options of stored')
    if (signal?.aborted) throw new AbortError('waiting for the commit was aborted', signal.reason)
    const { id, outcome, sameInput } = await new Promise<Stored>((resolve, reject) => {
      const release = (): void => {
        timer?.cancel()
        signal?.removeEventListener('abort', onAbort)
      }
      const failed = (error: unknown): void => {
        release()
        reject(error)
      }
      const onAbort = (): void => failed(new AbortError('waiting for the commit was aborted', signal?.reason))
      const timer =
        timeout === null || timeout === undefined
          ? null
          : this.waiting.after(timeout, () => failed(notEnded(this.id, timeout)))
      signal?.addEventListener('abort', onAbort, { once: true })
      this.found().then((stored) => {
        release()
        resolve(stored)
      }, failed)
    })
    this.became(id, outcome, sameInput)
  }
}

const notEnded = (id: string, ms: number): TimeoutError =>
  new TimeoutError(`the transaction of job ${id} did not end within ${ms} ms`, {
    hint: 'It is still open: commit it, then wait.',
  })

/**
 * @param isCertain is it known that the transaction has committed?
 * @throws JobchartError ID_TAKEN; if the job is not there, and no other one in its place, NOT_FOUND, TX_ROLLED_BACK
 */
async function storedOf(
  store: Store,
  { id, type, input, key, onConflict }: NewJob,
  isCertain: boolean,
): Promise<Stored> {
  const [job] = await store.get([id])
  if (job?.type === type) {
    const sameInput = sameJson(job.input, input)
    // One with another input was there before, unless its key lets other calls replace the input.
    if (!sameInput && key === null) return { id, outcome: 'kept', sameInput }
    return { id, outcome: outcomeOfNew(job), sameInput }
  }
  if (job !== null && job !== undefined) {
    const hint = 'Prefix ids with the type.'
    throw new JobchartError('ID_TAKEN', `the id ${id} belongs to a job of type ${job.type}`, { hint })
  }
  const holder =
    key === null ? undefined : (await store.list({ type, key, order: 'newest', limit: 1, fields: ['id', 'input'] }))[0]
  if (holder !== undefined) {
    const sameInput = sameJson(holder.input, input)
    return { id: holder.id, outcome: onConflict === 'keep' || !sameInput ? 'kept' : 'replaced', sameInput }
  }
  if (!isCertain) throw txRolledBack()
  throw new JobchartError(
    'NOT_FOUND',
    `job ${id} is not in the store any more, although its transaction has committed`,
    {
      hint: 'It has ended and was removed by retention or a discard; or the store has refused it: then the log of the process that carried it out says why.',
    },
  )
}

interface AfterCommitOptions extends Pick<TxHandleOptions, 'services' | 'logger' | 'joins'> {
  /** The id of the job that is stored after the commit. */
  readonly stored: () => Promise<string>
}

/** The same services, each after the commit, for the job that is then stored; but at once what joins a transaction. */
function afterCommit({ services, stored, logger, joins }: AfterCommitOptions): HandleServices {
  const stream = <T>(of: (id: string) => Stream<T>): Stream<T> =>
    new GuardedStream<T>(logger, (subscriber) => {
      stored().then(
        (id) => subscriber.add(of(id).subscribe(subscriber)),
        (error: unknown) => subscriber.error(error),
      )
    })
  /** Begins after the commit, unless it has ended before. */
  const later = (begin: (id: string) => () => void, failed: (error: JobchartError) => void): (() => void) => {
    let end: (() => void) | null = null
    let isEnded = false
    stored().then((id) => {
      if (!isEnded) end = begin(id)
    }, failed)
    return () => {
      isEnded = true
      end?.()
    }
  }
  return {
    after: services.after.bind(services),
    waits: (id) => services.waits(id),
    whenEnded: (_, ended, closed, done, soon) =>
      later((id) => services.whenEnded(id, ended, closed, done, soon), closed),
    eventsSince: (_, seq, listener) =>
      later(
        (id) => services.eventsSince(id, seq, listener),
        () => {},
      ),
    record: async () => services.record(await stored()),
    cancel: async (id, options) => services.cancel(joins(options) ? id : await stored(), options),
    retry: async (_, options) => services.retry(await stored(), options),
    fork: async (_, seq, options) => services.fork(await stored(), seq, options),
    send: async (id, type, event, options) => services.send(joins(options) ? id : await stored(), type, event, options),
    can: async (_, event) => services.can(await stored(), event),
    view: async () => services.view(await stored()),
    viewAt: async (_, seq) => services.viewAt(await stored(), seq),
    checkpoints: async () => services.checkpoints(await stored()),
    waitFor: (id, what, timeoutMs, signal) => services.waitFor(id, what, timeoutMs, signal, stored),
    snapshot$: <Machine extends MachineTypes>() => stream((id) => services.snapshot$<Machine>(id)),
    state$: () => stream((id) => services.state$(id)),
    events$: () => stream((id) => services.events$(id)),
  }
}
