/** A user's machine as a job: which version of it a job is pinned to, how it is hosted, and how it is seen from outside. */
import { createHash } from 'node:crypto'
import { createActor, type AnyActorRef, type AnyEventObject, type AnyStateMachine } from 'xstate'
import type {
  JobDefinition,
  MachineRunner,
  MachineJob,
  MachineViewer,
  RunResult,
  MachineRunContext,
  UnsupportedRest,
} from '../core/definition.ts'
import { describe, JobchartError } from '../core/errors.ts'
import type { MachineView } from '../core/machine-record.ts'
import type { JobRecord } from '../core/record.ts'
import type { Json } from '../core/payload.ts'
import { ActorAddresses } from './addresses.ts'
import { bounded } from './bounded.ts'
import { checkMachine } from './check-machine.ts'
import { shown, withActors } from './codec.ts'
import { invokedJobs, type JobActorSnapshot } from './from-job.ts'
import { MachineRun } from './machine-run.ts'
import { namesIn, nearest } from './names.ts'
import { accepts, afterInbox, afterTimers, failed, type AnySnapshot, type Outlook } from './outlook.ts'
import type { PlannedLogic } from './actor-kinds.ts'
import { plannedLogic } from './planned.ts'
import { restoreContexts, withoutContexts } from './references.ts'
import { adopt, timerOfNew, unknownBeforeStart, type Adopted, type Migrate } from './migration.ts'
import { machineIn, unpackState, type MachineState } from './state.ts'
import { ownStructureHash, structureHash, type MachineVersion, type PersistedMachine } from './versions.ts'

export interface MachineOptions {
  readonly machine: AnyStateMachine
  readonly version: string
  readonly migrate: Migrate | null
}

/** @throws JobchartError INVALID_OPTION, NOT_DURABLE: as `checkMachine` */
export function machineRunner(options: MachineOptions): MachineRunner {
  checkMachine(options.machine)
  return new Versions([new Version(options)])
}

class Version {
  readonly is: MachineVersion
  /** Its hash, and that of an earlier release. */
  readonly hashes: readonly string[]
  readonly options: MachineOptions
  private readonly logic: PlannedLogic

  constructor(options: MachineOptions) {
    const machine = bounded(options.machine)
    this.options = { ...options, machine }
    this.logic = plannedLogic(machine)
    this.is = { id: options.machine.id, version: options.version, hash: structureHash(options.machine) }
    this.hashes = [this.is.hash, ownStructureHash(options.machine)]
  }

  begin(attempt: MachineRunContext): Promise<RunResult> {
    return new MachineRun(attempt, this.logic, this.is, null).run()
  }

  async goOn(attempt: MachineRunContext, { state, newDelays }: Adopted): Promise<RunResult> {
    let from: MachineState
    try {
      const timers = newDelays.map((delay) => timerOfNew(delay, attempt.now()))
      from = ownedBy({ ...state, timers: [...state.timers, ...timers] }, attempt.id)
    } catch (error) {
      return unsupported(state.machine.version, error)
    }
    return new MachineRun(attempt, this.logic, this.is, from, newDelays.length > 0).run()
  }

  /**
   * Is it later than the version that a job was enqueued with? `migrate` says so by taking that version. A job that has not
   * begun has no snapshot: `migrate` gets that of its own start, and may stumble over its form (TypeError), which refuses
   * nothing.
   */
  follows(version: string, input: unknown): boolean {
    const { machine, migrate } = this.options
    if (migrate === null) return false
    try {
      const start = createActor(machine, { input }).getPersistedSnapshot()
      migrate(start, { id: this.is.id, version, hash: '' }, { timers: [] })
      return true
    } catch (error) {
      return error instanceof TypeError
    }
  }

  /** @throws JobchartError UNSUPPORTED; whatever `migrate` throws */
  adopt(state: MachineState): Adopted {
    const { machine, migrate } = this.options
    return adopt(state, { is: this.is, hashes: this.hashes, machine, migrate })
  }
}

class Versions implements MachineRunner {
  /** The current one last. */
  private readonly versions: readonly Version[]

  constructor(versions: readonly Version[]) {
    this.versions = versions
  }

  checkName(name: string): void {
    const known = new Set(this.versions.flatMap(({ options: { machine } }) => namesIn(machine)))
    if (known.has(name)) return
    const { id } = this.current.is
    throw new JobchartError('INVALID_OPTION', `machine ${id} has no state and no tag ${describe(name)}`, {
      hint: `Did you mean '${nearest(name, known)}'? A state inside others is written with dots: 'paid.shipping'.`,
    })
  }

  get definitions(): string {
    return this.versions.map(({ is }) => `${is.id} ${is.version} ${is.hash}`).join(', ')
  }

  get invokes(): ReadonlySet<JobDefinition> {
    return new Set(this.versions.flatMap(({ options: { machine } }) => invokedJobs(machine)))
  }

  withVersionsOf(other: MachineRunner): MachineRunner {
    if (!(other instanceof Versions)) throw new TypeError('not made by machineHost')
    return new Versions([...other.versions, ...this.versions])
  }

  knows(other: MachineRunner): boolean {
    return other instanceof Versions && other.versions.every((version) => this.versions.includes(version))
  }

  get version(): string {
    return this.current.is.version
  }

  prepare({
    checkpoint,
    version: enqueued,
    input,
  }: MachineJob): UnsupportedRest | ((attempt: MachineRunContext) => Promise<RunResult>) {
    const machine = checkpoint === null ? null : machineIn(checkpoint.state)
    try {
      if (checkpoint === null) {
        const version = this.versionToBegin(enqueued, input)
        return (attempt) => version.begin(attempt)
      }
      const version = this.versionFor(machine)
      const adopted = version.adopt(unpackState(checkpoint.state))
      return (attempt) => version.goOn(attempt, adopted)
    } catch (error) {
      return unsupported(machine?.version ?? enqueued ?? this.version, error)
    }
  }

  isOutdated({ checkpoint, history }: JobRecord): boolean {
    if (checkpoint === null) return false
    const machine = machineIn(checkpoint.state)
    const version = this.versionFor(machine)
    const last = history.at(-1)
    // Earlier releases parked what they could not run.
    const toldWhy = last?.event === 'PARK' && last.reason !== undefined
    if (machine !== null && version.hashes.includes(machine.hash) && !toldWhy) return false
    try {
      return version.adopt(unpackState(checkpoint.state)).newDelays.length > 0 || toldWhy
    } catch (error) {
      // What `migrate` is for may be known to another process; what does not fit any more is to be told once.
      return !toldWhy && machine?.version === version.is.version && error instanceof JobchartError
    }
  }

  viewer(): MachineViewer {
    // Who sends many messages to a job has each looked at with those before it.
    let last: { readonly key: string; readonly read: number; readonly outlook: Outlook } | null = null
    return (record, now) => {
      const { inbox } = record
      const key = viewKey(record)
      const goesOn = last?.key === key && last.read <= (inbox.at(-1)?.number ?? 0) ? last : null
      let { read, outlook } = goesOn ?? { read: 0, outlook: this.outlook(record) }
      for (const mail of inbox) {
        if (mail.number <= read) continue
        outlook = afterInbox(outlook, mail)
        read = mail.number
      }
      last = { key, read, outlook }
      return viewOf(afterTimers(outlook, now).snapshot)
    }
  }

  viewAt(state: Json): MachineView {
    return viewOf(this.restored(state).snapshot)
  }

  private get current(): Version {
    return this.versions.at(-1) as Version
  }

  /** The version that a checkpoint was made by, if it is known here; else the current one. */
  private versionFor(machine: MachineVersion | null): Version {
    const same = ({ is }: Version): boolean => is.id === machine?.id && is.version === machine.version
    return this.versions.find(same) ?? this.current
  }

  /**
   * The version that a job begins with: the current one, unless the job was enqueued with a later one.
   * @throws JobchartError UNSUPPORTED
   */
  private versionToBegin(enqueued: string | null, input: unknown): Version {
    const { current } = this
    const isKnown = enqueued === null || this.versions.some(({ is }) => is.version === enqueued)
    if (isKnown || current.follows(enqueued, input)) return current
    throw unknownBeforeStart(enqueued, current.is)
  }

  private outlook({ checkpoint, input, version }: JobRecord): Outlook {
    if (checkpoint !== null) return this.restored(checkpoint.state)
    const { machine } = this.versionToBegin(version, input).options
    const snapshot = createActor(machine, { input }).getSnapshot()
    checkBegun(snapshot)
    return { snapshot, timers: [] }
  }

  private restored(json: Json): Outlook {
    const kept = unpackState(json)
    const version = this.versionFor(kept.machine)
    const { snapshot, job, actors, timers } = version.adopt(kept).state
    const root = createActor(version.options.machine, {
      snapshot: withoutContexts(snapshot) as never,
      input: undefined,
    })
    const addresses = new ActorAddresses(job, actors, () => root)
    addresses.restoreAll()
    const actorAt = (address: string): AnyActorRef => addresses.referenceAt(address)
    restoreContexts(root, snapshot, actorAt)
    return {
      snapshot: root.getSnapshot(),
      timers: timers
        .filter(({ target }) => target === '')
        .map((timer) => ({ ...timer, event: withActors(timer.event, actorAt) as AnyEventObject })),
    }
  }
}

const unsupported = (version: string, error: unknown): UnsupportedRest => ({
  kind: 'unsupported',
  version,
  reason: error instanceof Error ? error.message : String(error),
  error,
})

const noJobs: MachineState['jobs'] = { generation: 0, ids: [] }

/** A fork has jobs of its own: those of the job it was taken from are not its children. */
function ownedBy(state: MachineState, job: string): MachineState {
  return state.job === job
    ? state
    : { ...state, job, read: 0, jobs: noJobs, cancel: null, snapshot: withOwnJobs(state.snapshot, job) }
}

function withOwnJobs(snapshot: PersistedMachine, job: string): PersistedMachine {
  const children = Object.entries(snapshot.children).map(([id, child]) => {
    const inner = child.snapshot as Partial<PersistedMachine & JobActorSnapshot<unknown, unknown>>
    if (inner.invokes !== undefined && inner.status === 'active') {
      // The same each time, so that a crash before the first checkpoint leaves no second job.
      const own = createHash('sha256').update(`${job}\n${inner.context?.id}`).digest('base64url').slice(0, 21)
      return [id, { ...child, snapshot: { ...inner, context: { ...inner.context, id: own } } }]
    }
    if (inner.children === undefined) return [id, child]
    return [id, { ...child, snapshot: withOwnJobs(inner as PersistedMachine, job) }]
  })
  return { ...snapshot, children: Object.fromEntries(children) as PersistedMachine['children'] }
}

/** What a machine has read since is told by the checkpoint and the inbox; where it has none, by its input. */
function viewKey({ id, generation, checkpoint, input, history }: JobRecord): string {
  const from = checkpoint === null ? JSON.stringify(input) : checkpoint.number
  return `${id}\n${history[0]?.seq ?? 0}\n${generation}\n${from}`
}

/** @throws JobchartError NOT_ACCEPTED for a machine that cannot even begin */
function checkBegun(snapshot: AnySnapshot): void {
  if (snapshot.status === 'error')
    throw failed((snapshot.machine as AnyStateMachine).id, 'at its start', snapshot.error)
}

function viewOf(snapshot: AnySnapshot): MachineView {
  return {
    value: snapshot.value as Json,
    // Actors in it are shown as they are kept: by their ids.
    get context() {
      const kept: object = (snapshot.machine as AnyStateMachine).getPersistedSnapshot(snapshot)
      return shown('context' in kept ? kept.context : null)
    },
    tags: [...(snapshot.tags as ReadonlySet<string>)],
    status: snapshot.status,
    output: snapshot.output === undefined ? undefined : shown(snapshot.output),
    matches: (state) => snapshot.matches(state),
    hasTag: (tag) => snapshot.hasTag(tag),
    can: (event) => accepts(snapshot, event),
  }
}
