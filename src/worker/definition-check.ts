/**
 * Resumes waiting machine jobs whose definition has changed. A waiting machine is in no process's memory: without this check,
 * a deployment that adds a delay to its state, or is incompatible with it, would take effect only at the next event.
 *
 * At its start a runtime lists the waiting jobs and resumes those whose definition has changed, and those that other processes
 * postponed as unsupported and that it can run. It repeats the check after a minute while it finds such jobs, or while another
 * worker defines the machines differently and may postpone more.
 */
import { nanoid } from 'nanoid'
import type { JobDefinition, MachineRunner } from '../core/definition.ts'
import type { Logger } from '../core/logger.ts'
import type { JobRecord } from '../core/record.ts'
import type { JobFilter, ListQuery, Store } from '../store.ts'
import { promised } from '../client/answer.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { Timers } from '../client/timers.ts'
import { definitionsOf } from './worker-info.ts'

const pageSize = 100
/** Between two pages, so that the check of many jobs does not delay running ones. */
const pauseMs = 10
const againAfterMs = 60_000

interface DefinitionCheckOptions {
  readonly store: Store
  readonly worker: string
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly hub: EventHub
  readonly timers: Timers
  readonly leaseMs: number
  readonly logger: Logger
}

export class DefinitionCheck {
  private readonly options: DefinitionCheckOptions
  private running = false

  constructor(options: DefinitionCheckOptions) {
    this.options = options
  }

  start(): void {
    this.running = true
    if ([...this.options.jobs.values()].some(({ machine }) => machine !== null)) void this.check()
  }

  stop(): void {
    this.running = false
  }

  private async check(): Promise<void> {
    const { timers, logger } = this.options
    let again = true
    try {
      // Read before the jobs: what a worker postpones before it disappears from the list is then found in the pages.
      const mixed = await this.otherWorkersDiffer()
      again = (await this.resumeAll()) || mixed
    } catch (error) {
      logger.warn('the definitions of waiting jobs could not be checked; they are checked again', { error })
    }
    if (again && this.running) timers.after(againAfterMs, () => void this.check(), false)
  }

  /** Does another live worker define one of these machines differently? */
  private async otherWorkersDiffer(): Promise<boolean> {
    const { store, worker, jobs, leaseMs } = this.options
    const own = definitionsOf(jobs)
    const workers = await store.workers()
    return workers.some(({ id, seenAt, types, definitions = {} }) => {
      if (id === worker || seenAt < store.now() - leaseMs) return false
      return types.some((type) => type in own && definitions[type] !== own[type])
    })
  }

  /** Returns whether any was found. */
  private async resumeAll(): Promise<boolean> {
    let found = false
    for (const [type, { machine }] of this.options.jobs) {
      if (machine !== null && (await this.resumeOutdated(type, machine))) found = true
    }
    return found
  }

  private async resumeOutdated(type: string, machine: MachineRunner): Promise<boolean> {
    const outdated = await this.resumeSome({ type, state: 'waiting' }, (record) => machine.isOutdated(record))
    const runs = (record: JobRecord): boolean => typeof machine.prepare(record) === 'function'
    const postponed = await this.resumeSome({ type, state: 'scheduled', unsupported: true }, runs)
    return outdated || postponed
  }

  /** Resumes the jobs that match both the filter and `isFor`. Returns whether there were any. */
  private async resumeSome(filter: JobFilter, isFor: (record: JobRecord) => boolean): Promise<boolean> {
    let found = false
    let after: string | undefined
    do {
      const query: ListQuery = { ...filter, limit: pageSize, ...(after !== undefined && { after }) }
      const page = await this.options.store.list(query)
      const outdated = page.filter(isFor).map(({ id }) => id)
      if (outdated.length > 0) await this.resume(outdated)
      found ||= outdated.length > 0
      after = page.next
      if (after !== undefined) await this.pause()
    } while (after !== undefined && this.running)
    return found
  }

  private async resume(ids: readonly string[]): Promise<void> {
    const { store, hub } = this.options
    await promised(
      () => store.send(ids.map((id) => ({ id, message: { kind: 'resume' }, key: nanoid(), expect: null }))),
      (answers) => hub.emitAll(answers.flatMap(({ transition }) => (transition === undefined ? [] : [transition]))),
    )
  }

  private pause(): Promise<void> {
    return new Promise((resolve) => {
      this.options.timers.after(pauseMs, resolve, false)
    })
  }
}
