/** The machine of a job type: finds the version that runs a job, and shows the state of a job's machine to others. */
import { createActor, type AnyActorRef, type AnyEventObject, type AnyStateMachine } from 'xstate'
import type {
  Assessment,
  JobDefinition,
  Judge,
  LifeReplay,
  ParkedJob,
  MachineRunner,
  MachineJob,
  MachineViewer,
  RunResult,
  MachineRunContext,
  UnsupportedRest,
} from '../core/definition.ts'
import { describe, JobchartError, messageOf } from '../core/errors.ts'
import { cancelEvent, isForgottenCancel, type MachineTypes, type MachineView } from '../core/machine-record.ts'
import type { JobRecord } from '../core/record.ts'
import type { Json } from '../core/payload.ts'
import { digestOf } from '../core/platform.ts'
import type { RecordedLife } from '../core/recorded-life.ts'
import { storedView } from '../core/stored-view.ts'
import { ActorAddresses } from './addresses.ts'
import { runnableCopy } from './built-ins.ts'
import { checkMachine } from './check-machine.ts'
import { toDisplayJson, withActors } from './codec.ts'
import { invokedJobs, type JobActorSnapshot } from './from-job.ts'
import { livedEvents } from './lived-events.ts'
import { MachineRun } from './machine-run.ts'
import { isNamedByState, namesIn, nearest, sendableEvents, standingOf } from './machines.ts'
import { isEvent } from './deferred-events.ts'
import {
  accepts,
  afterInbox,
  afterOffers,
  afterTimers,
  machineThrew,
  type AnySnapshot,
  type Preview,
} from './preview.ts'
import type { PlannedLogic } from './actor-kinds.ts'
import { plannedLogic } from './planned.ts'
import { replay } from './replay.ts'
import { restoreContexts, withoutContexts } from './references.ts'
import { adopt, timerOfNew, unknownBeforeStart, unreadable, type Adopted, type Migrate } from './migration.ts'
import { machineIn, unpackState, type MachineState } from './state.ts'
import { nameOf, structureHash, type MachineVersion, type PersistedMachine } from './versions.ts'

interface MachineOptions {
  readonly machine: AnyStateMachine
  readonly version: string
  readonly migrate: Migrate | null
}

/** @throws JobchartError INVALID_OPTION, NOT_DURABLE: as `checkMachine` */
export function machineRunner(options: MachineOptions): MachineRunner {
  checkMachine(options.machine)
  return new VersionedRunner([new Version(options)])
}

class Version {
  readonly identity: MachineVersion
  readonly options: MachineOptions
  /** The machine as its author has written it. */
  readonly chart: AnyStateMachine
  private readonly logic: PlannedLogic

  constructor(options: MachineOptions) {
    const machine = runnableCopy(options.machine)
    this.options = { ...options, machine }
    this.chart = options.machine
    this.logic = plannedLogic(machine)
    this.identity = { id: options.machine.id, version: options.version, hash: structureHash(options.machine) }
  }

  start(attempt: MachineRunContext): Promise<RunResult> {
    return new MachineRun(attempt, this.logic, this.identity, null).run()
  }

  async resume(attempt: MachineRunContext, { state, newDelays }: Adopted): Promise<RunResult> {
    let from: MachineState
    try {
      const timers = newDelays.map((delay) => timerOfNew(delay, attempt.now()))
      from = ownedByJob({ ...state, timers: [...state.timers, ...timers] }, attempt.id)
    } catch (error) {
      return unsupported(state.machine, error)
    }
    // A fork is found by its states once it has a checkpoint of its own.
    const change =
      newDelays.length > 0 ? 'taken over by another definition' : state.job === attempt.id ? null : 'forked'
    return new MachineRun(attempt, this.logic, this.identity, from, change).run()
  }

  /**
   * Does `migrate` accept the version that a job was enqueued with? A job that has not started has no snapshot, so
   * `migrate` gets the initial snapshot of this version. A TypeError means that `migrate` did not expect its form, and
   * counts as accepted.
   */
  migratesFrom(version: string, input: unknown): boolean {
    const { machine, migrate } = this.options
    if (migrate === null) return false
    try {
      const start = createActor(machine, { input }).getPersistedSnapshot()
      migrate(start, { id: this.identity.id, version, hash: '' }, { timers: [] })
      return true
    } catch (error) {
      return error instanceof TypeError
    }
  }

  replay(life: RecordedLife, input: unknown): LifeReplay {
    const adopted = (state: Json): MachineState => this.adopt(state).state
    return replay(life, { logic: this.logic, identity: this.identity, input, adopt: adopted })
  }

  /** @throws JobchartError UNSUPPORTED, also if `migrate` throws */
  adopt(json: Json): Adopted {
    const { machine, migrate } = this.options
    try {
      return adopt(unpackState(json), { identity: this.identity, machine, migrate })
    } catch (error) {
      throw unreadable(error)
    }
  }
}

class VersionedRunner implements MachineRunner {
  /** The current version is the last. */
  private readonly versions: readonly Version[]

  constructor(versions: readonly Version[]) {
    this.versions = versions
  }

  checkName(name: string): void {
    const known = new Set(this.versions.flatMap(({ options: { machine } }) => namesIn(machine)))
    if (known.has(name)) return
    const { id } = this.current.identity
    throw new JobchartError('INVALID_OPTION', `machine ${id} has no state and no tag ${describe(name)}`, {
      hint: `Did you mean '${nearest(name, known)}'? A state inside others is written with dots: 'paid.shipping'.`,
    })
  }

  get definitions(): string {
    return this.fingerprints.join(', ')
  }

  get fingerprints(): readonly string[] {
    return this.versions.map(({ identity }) => nameOf(identity))
  }

  get events(): readonly string[] {
    return [...new Set(this.versions.flatMap(({ chart }) => sendableEvents(chart)))]
  }

  judgeOf({ checkpoint, version }: MachineJob): Judge {
    const wrote = checkpoint === null ? null : machineIn(checkpoint.state)
    const { identity, chart } = checkpoint === null ? this.current : this.versionFor(wrote)
    const isSame = wrote !== null && wrote.id === identity.id && wrote.version === identity.version
    return {
      name: nameOf(identity),
      isThatOfJob: isSame && wrote.hash === identity.hash,
      versionOfJob: wrote?.version ?? version,
      takesCancel: () =>
        checkpoint !== null &&
        (chart.events as readonly string[]).includes(cancelEvent) &&
        isNamedByState(this.restored(checkpoint.state).snapshot, { type: cancelEvent }),
      versionsThatKnow: (event) =>
        this.versions.flatMap(({ chart, identity: own }) => (sendableEvents(chart).includes(event) ? own.version : [])),
    }
  }

  get charts(): MachineRunner['charts'] {
    return this.versions.map(({ identity: { version }, chart: machine }) => ({ version, machine }))
  }

  get invokes(): ReadonlySet<JobDefinition> {
    return new Set(this.versions.flatMap(({ options: { machine } }) => invokedJobs(machine)))
  }

  withVersionsOf(other: MachineRunner): MachineRunner {
    if (!(other instanceof VersionedRunner)) throw new TypeError('not made by machineRunner')
    return new VersionedRunner([...other.versions, ...this.versions])
  }

  knows(other: MachineRunner): boolean {
    return other instanceof VersionedRunner && other.versions.every((version) => this.versions.includes(version))
  }

  get version(): string {
    return this.current.identity.version
  }

  prepare({
    checkpoint,
    version: enqueued,
    input,
  }: MachineJob): UnsupportedRest | ((attempt: MachineRunContext) => Promise<RunResult>) {
    const machine = checkpoint === null ? null : machineIn(checkpoint.state)
    try {
      if (checkpoint === null) {
        const version = this.versionToStart(enqueued, input)
        return (attempt) => version.start(attempt)
      }
      const version = this.versionFor(machine)
      const adopted = version.adopt(checkpoint.state)
      return (attempt) => version.resume(attempt, adopted)
    } catch (error) {
      const { id, version } = this.current.identity
      return unsupported(machine ?? { id, version: enqueued ?? version }, error)
    }
  }

  replay(life: RecordedLife, input: unknown): LifeReplay {
    return this.current.replay(life, input)
  }

  assess(record: ParkedJob): Assessment {
    const { checkpoint, machineStates, machineTags, deferred } = record
    if (checkpoint === null) return { kind: 'current' }
    const machine = machineIn(checkpoint.state)
    try {
      const version = this.versionFor(machine)
      const { state, newDelays } = version.adopt(checkpoint.state)
      if (newDelays.length > 0) return { kind: 'outdated' }
      const isOther = machine !== null && nameOf(machine) !== nameOf(version.identity)
      if (isOther && deferred.length > 0 && this.takesDeferred(record)) return { kind: 'outdated' }
      const { states, tags } = standingOf(version.chart, state.snapshot.value)
      const takesCancel = this.takesCancel(record)
      const isListed = hasSame(states, machineStates) && hasSame(tags, machineTags)
      if (isListed && takesCancel === record.takesCancel) return { kind: 'current' }
      return { kind: 'moved', standing: { states, tags, takesCancel } }
    } catch (error) {
      return unsupported(machine ?? this.current.identity, error)
    }
  }

  /** Does its machine, as this process knows it, handle a cancel? If it throws: as its last checkpoint says. */
  private takesCancel(record: ParkedJob): boolean {
    try {
      return this.judgeOf(record).takesCancel()
    } catch {
      return record.takesCancel
    }
  }

  /** Does its machine, as this process knows it, take an event that another definition has deferred? */
  private takesDeferred(record: ParkedJob): boolean {
    try {
      return this.preview(record).deferred.length < record.deferred.length
    } catch (error) {
      if (error instanceof JobchartError) return false
      throw error
    }
  }

  viewer(): MachineViewer {
    // A caller that sends many messages to a job views it after each: the preview of the earlier messages is reused.
    let last: { readonly key: string; readonly read: number; readonly preview: Preview } | null = null
    return (record, now) => {
      const { inbox } = record
      const key = viewKey(record)
      const reusable = last?.key === key && last.read <= (inbox.at(-1)?.number ?? 0) ? last : null
      let { read, preview } = reusable ?? { read: 0, preview: this.preview(record) }
      for (const entry of inbox) {
        if (entry.number <= Math.max(read, preview.read)) continue
        if (isForgottenCancel(entry.message, record.generation)) continue
        preview = afterInbox(preview, entry)
        read = entry.number
      }
      last = { key, read, preview }
      return this.viewOf(afterTimers(preview, now))
    }
  }

  viewAt<Machine extends MachineTypes>(state: Json, tags: readonly string[] = []): MachineView<Machine> {
    try {
      return this.viewOf(this.restored(state))
    } catch (error) {
      if (!(error instanceof JobchartError) || error.code !== 'UNSUPPORTED') throw error
      return storedView(state, tags, error)
    }
  }

  readonly eventsAt = livedEvents

  /** The machine that a snapshot belongs to says what its types are. */
  private viewOf<Machine extends MachineTypes>({ snapshot, timers }: Preview): MachineView<Machine> {
    const version = this.versions.find(({ options: { machine } }) => machine === snapshot.machine) ?? this.current
    return {
      value: snapshot.value as Machine['value'],
      // The persisted context holds actors as ids.
      get context() {
        const kept: object = (snapshot.machine as AnyStateMachine).getPersistedSnapshot(snapshot)
        return toDisplayJson('context' in kept ? kept.context : null) as Machine['context']
      },
      tags: [...(snapshot.tags as ReadonlySet<string>)],
      status: snapshot.status,
      output: snapshot.output === undefined ? undefined : toDisplayJson(snapshot.output),
      timers: timers.map(({ event, at }) => ({ event: event.type, at })).toSorted((a, b) => a.at - b.at),
      version: version.identity.version,
      unsupported: null,
      matches: (state) => snapshot.matches(state),
      hasTag: (tag) => snapshot.hasTag(tag),
      can: (event) => accepts(snapshot, event),
    }
  }

  private get current(): Version {
    return this.versions.at(-1) as Version
  }

  /** The version that wrote a checkpoint, if this process knows it; else the current one. */
  private versionFor(machine: MachineVersion | null): Version {
    const same = ({ identity }: Version): boolean => identity.id === machine?.id && identity.version === machine.version
    return this.versions.find(same) ?? this.current
  }

  /**
   * The version that starts a job: the current one.
   * @throws JobchartError UNSUPPORTED if the job was enqueued with an unknown version that `migrate` does not accept
   */
  private versionToStart(enqueued: string | null, input: unknown): Version {
    const { current } = this
    const isKnown = enqueued === null || this.versions.some(({ identity }) => identity.version === enqueued)
    if (isKnown || current.migratesFrom(enqueued, input)) return current
    throw unknownBeforeStart(enqueued, current.identity)
  }

  /** The state before the first unread message. */
  private preview({ checkpoint, input, version, inbox }: Pick<ParkedJob, keyof MachineJob | 'inbox'>): Preview {
    if (checkpoint !== null) {
      const preview = this.restored(checkpoint.state)
      const deferred = inbox.filter(isEvent).filter(({ number }) => number <= preview.read)
      // What was deferred may be taken by the version that this process knows.
      return deferred.length === 0 ? preview : afterOffers({ ...preview, deferred })
    }
    const started = this.versionToStart(version, input)
    const snapshot = createActor(started.options.machine, { input }).getSnapshot()
    checkStarted(snapshot)
    return { snapshot, timers: [], deferred: [], read: 0, machine: nameOf(started.identity) }
  }

  private restored(json: Json): Preview {
    const version = this.versionFor(machineIn(json))
    const { snapshot, job, actors, timers, read } = version.adopt(json).state
    const root = createActor(version.options.machine, {
      snapshot: withoutContexts(snapshot) as never,
      input: undefined,
    })
    const addresses = new ActorAddresses(job, actors, () => root)
    addresses.restoreAll()
    const actorAt = (address: string): AnyActorRef => addresses.referenceAt(address)
    restoreContexts(root, snapshot, actorAt)
    return {
      read,
      machine: nameOf(version.identity),
      deferred: [],
      snapshot: root.getSnapshot(),
      timers: timers
        .filter(({ target }) => target === '')
        .map((timer) => ({ ...timer, event: withActors(timer.event, actorAt) as AnyEventObject })),
    }
  }
}

const unsupported = ({ id, version }: Pick<MachineVersion, 'id' | 'version'>, error: unknown): UnsupportedRest => ({
  kind: 'unsupported',
  machine: `${id} ${version}`,
  version,
  reason: messageOf(error),
  error,
})

const noJobs: MachineState['jobs'] = { generation: 0, ids: [] }

/**
 * The state for a fork, if it was written for another job: without that job's messages, cancel, child jobs and times.
 */
function ownedByJob(state: MachineState, job: string): MachineState {
  if (state.job === job) return state
  const snapshot = withOwnJobs(state.snapshot, job)
  return { ...state, job, read: 0, jobs: noJobs, cancel: null, entered: undefined, snapshot }
}

function withOwnJobs(snapshot: PersistedMachine, job: string): PersistedMachine {
  const children = Object.entries(snapshot.children).map(([id, child]) => {
    const inner = child.snapshot as Partial<PersistedMachine & JobActorSnapshot<unknown, unknown>>
    if (inner.invokes !== undefined && inner.status === 'active') {
      // The id is derived, so that a run after a crash before the first checkpoint enqueues the same job.
      const own = digestOf(`${job}\n${inner.context?.id}`).slice(0, 21)
      return [id, { ...child, snapshot: { ...inner, context: { ...inner.context, id: own } } }]
    }
    if (inner.children === undefined) return [id, child]
    return [id, { ...child, snapshot: withOwnJobs(inner as PersistedMachine, job) }]
  })
  return { ...snapshot, children: Object.fromEntries(children) as PersistedMachine['children'] }
}

/** Equal keys start from the same state: that of the checkpoint, or without one that of the input. */
function viewKey({ id, generation, checkpoint, input, history }: JobRecord): string {
  const from = checkpoint === null ? JSON.stringify(input) : checkpoint.number
  return `${id}\n${history[0]?.seq ?? 0}\n${generation}\n${from}`
}

/** @throws JobchartError NOT_ACCEPTED if the machine fails at its start */
function checkStarted(snapshot: AnySnapshot): void {
  if (snapshot.status === 'error')
    throw machineThrew((snapshot.machine as AnyStateMachine).id, 'at its start', snapshot.error)
}

const hasSame = (some: readonly string[], others: readonly string[]): boolean =>
  new Set([...some, ...others]).size === new Set(some).size && some.length === others.length
