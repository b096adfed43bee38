/** What is kept of jobs beside their rows: machines, checkpoints, messages and steps. */
import { Deferred } from '../../core/cell.ts'
import { JobMachine, type RowChange } from '../../core/job-row.ts'
import { isEnded } from '../../core/lifecycle.ts'
import type { CheckpointEntry, Unsupported } from '../../core/machine-record.ts'
import type { MachineStanding } from '../../core/machine-tally.ts'
import type { Json } from '../../core/payload.ts'
import type { MachineValues, PackedInboxEntry, PackedStep } from './columns.ts'
import { Contradiction } from './errors.ts'
import type { Queues } from './queues.ts'
import type { KeptOfMachine } from './record.ts'
import type { Row } from './row.ts'
import type { Statements } from './statements.ts'

export const noNames: MachineStanding = { states: [], tags: [] }

export const isSame = <T>(a: readonly T[], b: readonly T[]): boolean =>
  a === b || (a.length === b.length && a.every((item, i) => item === b[i]))

/** Read from the file when it is asked for. */
class Unread<T> extends Deferred<T> {
  private readonly read: () => T

  constructor(read: () => T) {
    super()
    this.read = read
  }

  get(): T {
    return this.read()
  }
}

/** The last checkpoint of a job that has one. */
function lastCheckpoint(sql: Statements, row: Row): readonly [state: string, at: number] {
  const seq = row.machine?.checkpoint?.seq
  const found = seq === undefined ? undefined : sql.get('checkpointAt', seq)
  if (found === undefined) throw new Contradiction(`the file has no checkpoint ${seq} of job ${row.id}`)
  return found
}

/** What a record has of a job beside its row, read from the file when it is asked for. */
class KeptInFile implements KeptOfMachine {
  private readonly machines: Machines
  private readonly row: Row

  constructor(machines: Machines, row: Row) {
    this.machines = machines
    this.row = row
  }

  get checkpoint(): string | null {
    return this.machines.checkpointState(this.row)
  }

  get inbox(): readonly PackedInboxEntry[] {
    return this.machines.inbox(this.row)
  }
}

export class Machines {
  private readonly sql: Statements
  private readonly queues: Queues

  constructor(sql: Statements, queues: Queues) {
    this.sql = sql
    this.queues = queues
  }

  /** What the row of a job that was read has of a machine. */
  readonly of = (row: Row): Deferred<JobMachine> =>
    new Unread(() => {
      const values = this.sql.get('machine', row.seq)
      if (values === undefined) return new JobMachine(null)
      return machineOf(values, row.storedCheckpointed ?? 0, new Unread(() => lastCheckpoint(this.sql, row)[1]))
    })

  /** Messages that are kept: unread ones, and deferred ones. */
  inbox({ seq, machine }: Row): readonly PackedInboxEntry[] {
    if (machine === null) return []
    const { lastMessage, lastRead, deferred } = machine
    if (lastMessage === lastRead && deferred.length === 0) return []
    return this.sql.all('messagesAfter', seq, Math.min(lastRead, (deferred[0] ?? Infinity) - 1))
  }

  /** Reads what these rows have of machines, which is then not read one by one. @returns the last states, by job */
  readTogether(rows: readonly Row[]): ReadonlyMap<number, string> {
    const states = new Map<number, string>()
    const unread = new Map(rows.flatMap((row) => (row.isMachine && !row.hasReadMachine ? [[row.seq, row]] : [])))
    if (unread.size < 2) return states
    for (const [job, state, at, ...values] of this.sql.all('machinesOf', JSON.stringify([...unread.keys()]))) {
      const row = unread.get(job)
      // What is damaged is read again by itself, and refused.
      if (row === undefined || (values[1] !== null && state === null)) continue
      row.machineCell = machineOf(values, row.storedCheckpointed ?? 0, at ?? 0)
      if (state !== null) states.set(job, state)
    }
    return states
  }

  checkpointState(row: Row): string | null {
    return (row.machine?.checkpoint ?? null) === null ? null : lastCheckpoint(this.sql, row)[0]
  }

  keptOf(row: Row): KeptOfMachine {
    return new KeptInFile(this, row)
  }

  checkpoints({ seq }: Row): CheckpointEntry[] {
    return this.sql.all('checkpointsOf', seq).map(([number, state, entry, at, note]) => {
      return { number, state: JSON.parse(state) as Json, seq: entry, at, note }
    })
  }

  /** The steps of a job in the order in which they were finished. One that was never claimed has none. */
  stepsOf({ seq, startedAt }: Row): readonly PackedStep[] {
    return startedAt === null ? [] : this.sql.all('stepsOf', seq)
  }

  /** The same of several, by job. */
  stepsOfEach(rows: readonly Row[]): ReadonlyMap<number, readonly PackedStep[]> {
    const started = rows.flatMap(({ seq, startedAt }) => (startedAt === null ? [] : seq))
    const steps = new Map<number, PackedStep[]>()
    if (started.length === 0) return steps
    for (const [job, ...step] of this.sql.all('stepsOfEach', JSON.stringify(started))) {
      const known = steps.get(job)
      if (known === undefined) steps.set(job, [step])
      else known.push(step)
    }
    return steps
  }

  // ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Jobs that have not ended are counted by the states and tags of their machines. */
  count(row: Row, was: RowChange): void {
    // What nobody has read has not changed.
    const isCounted = was.state !== null && !isEnded(was.state)
    if (!row.hasReadMachine && isCounted === (!was.isRemoved && !isEnded(row.state))) return
    const { machine, queue } = row
    const before = was.machine === null || was.state === null || isEnded(was.state) ? noNames : was.machine
    const after = machine === null || was.isRemoved || isEnded(row.state) ? noNames : machine
    if (isSame(before.states, after.states) && isSame(before.tags, after.tags)) return
    this.queues.changing(queue).countMachine(before, -1)
    this.queues.changing(queue).countMachine(after, 1)
  }

  /** Removes all that is kept of jobs besides their rows. @param numbers those of the jobs, as JSON */
  remove(numbers: string): void {
    // Before the rows that say which names they are.
    this.sql.run('removeNames', 'state', '$.states', numbers)
    this.sql.run('removeNames', 'tag', '$.tags', numbers)
    this.sql.run('removeMachines', numbers)
    this.sql.run('removeCheckpointsOf', numbers)
    this.sql.run('removeMessagesOf', numbers)
  }
}

// ── columns of a machine ───────────────────────────────────────────────────────────────────────────────────────────

/** @param checkpointAt when its last checkpoint was written */
function machineOf(
  [number, seq, takesCancel, lastMessage, lastRead, parent, checkins, keys, gatherMessages, ...others]: MachineValues,
  checkpointedAttempts: number,
  checkpointAt: Deferred<number> | number,
): JobMachine {
  const [gatherMs, version, unsupported, standing, deferred] = others
  const machine = new JobMachine(parent === null ? null : { id: parent, checkins: checkins === 1 })
  machine.version = version
  machine.checkpoint = seq === null ? null : { number, seq }
  machine.checkpointAt = seq === null ? 0 : checkpointAt
  machine.checkpointedAttempts = checkpointedAttempts
  machine.takesCancel = takesCancel === 1
  machine.lastMessage = lastMessage
  machine.lastRead = lastRead
  if (deferred !== null) machine.deferred = JSON.parse(deferred) as number[]
  if (keys !== null) machine.messageKeys = JSON.parse(keys) as string[]
  if (gatherMessages !== null) machine.gather = { messages: gatherMessages, ms: gatherMs ?? 0 }
  if (unsupported !== null) machine.unsupported = JSON.parse(unsupported) as Unsupported
  if (standing !== null) {
    const { states, tags } = JSON.parse(standing) as MachineStanding
    machine.states = states
    machine.tags = tags
  }
  return machine
}

const listText = (list: readonly unknown[]): string | null => (list.length === 0 ? null : JSON.stringify(list))

/** What the column `standing` has; null of a machine without a checkpoint that stands nowhere. */
const standingText = ({ checkpoint, states, tags }: JobMachine): string | null =>
  checkpoint === null && states.length === 0 && tags.length === 0 ? null : JSON.stringify({ states, tags })

/** The values of its columns. */
export const machineValues = (machine: JobMachine): MachineValues => [
  machine.checkpoint?.number ?? 0,
  machine.checkpoint?.seq ?? null,
  machine.takesCancel ? 1 : 0,
  machine.lastMessage,
  machine.lastRead,
  machine.parent?.id ?? null,
  machine.parent?.checkins === true ? 1 : 0,
  listText(machine.messageKeys),
  machine.gather?.messages ?? null,
  machine.gather?.ms ?? null,
  machine.version,
  machine.unsupported === null ? null : JSON.stringify(machine.unsupported),
  standingText(machine),
  listText(machine.deferred),
]
