/**
 * Brings parked machine jobs up to the definitions of this process. A parked machine is in no process's memory: without
 * this check, a deployment would take effect for it only at its next event, perhaps months later.
 *
 * At its start a runtime assesses the parked jobs. Those that must wait for other events now are resumed. Those that it
 * cannot run, and no other live worker can either, are recorded as unsupported and reported. Those whose states have
 * other names are found by the new ones, once no other worker defines the machines differently. Jobs that other
 * processes postponed as unsupported and that this one can run are resumed. It repeats the check after a minute while
 * it finds something to do, or while another worker defines the machines differently and may postpone more; and begins
 * again when such a worker comes.
 */
import { nanoid } from 'nanoid'
import type { Timer } from '../core/clock.ts'
import type { JobDefinition, MachineRunner, UnsupportedRest } from '../core/definition.ts'
import type { Logger } from '../core/logger.ts'
import type { RepeatedCalls } from '../core/repeated-calls.ts'
import type { JobRecord } from '../core/record.ts'
import { reindexRequest } from '../core/reindex.ts'
import type { JobFilter, JobPage, ReindexRequest, Store, WorkerRecord } from '../store.ts'
import { promised } from '../client/answer.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { Timers } from '../client/timers.ts'
import { ownValue } from '../core/own-value.ts'
import { definitionsOf } from './worker-info.ts'

const pageSize = 100
/** Between two pages, so that the check of many jobs does not delay running ones. */
const pauseMs = 10
const againAfterMs = 60_000
/** Versions and reasons that are remembered as reported. */
const reportedMax = 1_000

const checkedFields = [
  'id',
  'checkpoint',
  'version',
  'input',
  'inbox',
  'deferred',
  'machineStates',
  'machineTags',
  'takesCancel',
  'unsupported',
] as const
type CheckedJob = Pick<JobRecord, (typeof checkedFields)[number]>

interface UnsupportedJobs extends UnsupportedRest {
  count: number
  /** The first one. */
  readonly id: string
}

interface DefinitionCheckOptions {
  readonly store: Store
  readonly worker: string
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly hub: EventHub
  readonly timers: Timers
  readonly logger: Logger
  readonly repeated: RepeatedCalls
}

export class DefinitionCheck {
  private readonly options: DefinitionCheckOptions
  private running = false
  private timer: Timer | null = null
  private readonly reported = new Set<string>()
  private checking = false
  private checkAgain = false

  constructor(options: DefinitionCheckOptions) {
    this.options = options
  }

  start(): void {
    this.running = true
    this.repeat()
  }

  /** Checks now: other jobs may wait than before. */
  repeat(): void {
    const { jobs } = this.options
    if (this.running && jobs.values().some(({ machine }) => machine !== null)) void this.checkAll()
  }

  /** Other workers are at work: checks now if one that defines the machines differently has come since. */
  met(others: readonly WorkerRecord[]): void {
    if (!this.checking && this.timer === null && this.differing(others).size > 0) this.repeat()
  }

  stop(): void {
    this.running = false
  }

  /** One check at a time: a running one may have passed what has changed. */
  private async checkAll(): Promise<void> {
    this.checkAgain = this.checking
    if (this.checking) return
    this.checking = true
    this.timer?.cancel()
    this.timer = null
    let isFound: boolean
    do {
      this.checkAgain = false
      isFound = await this.check()
    } while (this.checkAgain && this.running)
    this.checking = false
    if (isFound && this.running) {
      this.timer = this.options.timers.after(againAfterMs, () => void this.checkAll(), false)
    }
  }

  /** @returns may there be more to do later? */
  private async check(): Promise<boolean> {
    const { repeated } = this.options
    const failure = 'the definitions of waiting jobs could not be checked; they are checked again'
    try {
      // Read before the jobs: what a worker postpones before it disappears from the list is then found in the pages.
      const others = this.differing(await this.options.store.workers())
      let found = false
      for (const [type, { machine }] of this.options.jobs) {
        if (machine === null) continue
        const change = await this.checkParked(type, machine, others.get(type) ?? [])
        const postponed = await this.resumePostponed(type, machine)
        found ||= change || postponed
      }
      repeated.succeeded(failure)
      return found || others.size > 0
    } catch (error) {
      if (this.running) repeated.failed(failure, { error })
      return true
    }
  }

  /** Definitions that other live workers have of these machines, as far as they differ, by type. */
  private differing(workers: readonly WorkerRecord[]): ReadonlyMap<string, readonly string[]> {
    const { worker, jobs } = this.options
    const own = definitionsOf(jobs)
    const found = new Map<string, string[]>()
    for (const { id, lost, types, definitions } of workers) {
      if (id === worker || lost) continue
      for (const type of types) {
        const definition = ownValue(definitions, type) ?? ''
        if (!Object.hasOwn(own, type) || definition === own[type]) continue
        const list = found.get(type) ?? []
        if (list.length === 0) found.set(type, list)
        list.push(definition)
      }
    }
    return found
  }

  /** Returns whether any job was changed. */
  private async checkParked(type: string, machine: MachineRunner, others: readonly string[]): Promise<boolean> {
    const unsupported = new Map<string, UnsupportedJobs>()
    let found = false
    for await (const page of this.pages({ type, state: 'waiting' })) {
      const outdated: string[] = []
      const requests: ReindexRequest[] = []
      for (const record of page) {
        const answer = machine.assess(record)
        // Another worker runs it, or finds it by its own states.
        if (answer.kind === 'unsupported' && others.some((each) => lists(each, answer.machine))) continue
        if (answer.kind === 'moved' && others.length > 0) continue
        if (answer.kind === 'outdated') outdated.push(record.id)
        if (answer.kind === 'unsupported') note(unsupported, record.id, answer)
        const request = reindexRequest(record, answer)
        if (request !== null) requests.push(request)
      }
      if (outdated.length > 0) await this.resume(outdated)
      if (requests.length > 0) await this.options.store.reindex(requests)
      found ||= outdated.length + requests.length > 0
    }
    for (const each of unsupported.values()) this.report(type, each)
    return found
  }

  private async resumePostponed(type: string, machine: MachineRunner): Promise<boolean> {
    let found = false
    for await (const page of this.pages({ type, state: 'scheduled', unsupported: true })) {
      const ids = page.filter((record) => typeof machine.prepare(record) === 'function').map(({ id }) => id)
      if (ids.length > 0) await this.resume(ids)
      found ||= ids.length > 0
    }
    return found
  }

  /** Pages of jobs, with a pause between two, until the runtime stops. */
  private async *pages(filter: JobFilter): AsyncGenerator<readonly CheckedJob[]> {
    let after: string | undefined
    do {
      const page: JobPage<CheckedJob> = await this.options.store.list({
        ...filter,
        limit: pageSize,
        fields: checkedFields,
        ...(after !== undefined && { after }),
      })
      yield page
      after = page.next
      if (after !== undefined) await this.pause()
    } while (after !== undefined && this.running)
  }

  /** Reports parked jobs that no process can run; once per version and reason. */
  private report(type: string, { version, reason, count, id, error }: UnsupportedJobs): void {
    const name = JSON.stringify([type, version, reason])
    if (this.reported.has(name)) return
    if (this.reported.size >= reportedMax) this.reported.clear()
    this.reported.add(name)
    const message = 'parked jobs cannot go on with this definition of their machine, and no live worker has another'
    this.options.logger.error(message, { type, version, reason, count, id, error })
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

function note(all: Map<string, UnsupportedJobs>, id: string, found: UnsupportedRest): void {
  const key = JSON.stringify([found.version, found.reason])
  const group = all.get(key)
  if (group === undefined) all.set(key, { ...found, count: 1, id })
  else group.count++
}

/** Does a definition, as `definitionsOf` writes it, list a machine of this id and version? */
const lists = (definition: string, machine: string): boolean =>
  definition.split(afterHash).some((each) => each.slice(0, each.lastIndexOf(' ')) === machine)

/** Ids and versions may have commas and spaces. */
const afterHash = /(?<= [\w-]{22}), /
