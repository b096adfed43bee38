/** A claimed job, as its worker gets it. */
import type { JobMeta, JobRecord } from '../../core/record.ts'
import type { Checkpoint, InboxEntry } from '../../core/machine-record.ts'
import { copyPayload, type Json } from '../../core/payload.ts'
import type { ClaimedJob, JobPins } from '../../store.ts'
import { recordOf } from './fields.ts'
import { checkpointOf, inboxOf, metaOf } from './records.ts'
import type { Past, Row, Run } from './row.ts'

const emptyInbox: readonly InboxEntry[] = Object.freeze([])

const stepsOf = ({ steps }: Past): Readonly<Record<string, Json>> | null =>
  steps === null || steps.size === 0
    ? null
    : Object.fromEntries(Array.from(steps, ([name, result]) => [name, copyPayload(result)]))

/** Its record is made when it is asked for: most handlers never do. */
export class Claimed implements ClaimedJob {
  readonly input: Json | undefined
  readonly maxAttempts: number
  readonly generation: number
  readonly steps: Readonly<Record<string, Json>> | null
  readonly checkpoint: Checkpoint | null
  readonly inbox: readonly InboxEntry[]
  readonly version: string | null
  private readonly row: Row
  private readonly run: Run

  constructor(row: Row, run: Run) {
    this.input = copyPayload(row.input)
    this.maxAttempts = row.maxAttempts
    this.generation = row.generation
    this.steps = row.past === null ? null : stepsOf(row.past)
    this.checkpoint = row.machine === null ? null : checkpointOf(row)
    this.inbox = row.machine === null ? emptyInbox : row.machine.messages.map(inboxOf)
    this.version = row.machine === null ? null : row.machine.version
    this.row = row
    this.run = run
  }

  get id(): string {
    return this.row.id
  }

  get type(): string {
    return this.row.queue.type
  }

  get priority(): number {
    return this.row.terms.priority
  }

  get concurrencyKey(): string | null {
    return this.row.concurrencyKey
  }

  get attempt(): number {
    return this.run.claim.attempt
  }

  get token(): string {
    return this.run.token
  }

  get startedAt(): number {
    return this.run.claim.tick.at
  }

  get pins(): JobPins | null {
    const { pins } = this.row.terms
    return pins === undefined ? null : structuredClone(pins)
  }

  get meta(): JobMeta | null {
    return metaOf(this.row)
  }

  get seq(): number {
    return this.run.claim.seq
  }

  record(): JobRecord {
    return recordOf(this.row)
  }
}
