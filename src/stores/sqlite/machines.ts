/**
 * What jobs with a machine, or with a parent, have beyond their own rows: a row in `machines`, checkpoints and
 * messages. The row of the job says whether there is one (its column `spared` is not null), so that a plain job costs
 * no statement here.
 */
import { caps } from '../../core/caps.ts'
import type {
  Checkpoint,
  CheckpointEntry,
  InboxEntry,
  InboxMessage,
  NewCheckpoint,
  Parent,
  Unsupported,
} from '../../core/machine-record.ts'
import { isEnded } from '../../core/lifecycle.ts'
import type { MachineNameKind, MachineStanding } from '../../core/machine-tally.ts'
import type { Json } from '../../core/payload.ts'
import type { PackedInboxEntry } from './columns.ts'
import { Contradiction } from './errors.ts'
import { Machine, noStanding } from './machine.ts'
import type { Queues } from './queues.ts'
import type { Row } from './row.ts'
import type { Statements } from './statements.ts'
import { inboxOf, type MachineFields, type StoredMachine } from './stored-machine.ts'

/** The fields of a record that are kept beside the row of a job, each read from the file when it is asked for. */
class FieldsInFile implements MachineFields {
  private readonly machines: Machines
  private readonly row: Row

  constructor(machines: Machines, row: Row) {
    this.machines = machines
    this.row = row
  }

  get checkpoint(): Checkpoint | null {
    const number = this.row.machine?.checkpoint?.number
    return number === undefined ? null : { number, state: JSON.parse(this.machines.checkpointOf(this.row)[0]) as Json }
  }

  get inbox(): InboxEntry[] {
    const { machine } = this.row
    return machine === null ? [] : inboxOf(this.machines.inbox(this.row, machine, 0))
  }

  get deferred(): readonly number[] {
    return this.row.machine?.deferred ?? []
  }

  get lastMessageNumber(): number {
    return this.row.machine?.lastMessage ?? 0
  }

  get parent(): Parent | null {
    return this.row.machine?.parent ?? null
  }

  get version(): string | null {
    return this.row.machine?.version ?? null
  }

  get unsupported(): Unsupported | null {
    return this.row.machine?.unsupported ?? null
  }

  get machineStates(): readonly string[] {
    return this.row.machine?.stands.states ?? []
  }

  get machineTags(): readonly string[] {
    return this.row.machine?.stands.tags ?? []
  }
}

export class Machines {
  private readonly sql: Statements
  private readonly queues: Queues

  constructor(sql: Statements, queues: Queues) {
    this.sql = sql
    this.queues = queues
  }

  load({ seq }: Row): Machine {
    const values = this.sql.get('machine', seq)
    if (values === undefined) return new Machine(null)
    const [, , , , , parent, checkins] = values
    return new Machine(parent === null ? null : { id: parent, checkins: checkins === 1 }, values)
  }

  /** @param byCheckpoint has only a checkpoint changed it since it was written? */
  write({ seq }: Pick<Row, 'seq'>, machine: Machine, byCheckpoint: boolean): void {
    const { parent, checkpoint, lastMessage, lastRead, messageKeys, gather, unsupported, standing } = machine
    const deferred = machine.deferred.length === 0 ? null : JSON.stringify(machine.deferred)
    const number = checkpoint?.number ?? 0
    const entry = checkpoint?.seq ?? null
    const takesCancel = machine.takesCancel ? 1 : 0
    if (byCheckpoint && machine.isStored) {
      this.sql.run('writeCheckpoint', number, entry, takesCancel, lastRead, standing, deferred, seq)
      return
    }
    this.sql.run(
      'writeMachine',
      seq,
      number,
      entry,
      takesCancel,
      lastMessage,
      lastRead,
      parent?.id ?? null,
      parent?.checkins === true ? 1 : 0,
      messageKeys.length === 0 ? null : JSON.stringify(messageKeys),
      gather?.messages ?? null,
      gather?.ms ?? null,
      machine.version,
      unsupported === null ? null : JSON.stringify(unsupported),
      standing,
      deferred,
    )
    machine.isStored = true
  }

  addMessage({ seq }: Row, machine: Machine, message: InboxMessage, at: number): void {
    this.sql.run('addMessage', seq, ++machine.lastMessage, at, JSON.stringify(message))
  }

  /** @param entry the number of its entry in the log */
  addCheckpoint(row: Row, machine: Machine, next: NewCheckpoint, entry: number, at: number): void {
    const { seq } = row
    const { number, state, note, takesCancel } = next
    machine.checkpoint = { number, seq: entry }
    machine.takesCancel = takesCancel
    this.sql.run('addCheckpoint', entry, seq, number, at, note, JSON.stringify(state))
    const { states = [], tags = [] } = next
    this.keepStanding(row, machine, { states, tags })
    if (number > caps.checkpoints) this.sql.run('removeCheckpoints', seq, number - caps.checkpoints)
  }

  forgetCheckpoints(row: Row, machine: Machine): void {
    const { seq } = row
    if (machine.checkpoint !== null) this.sql.run('removeCheckpoints', seq, machine.checkpoint.number)
    machine.checkpoint = null
    this.keepStanding(row, machine, null)
    machine.takesCancel = false
  }

  /**
   * A job has ended, or is retried: only jobs that have not ended are counted by the states and tags of their machines.
   */
  countStanding({ queue }: Row, standing: MachineStanding, by: 1 | -1): void {
    this.queues.countMachine(this.queues.at(queue), standing, by)
  }

  keepStanding(row: Row, machine: Machine, standing: MachineStanding | null): void {
    const text = standing === null ? null : JSON.stringify(standing)
    if (text === machine.standing) return
    const before = machine.stands
    const after = standing ?? noStanding
    machine.stand(after, text)
    this.changeNames(row, 'state', before.states, after.states)
    this.changeNames(row, 'tag', before.tags, after.tags)
    if (isEnded(row.state)) return
    this.countStanding(row, before, -1)
    this.countStanding(row, after, 1)
  }

  /** Writes the names that differ only: a step of a machine with parallel states leaves most of them. */
  private changeNames({ seq }: Row, kind: MachineNameKind, before: readonly string[], after: readonly string[]): void {
    const entered = after.filter((name) => !before.includes(name))
    for (const name of before) {
      if (after.includes(name)) continue
      // One statement for a state that is left and one that is entered instead.
      const next = entered.pop()
      if (next === undefined) this.sql.run('forgetName', kind, name, seq)
      else this.sql.run('changeName', next, kind, name, seq)
    }
    for (const name of entered) this.sql.run('addName', kind, name, seq)
  }

  /** Removes the messages up to `read`, except the deferred ones. */
  markRead({ seq }: Row, machine: Machine, read: number, deferred: readonly number[]): void {
    machine.lastRead = read
    machine.deferred = deferred
    if (deferred.length === 0) this.sql.run('removeMessages', seq, read)
    else this.sql.run('removeOtherMessages', seq, read, JSON.stringify(deferred))
  }

  /** Messages after the one of a number. */
  inbox({ seq }: Row, { lastMessage, lastRead, deferred }: Machine, after: number): PackedInboxEntry[] {
    const hasAny = lastMessage > Math.max(after, lastRead) || deferred.some((number) => number > after)
    return hasAny ? this.sql.all('messagesAfter', seq, after) : []
  }

  /** The last checkpoint of a job that has one. */
  checkpointOf(row: Row): readonly [state: string, at: number] {
    const seq = row.machine?.checkpoint?.seq
    const found = seq === undefined ? undefined : this.sql.get('checkpointAt', seq)
    if (found === undefined) throw new Contradiction(`the file has no checkpoint ${seq} of job ${row.id}`)
    return found
  }

  /** What a claim returns beside the row of a job. */
  keptOf(row: Row): StoredMachine | null {
    const { machine } = row
    if (machine === null) return null
    const { checkpoint, lastMessage, deferred, parent, version, unsupported } = machine
    return {
      checkpoint: checkpoint === null ? null : [checkpoint.number, this.checkpointOf(row)[0]],
      inbox: this.inbox(row, machine, 0),
      deferred,
      lastMessageNumber: lastMessage,
      parent,
      version,
      unsupported,
      machineStates: machine.stands.states,
      machineTags: machine.stands.tags,
    }
  }

  /** The fields of a record that are kept here. */
  fieldsOf(row: Row): MachineFields {
    return new FieldsInFile(this, row)
  }

  checkpoints({ seq }: Row): CheckpointEntry[] {
    return this.sql.all('checkpointsOf', seq).map(([number, state, entry, at, note]) => {
      return { number, state: JSON.parse(state) as Json, seq: entry, at, note }
    })
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
