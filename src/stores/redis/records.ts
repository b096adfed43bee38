/** Stored jobs, and claimed ones. */
import type { JobRow } from '../../core/job-row.ts'
import type { CheckpointEntry, InboxEntry } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import type { JobRecord } from '../../core/record.ts'
import type { ClaimedJob, JobPins } from '../../store.ts'
import { claimedOf, recordOf as recordOfJob, type ReadJob } from '../remote/record.ts'
import type { LoadedRow } from '../remote/working-set.ts'
import type { Reply } from './connection.ts'
import { afterClaim, waiting } from './grown.ts'
import { historyEntries, separator } from './history-text.ts'
import { pairs, parsedAll } from './loading.ts'
import { dataFields, inlineLetters, parseRow, restFields, unlessUnreadable, type StoredRow } from './row-text.ts'

/** The stored data of a job. */
export interface StoredJob {
  readonly id: string
  readonly row: StoredRow
  readonly checkpoint: CheckpointEntry | null
  readonly inbox: readonly InboxEntry[]
}

const readJobOf = ({ id, row, checkpoint, inbox }: StoredJob, decoded: JobRow = row.decode(id)): ReadJob => ({
  row: decoded,
  checkpoint,
  inbox,
  history: () => historyEntries(row.history),
})

/** @param fields those that are asked for; default all */
export const recordOf = <Name extends keyof JobRecord = keyof JobRecord>(
  job: StoredJob,
  fields?: readonly Name[],
): Pick<JobRecord, Name> => recordOfJob(readJobOf(job), fields)

interface Claimed {
  readonly job: ClaimedJob
  readonly row: LoadedRow
}

/** What a job has beside its row: fields that are kept apart, results of steps, the last checkpoint and the inbox. */
export type Beside = readonly [data: Reply, steps: Reply, checkpoint: Reply, inbox: Reply]

/** A job whose row was written whole by its claim; null if it cannot be read. */
export const claimedWhole = (id: string, text: string, beside: Beside): Claimed | null =>
  unlessUnreadable(() => {
    const [data, steps, checkpoint, inbox] = beside
    const row = parseRow(text)
    if (row === null) return null
    const apart = Object.fromEntries(pairs(data))
    const whole = row.withData(apart, dataFields)
    const read = (): StoredJob => ({
      id,
      row: whole,
      checkpoint:
        typeof checkpoint === 'string' && checkpoint !== '' ? (JSON.parse(checkpoint) as CheckpointEntry) : null,
      inbox: parsedAll<InboxEntry>(inbox),
    })
    return { job: claimedJob(read, pairs(steps)), row: row.withData(apart, restFields) }
  })

/** @param read gives the job with values that are the caller's */
function claimedJob(read: () => StoredJob, steps: readonly [string, string][]): ClaimedJob {
  const stored = read()
  const row = stored.row.decode(stored.id)
  const { input, checkpoint, inbox, meta } = recordOfJob(readJobOf(stored, row), [
    'input',
    'checkpoint',
    'inbox',
    'meta',
  ])
  return claimedOf(row, {
    input,
    steps:
      steps.length === 0 ? null : Object.fromEntries(steps.map(([name, text]) => [name, JSON.parse(text) as Json])),
    checkpoint,
    inbox,
    meta: row.terms.meta === null ? null : meta,
    record: () => recordOf(read()),
  })
}

/** What one claim has appended to the rows of a type. */
export interface ClaimOfType {
  readonly type: string
  readonly suffix: string
  /** That of its lease. */
  readonly name: string
  readonly token: string
  readonly worker: string
  readonly startedAt: number
  /** Attempts allowed; null: those of the enqueue. */
  readonly maxAttempts: number | null
  /** What the last of its jobs that was read has from its enqueue: mostly the next one has the same. */
  common: CommonText | null
}

/** A job whose row has grown by its claim; null if it cannot be read. */
export const claimedGrown = (id: string, text: string, seq: number, claim: ClaimOfType): Claimed | null =>
  unlessUnreadable(() => {
    const from = text.indexOf(ownEnd)
    if (!ownHead.test(text.slice(0, from))) return null
    const { common } = claim
    const isSame = common !== null && text.startsWith(common.text, from)
    const inputAt = isSame ? from + common.text.length : text.indexOf(inputMark, from)
    const hasInput = inputAt >= 0 && text.startsWith(inputMark, inputAt)
    const born =
      isSame && (hasInput || inputAt === text.length)
        ? common.born
        : bornOf(text, from, hasInput ? inputAt : undefined, claim)
    if (born?.type !== claim.type) return null
    const row = new GrownRow(text, seq, claim)
    const input = hasInput ? (JSON.parse(text.slice(inputAt + inputMark.length)) as Json) : undefined
    return { job: new GrownJob(id, born, input, row), row }
  })

/** What the enqueue of a job whose row grows has given. */
interface Born {
  readonly type: string
  readonly priority: number
  readonly attempt: number
  readonly maxAttempts: number
  readonly generation: number
  readonly pins: JobPins | null
}

/** The part of a row that jobs of one type mostly have in common, and what it says. */
interface CommonText {
  readonly text: string
  readonly born: Born
}

/** Time, revision and number. */
const ownHead = /^\+\d{16}\d+\0\d+$/
const ownEnd = separator.repeat(5) + waiting + separator
const inputMark = separator + inlineLetters.input

/** Reads what the enqueue has given, and keeps it for the next job of the claim. */
function bornOf(text: string, from: number, to: number | undefined, claim: ClaimOfType): Born | null {
  const row = parseRow(text)
  if (row === null) return null
  const { type, priority, attempt, maxAttempts, generation, terms } = row.decode('')
  const born = { type, priority, attempt, maxAttempts, generation, pins: terms.pins ?? null }
  claim.common = { text: text.slice(from, to), born }
  return born
}

/** The row of a claimed job. What is not asked for is not read. */
export class GrownRow implements LoadedRow {
  readonly seq: number
  readonly claim: ClaimOfType
  /** As it was before the claim. */
  readonly text: string
  private read: StoredRow | null = null

  constructor(text: string, seq: number, claim: ClaimOfType) {
    this.text = text
    this.seq = seq
    this.claim = claim
  }

  get stored(): StoredRow {
    return (this.read ??= this.parsed())
  }

  private parsed(): StoredRow {
    const row = parseRow(afterClaim(this.text, this.seq, this.claim.suffix))
    if (row === null) throw new SyntaxError('a claimed row cannot be read')
    return row.withData({}, restFields)
  }

  get revision(): string {
    return this.stored.revision
  }

  decode(id: string): JobRow {
    return this.stored.decode(id)
  }
}

const noMessages: readonly InboxEntry[] = Object.freeze([])

/** A claimed job whose row grows. */
class GrownJob implements ClaimedJob {
  readonly id: string
  readonly type: string
  readonly input: Json | undefined
  readonly priority: number
  readonly concurrencyKey = null
  readonly attempt: number
  readonly maxAttempts: number
  readonly generation: number
  readonly token: string
  readonly startedAt: number
  readonly seq: number
  readonly steps = null
  readonly checkpoint = null
  readonly inbox = noMessages
  readonly version = null
  readonly pins: JobPins | null
  readonly meta = null
  private readonly row: GrownRow

  constructor(id: string, born: Born, input: Json | undefined, row: GrownRow) {
    const { seq, claim } = row
    this.id = id
    this.type = born.type
    this.input = input
    this.priority = born.priority
    this.attempt = born.attempt + 1
    this.maxAttempts = born.pins?.maxAttempts ?? claim.maxAttempts ?? born.maxAttempts
    this.generation = born.generation
    this.token = claim.token
    this.startedAt = claim.startedAt
    this.seq = seq
    this.pins = born.pins
    this.row = row
  }

  record(): JobRecord {
    return recordOf({ id: this.id, row: this.row.stored, checkpoint: null, inbox: [] })
  }
}
