/** A claimed job, as its worker gets it. */
import { valueOf } from '../../core/cell.ts'
import type { Tick } from '../../core/job-row.ts'
import type { JobMeta, JobRecord } from '../../core/record.ts'
import type { Checkpoint, InboxEntry } from '../../core/machine-record.ts'
import { copyPayload, type Json } from '../../core/payload.ts'
import type { ClaimedJob, JobPins } from '../../store.ts'
import { recordOf } from './fields.ts'
import { checkpointOf, inboxOf, metaOf } from './records.ts'
import type { Row } from './row.ts'

const emptyInbox: readonly InboxEntry[] = Object.freeze([])

const stepsOf = ({ lists }: Row): Readonly<Record<string, Json>> | null =>
  lists === null || lists.steps.size === 0
    ? null
    : Object.fromEntries(Array.from(lists.steps, ([name, result]) => [name, copyPayload(result)]))

/** What another attempt changes is copied. Its record is made when it is asked for: most handlers never do. */
export class Claimed implements ClaimedJob {
  readonly input: Json | undefined
  readonly attempt: number
  readonly maxAttempts: number
  readonly generation: number
  readonly token: string
  readonly seq: number
  readonly steps: Readonly<Record<string, Json>> | null
  readonly checkpoint: Checkpoint | null
  readonly inbox: readonly InboxEntry[]
  readonly version: string | null
  private readonly row: Row
  /** A time in each would be an object of its own in V8. */
  private readonly began: Tick | null

  constructor(row: Row) {
    const { machine, lists } = row
    this.input = copyPayload(valueOf(row.input))
    this.attempt = row.attempt
    this.maxAttempts = row.maxAttempts
    this.generation = row.generation
    this.token = row.token ?? ''
    this.seq = row.lastSeq
    this.steps = stepsOf(row)
    this.checkpoint = checkpointOf(row)
    this.inbox = lists === null ? emptyInbox : lists.messages.map(inboxOf)
    this.version = machine === null ? null : machine.version
    this.row = row
    this.began = row.lastRun.startedAt
  }

  get id(): string {
    return this.row.id
  }

  get type(): string {
    return this.row.type
  }

  get startedAt(): number {
    return this.began?.at ?? 0
  }

  get priority(): number {
    return this.row.priority
  }

  get concurrencyKey(): string | null {
    return this.row.concurrencyKey
  }

  get pins(): JobPins | null {
    const { pins } = this.row.terms
    return pins === undefined ? null : structuredClone(pins)
  }

  get meta(): JobMeta | null {
    return metaOf(this.row)
  }

  record(): JobRecord {
    return recordOf(this.row)
  }
}
