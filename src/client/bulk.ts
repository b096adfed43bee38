/**
 * `client.bulk`: starts bulk operations, carries them out in the background or until they have ended, and follows those
 * of others.
 */
import { bulkRunOptions, bulkStartOptions, bulkTerms, expectDone } from '../core/bulk-options.ts'
import type { BulkOperations, BulkRequest, BulkRunOptions } from '../core/bulk-options.ts'
import { checkId } from '../core/call-options.ts'
import { caps } from '../core/caps.ts'
import { AbortError, JobchartError } from '../core/errors.ts'
import { recordError } from '../core/failure.ts'
import type { BulkAnswer, BulkOperation, StartBulk, Store } from '../store.ts'
import { refusedBy } from './answer.ts'
import { BulkDriver, type SubmitBatch } from './bulk-driver.ts'
import type { Connection } from './connection.ts'

/** Interval at which an operation that another process carries out is looked at. */
const followMs = 500

interface StartOptions extends Partial<Pick<StartBulk, 'leaseMs' | 'keep'>> {
  readonly submit?: SubmitBatch | undefined
}

export class ClientBulk implements BulkOperations {
  private readonly connection: Connection

  constructor(connection: Connection) {
    this.connection = connection
  }

  async start(request: BulkRequest, options: { readonly detach?: boolean } = {}): Promise<BulkOperation> {
    const { detach } = bulkStartOptions(options, 'options of start')
    const { driver, answer } = await this.begin(request, detach ? { leaseMs: 0 } : {})
    const operation = operationOf(answer)
    if (!detach && operation.state === 'running') {
      void driver.advanceInBackground(operation.id, () => this.connection.opened)
    }
    return operation
  }

  async run(request: BulkRequest, options: BulkRunOptions = {}): Promise<BulkOperation> {
    bulkRunOptions(options, 'options')
    const { signal } = options
    if (signal?.aborted) throw new AbortError('the bulk operation was aborted before it began', signal.reason)
    return this.carryOut(request, {}, options)
  }

  /**
   * Carries out the change of a call that answers with a report of its jobs. The operation is kept only if it has more
   * than one batch.
   * @param submit lets the store do a batch; default: at once
   * @throws JobchartError as `run`; ABORTED if the operation was stopped, STORE_REFUSED if it has failed
   */
  async change(
    request: BulkRequest,
    submit: SubmitBatch | undefined,
    onBatch: (jobs: BulkAnswer['jobs']) => void,
  ): Promise<BulkOperation> {
    const { store } = this.connection
    try {
      const ended = await this.carryOut(
        request,
        { keep: 'unfinished', submit },
        { onBatch: ({ jobs }) => onBatch(jobs) },
      )
      expectDone(ended)
      return ended
    } catch (error) {
      if (error instanceof JobchartError || error instanceof AggregateError) throw error
      throw refusedBy(store.name, `a batch of the ${request.kind}`, recordError(error))
    }
  }

  async resume(id: string, options: BulkRunOptions = {}): Promise<BulkOperation> {
    checkId(id)
    bulkRunOptions(options, 'options')
    await this.connection.ready()
    return this.follow(this.driver(), id, options)
  }

  async stop(id: string): Promise<BulkOperation> {
    checkId(id)
    const operation = await (await this.store()).bulk.stop({ id, error: null })
    if (operation === null) throw noOperation(id)
    return operation
  }

  async list(): Promise<BulkOperation[]> {
    return (await this.store()).bulk.list()
  }

  private async store(): Promise<Store> {
    await this.connection.ready()
    return this.connection.store
  }

  private driver(submit?: SubmitBatch): BulkDriver {
    const { store, hub, settings } = this.connection
    return new BulkDriver({ store, hub, clock: settings.clock, logger: settings.logger, ...(submit && { submit }) })
  }

  private async begin(
    request: BulkRequest,
    { leaseMs, keep = 'always', submit }: StartOptions,
  ): Promise<{ readonly driver: BulkDriver; readonly answer: BulkAnswer }> {
    const { connection } = this
    const terms = bulkTerms(request)
    // An open store needs no await: a cancel is submitted in this turn, before other events of the process.
    if (!connection.opened) await connection.ready()
    const driver = this.driver(submit)
    const id = connection.settings.newId()
    const answer = await driver.start({ id, ...terms, batchSize: caps.selection, keep }, leaseMs)
    return { driver, answer }
  }

  private async carryOut(request: BulkRequest, start: StartOptions, options: BulkRunOptions): Promise<BulkOperation> {
    const { driver, answer } = await this.begin(request, start)
    const operation = operationOf(answer)
    progressed(options, answer)
    return operation.state === 'running' ? this.follow(driver, operation.id, options) : operation
  }

  /** Carries it out as soon as no other process does, until it has ended. */
  private async follow(driver: BulkDriver, id: string, options: BulkRunOptions): Promise<BulkOperation> {
    const { signal, onProgress } = options
    const goesOn = (): boolean => signal?.aborted !== true && this.connection.opened
    for (;;) {
      if (signal?.aborted) throw new AbortError(`waiting for bulk operation ${id} was aborted`, signal.reason)
      if (!this.connection.opened) throw clientClosed()
      const batch = (answer: BulkAnswer): void => progressed(options, answer)
      const { operation } = await driver.advance(id, goesOn, batch)
      if (operation === null) throw noOperation(id)
      if (operation.state !== 'running') return operation
      onProgress?.(operation)
      if (goesOn()) await this.pause(signal)
    }
  }

  /** Resolves also when the signal aborts. @throws JobchartError STOPPED when the client closes */
  private pause(signal: AbortSignal | undefined): Promise<void> {
    const { timers, follow } = this.connection
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const done = (): void => resolve()
    const timer = timers.after(followMs, done)
    const off = follow.onEnd(() => reject(clientClosed()))
    signal?.addEventListener('abort', done, { once: true })
    if (signal?.aborted) done()
    return promise.finally(() => {
      timer.cancel()
      off()
      signal?.removeEventListener('abort', done)
    })
  }
}

function progressed({ onBatch, onProgress }: BulkRunOptions, answer: BulkAnswer): void {
  onBatch?.(answer)
  if (answer.operation !== null) onProgress?.(answer.operation)
}

const clientClosed = (): JobchartError =>
  new JobchartError('STOPPED', 'the client was closed', {
    hint: 'The operation goes on where a runtime works on the store.',
  })

/** @throws JobchartError CAPACITY */
function operationOf({ operation }: BulkAnswer): BulkOperation {
  if (operation !== null) return operation
  throw new JobchartError('CAPACITY', `${caps.bulkRunning} bulk operations run, which is the most there can be`, {
    hint: 'Wait until one has ended, or stop one. Nothing was changed.',
  })
}

const noOperation = (id: string): JobchartError =>
  new JobchartError('NOT_FOUND', `bulk operation ${id} is not in the store`, {
    hint: `Check the id: client.bulk.list() has those that run and the last ${caps.bulkEnded} that have ended.`,
  })
