/** The row in `machines` of a job with a machine or a parent. */
import type { MachineStanding } from '../../core/machine-tally.ts'
import type { MachineRow } from '../../core/unit-of-work.ts'
import type { Gather, Parent, Unsupported } from '../../core/machine-record.ts'
import type { MachineValues } from './columns.ts'

/** Of a machine that has no checkpoint. */
export const noStanding: MachineStanding = { states: [], tags: [] }

export class Machine implements MachineRow {
  readonly parent: Parent | null
  /** Has it a row in the file? */
  isStored: boolean
  /** The last checkpoint: its number, and the number of its entry in the log. */
  checkpoint: { readonly number: number; readonly seq: number } | null = null
  takesCancel = false
  lastMessage = 0
  lastRead = 0
  deferred: readonly number[] = []
  messageKeys: readonly string[] = []
  gather: Gather | null = null
  /** The version that the job was enqueued with. */
  version: string | null = null
  unsupported: Unsupported | null = null
  /** State paths and tags at its last checkpoint, as JSON; null if it has none. */
  private standingText: string | null = null
  /** The same; null as long as nobody has asked for it. */
  private parsed: MachineStanding | null = null

  constructor(parent: Parent | null, values?: MachineValues) {
    this.parent = parent
    this.isStored = values !== undefined
    if (values === undefined) return
    const [
      number,
      seq,
      takesCancel,
      lastMessage,
      lastRead,
      ,
      ,
      keys,
      gatherLetters,
      gatherMs,
      version,
      unsupported,
      standing,
      deferred,
    ] = values
    this.checkpoint = seq === null ? null : { number, seq }
    this.takesCancel = takesCancel === 1
    this.lastMessage = lastMessage
    this.lastRead = lastRead
    if (deferred !== null) this.deferred = JSON.parse(deferred) as number[]
    this.messageKeys = keys === null ? [] : (JSON.parse(keys) as string[])
    this.gather = gatherLetters === null ? null : { messages: gatherLetters, ms: gatherMs ?? 0 }
    this.version = version
    this.unsupported = unsupported === null ? null : (JSON.parse(unsupported) as Unsupported)
    this.standingText = standing
  }

  get standing(): string | null {
    return this.standingText
  }

  get stands(): MachineStanding {
    return (this.parsed ??=
      this.standingText === null ? noStanding : (JSON.parse(this.standingText) as MachineStanding))
  }

  /** @param text the same as JSON; null of a machine without a checkpoint */
  stand(standing: MachineStanding, text: string | null): void {
    this.parsed = standing
    this.standingText = text
  }
}
