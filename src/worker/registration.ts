/** The worker's record in the list of workers, written again when it has changed or the store may lack it. */
import type { RuntimeSettings } from '../core/settings.ts'
import type { JobchartError } from '../core/errors.ts'
import type { WorkerRecord } from '../store.ts'
import type { Connection } from '../client/connection.ts'
import type { Permits } from './permits.ts'
import { workerInfo, type WorkerLoad } from './worker-info.ts'

interface RegistrationOptions {
  readonly id: string
  readonly settings: RuntimeSettings
  readonly connection: Connection
  readonly permits: Permits
  /** Why no job may start now; null if jobs may. */
  readonly halted: () => JobchartError | null
}

export class Registration {
  /** When the worker started, by the store's clock, ms. */
  startedAt = 0
  /** null before the start. */
  private announced: WorkerLoad | null = null
  /** May the store lack the record, and how long ended jobs of its types are kept? */
  private mayBeUnknown = true
  private readonly options: RegistrationOptions

  constructor(options: RegistrationOptions) {
    this.options = options
  }

  /** Registers a worker that starts, and picks as soon as it has. */
  async begin(): Promise<void> {
    this.startedAt = this.options.connection.store.now()
    await this.announce({ slots: this.options.permits.slots, paused: false })
  }

  /**
   * Writes the record if slots have changed, or the worker was paused or resumed: jobs may be handed over to it, or
   * not.
   */
  async announceChange(): Promise<void> {
    if (!this.hasChanged) return
    try {
      await this.announce(this.load)
    } catch (error) {
      // The next heartbeat repeats it.
      this.options.settings.logger.debug('the record of the worker could not be written', { error })
    }
  }

  /** As `announceChange`; throws if the store does not answer. @param wasSilent may the record have been removed? */
  async renew(wasSilent: boolean): Promise<void> {
    if (wasSilent) this.mayBeUnknown = true
    if (this.hasChanged) await this.announce(this.load)
  }

  /** The store may have lost what has no transition. */
  lost(): void {
    this.mayBeUnknown = true
  }

  /** The record after the stop, when it is in the list of workers no more. */
  stoppedRecord(): WorkerRecord {
    const seenAt = this.options.connection.store.now()
    return { ...this.info({ slots: 0, paused: true }), seenAt, lost: false, running: [] }
  }

  info(load: WorkerLoad): ReturnType<typeof workerInfo> {
    const { id, settings } = this.options
    return workerInfo(id, settings, load, this.startedAt)
  }

  private get load(): WorkerLoad {
    return { slots: this.options.permits.slots, paused: this.options.halted() !== null }
  }

  private get hasChanged(): boolean {
    const { announced, load } = this
    return (
      announced !== null && (this.mayBeUnknown || announced.slots !== load.slots || announced.paused !== load.paused)
    )
  }

  private async announce(load: WorkerLoad): Promise<void> {
    const { id, settings, connection } = this.options
    const { mayBeUnknown } = this
    this.mayBeUnknown = false
    try {
      if (mayBeUnknown) await connection.store.retain(settings.retention)
      await connection.store.worker(id, this.info(load))
    } catch (error) {
      this.mayBeUnknown = true
      throw error
    }
    this.announced = load
  }
}
