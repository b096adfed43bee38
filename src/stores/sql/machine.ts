/** What a job has of a machine, as SQL databases have it. */
import type { Deferred } from '../../core/cell.ts'
import { JobMachine } from '../../core/job-row.ts'
import type { Checkpoint, InboxEntry, InboxMessage, Unsupported } from '../../core/machine-record.ts'
import type { MachineStanding } from '../../core/machine-tally.ts'
import type { Json } from '../../core/payload.ts'
import type { MachineValues, PackedInboxEntry } from './columns.ts'

/** @param checkpointAt when its last checkpoint was written */
export function machineOf(
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

export const inboxOf = (entries: readonly PackedInboxEntry[]): InboxEntry[] =>
  entries.map(([number, at, message]) => ({ number, at, message: JSON.parse(message) as InboxMessage }))

/** What is kept of a job beside its row and its machine, as text. */
export interface KeptOfMachine {
  /** The state of its last checkpoint. */
  readonly checkpoint: string | null
  readonly inbox: readonly PackedInboxEntry[]
}

export const checkpointOf = (
  machine: Pick<JobMachine, 'checkpoint'> | null,
  state: string | null,
): Checkpoint | null =>
  machine === null || machine.checkpoint === null || state === null
    ? null
    : { number: machine.checkpoint.number, state: JSON.parse(state) as Json }
