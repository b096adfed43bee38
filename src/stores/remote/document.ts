/**
 * A job as plain JSON, with all that is kept of it: what a store of documents loads and keeps. Its members are the
 * contract between this package and stores of others: a member that is added later may be missing in old documents.
 */
import { caps } from '../../core/caps.ts'
import { valueOf } from '../../core/cell.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import { JobMachine, JobRow, Terms, Tick, type Additions, type CancelMark, type Settled } from '../../core/job-row.ts'
import { isLeased, jobStates, statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { CheckpointEntry, Gather, InboxEntry, Parent, Unsupported } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import { defaultKeyWeight } from '../../core/shares.ts'
import type { AttemptError, CheckIn, HistoryEntry, JobMeta, JobRecord, LogLine } from '../../core/record.ts'
import type { JobFilter, JobPins } from '../../store.ts'
import { matches } from './match.ts'
import { recordOf } from './record.ts'
import { numbered, pending } from './transaction.ts'
import type { LoadedRow } from './working-set.ts'

/** What a document has of a machine, or of a child job. */
export interface MachineDocument {
  readonly parent: Parent | null
  readonly version: string | null
  readonly checkpoint: { readonly number: number; readonly seq: number } | null
  readonly checkpointAt: number
  readonly checkpointedAttempts: number
  readonly takesCancel: boolean
  /** State paths and tags at the last checkpoint. */
  readonly states: readonly string[]
  readonly tags: readonly string[]
  readonly lastMessage: number
  readonly lastRead: number
  readonly deferred: readonly number[]
  readonly gather: Gather | null
  readonly messageKeys: readonly string[]
  readonly unsupported: Unsupported | null
}

export interface JobDocument {
  /** 1 at first, and one more with each write. */
  readonly rev: number
  readonly id: string
  readonly type: string
  readonly state: JobState
  /** The number of its ENQUEUE: the order of enqueues; and that of its last transition: the order of ends. */
  readonly seq: number
  readonly lastSeq: number
  /** Among jobs of equal priority, those with a lower place are claimed first. */
  readonly place: number
  readonly priority: number
  readonly attempt: number
  readonly generation: number
  readonly maxAttempts: number
  readonly enqueuedAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  /** Its due time, or the end of its lease. */
  readonly wakeAt: number | null
  readonly worker: string | null
  readonly token: string | null
  readonly settled: Settled | null
  readonly key: string | null
  /** Does it give up its unique key at its start, and has it given it up? */
  readonly untilStart: boolean
  readonly givenUpKey: boolean
  /** It waits for the end of the job that has given up its key, and is then due at this time. */
  readonly dueAfter: number | null
  readonly concurrencyKey: string | null
  readonly keyWeight: number
  readonly tags: readonly string[]
  readonly meta: JobMeta | null
  readonly pins: JobPins | null
  readonly input?: Json
  readonly output?: Json
  /** The error of the last attempt, and the fingerprint of its group. */
  readonly error: ErrorRecord | null
  readonly failure: string | null
  readonly errors: readonly AttemptError[]
  readonly logs: readonly LogLine[]
  readonly checkin: CheckIn | null
  readonly cancel: CancelMark | null
  /** Type of the job that is inserted if this one dies. */
  readonly onDead: string | null
  readonly machine: MachineDocument | null
  /** Its transitions without the ENQUEUE, the oldest first. */
  readonly history: readonly HistoryEntry[]
  readonly steps: Readonly<Record<string, Json>>
  readonly checkpoints: readonly CheckpointEntry[]
  readonly inbox: readonly InboxEntry[]
}

/** What a job has that has nothing but an input, and waits. Not its history, without which a text is no document. */
export const usual = {
  priority: 0,
  generation: 1,
  startedAt: null,
  finishedAt: null,
  wakeAt: null,
  worker: null,
  token: null,
  settled: null,
  key: null,
  untilStart: false,
  givenUpKey: false,
  dueAfter: null,
  concurrencyKey: null,
  keyWeight: defaultKeyWeight,
  tags: [],
  meta: null,
  pins: null,
  error: null,
  failure: null,
  errors: [],
  logs: [],
  checkin: null,
  cancel: null,
  onDead: null,
  machine: null,
  steps: {},
  checkpoints: [],
  inbox: [],
} as const satisfies Partial<JobDocument>

/** A row that was made of a document. */
class DocumentRow extends JobRow {
  readonly document: JobDocument

  constructor(document: JobDocument, terms: Terms) {
    const { id, input, state, seq, enqueuedAt } = document
    super({ id, input }, terms, state, seq, new Tick(enqueuedAt))
    this.document = document
  }
}

const documentOf = (row: JobRow): JobDocument | null => (row instanceof DocumentRow ? row.document : null)

/** The document of a job as it was loaded. */
export class LoadedDocument implements LoadedRow {
  readonly document: JobDocument

  constructor(document: JobDocument) {
    this.document = document
  }

  get revision(): string {
    return revisionOf(this.document)
  }

  decode(): JobRow {
    return decodeRow(this.document)
  }
}

/** Numbers of jobs are never given again, so a later job of the same id is told from it. */
export const revisionOf = ({ rev, seq }: JobDocument): string => `${rev}:${seq}`

/** The row of a document, to be read or changed by operations. */
function decodeRow(document: JobDocument): JobRow {
  const { untilStart, pins, keyWeight, meta, type, priority, maxAttempts, tags, key, concurrencyKey } = document
  const row = new DocumentRow(
    document,
    new Terms({
      type,
      priority,
      maxAttempts,
      tags,
      key,
      concurrencyKey,
      meta,
      keyWeight,
      ...(pins !== null && { pins }),
      ...(untilStart && { until: 'start' }),
    }),
  )
  row.place = document.place
  row.lastSeq = document.lastSeq
  row.attempt = document.attempt
  row.generation = document.generation
  row.wakeAt = document.wakeAt
  const run = row.withRun()
  run.worker = document.worker
  run.token = document.token
  run.startedAt = document.startedAt === null ? null : new Tick(document.startedAt)
  run.ended = document.finishedAt === null ? null : new Tick(document.finishedAt)
  run.output = document.output
  run.settled = document.settled
  const rare = row.withRare()
  rare.onDead = document.onDead
  rare.cancelMark = document.cancel
  rare.checkin = document.checkin
  rare.logs = document.logs
  rare.error = document.error
  rare.failure = document.failure
  rare.errors = document.errors
  rare.hasGivenUpKey = document.givenUpKey
  rare.dueAfter = document.dueAfter
  if (document.machine !== null) row.machineCell = machineOf(document.machine)
  return row
}

function machineOf(document: MachineDocument): JobMachine {
  const { parent, ...fields } = document
  return Object.assign(new JobMachine(parent), fields)
}

/** The document of a row with all that a transaction has changed; its new numbers are `pending`. */
export function encodeRow(row: JobRow): JobDocument {
  const before = documentOf(row)
  const { terms, run, machine, rarely: rare, change } = row
  const added = change?.added ?? null
  const input = valueOf(row.input)
  const output = valueOf(row.lastRun.output)
  return {
    rev: (before?.rev ?? 0) + 1,
    id: row.id,
    type: row.type,
    state: row.state,
    seq: row.seq,
    lastSeq: row.lastSeq,
    place: row.place,
    priority: row.priority,
    attempt: row.attempt,
    generation: row.generation,
    maxAttempts: terms.attempts,
    enqueuedAt: row.enqueuedAt,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    wakeAt: row.wakeAt,
    worker: row.worker,
    token: row.token,
    settled: run === null ? null : valueOf(run.settled),
    key: row.key,
    untilStart: row.untilStart,
    givenUpKey: rare.hasGivenUpKey,
    dueAfter: rare.dueAfter,
    concurrencyKey: row.concurrencyKey,
    keyWeight: row.keyWeight,
    tags: valueOf(terms.tags),
    meta: valueOf(terms.meta),
    pins: terms.pins ?? null,
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    error: valueOf(rare.error),
    failure: rare.failure,
    errors: valueOf(rare.errors),
    logs: valueOf(rare.logs),
    checkin: valueOf(rare.checkin),
    cancel: valueOf(rare.cancelMark),
    onDead: rare.onDead,
    machine: machine === null ? null : machineDocument(machine),
    history: historyOf(row, before),
    steps: stepsOf(before?.steps ?? {}, added),
    checkpoints: checkpointsOf(before?.checkpoints ?? [], added),
    inbox: inboxOf(row, before?.inbox ?? []),
  }
}

const machineDocument = ({ checkpointAt, ...machine }: JobMachine): MachineDocument => ({
  ...machine,
  checkpointAt: valueOf(checkpointAt),
})

function historyOf(row: JobRow, before: JobDocument | null): HistoryEntry[] {
  const until = row.change?.added?.historyUntil ?? Infinity
  const added: HistoryEntry[] = []
  for (let { last } = row; last !== null; last = last.before) added.unshift(last.entry)
  return [...(before?.history ?? []).filter(({ seq }) => seq <= until), ...added].slice(-caps.history)
}

function stepsOf(before: JobDocument['steps'], added: Additions | null): JobDocument['steps'] {
  if (added === null) return before
  const steps = new Map(added.forgetsSteps ? [] : Object.entries(before))
  for (const [name, result] of added.steps) {
    if (result === null) steps.delete(name)
    else steps.set(name, result)
  }
  return Object.fromEntries(steps)
}

function checkpointsOf(before: readonly CheckpointEntry[], added: Additions | null): readonly CheckpointEntry[] {
  if (added === null) return before
  const written = added.checkpoints.map(({ state, ...entry }) => ({ ...entry, state: valueOf(state) }))
  return [...(added.forgetsCheckpoints ? [] : before), ...written].slice(-caps.checkpoints)
}

/** Deferred messages and unread ones. */
function inboxOf({ machine, change }: JobRow, before: readonly InboxEntry[]): readonly InboxEntry[] {
  if (machine === null) return before
  const { lastRead, deferred } = machine
  const all = [...before, ...(change?.added?.messages ?? [])]
  return all.filter(({ number }) => number > lastRead || deferred.includes(number))
}

/** A document without the checkpoints before the last one: see `StorePort.earlierCheckpoints`. */
export const withLastCheckpoint = (document: JobDocument): JobDocument =>
  document.checkpoints.length > 1 ? { ...document, checkpoints: document.checkpoints.slice(-1) } : document

// ── numbers ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A document with the numbers that the commit has given. */
export function numberedDocument(document: JobDocument, base: number): JobDocument {
  const given = (seq: number): number => givenNumber(seq, base)
  const withSeq = <T extends { readonly seq: number }>(each: T): T => numberedEntry(each, base)
  const { machine } = document
  return {
    ...document,
    seq: given(document.seq),
    lastSeq: given(document.lastSeq),
    place: given(document.place),
    settled:
      document.settled === null ? null : { ...document.settled, answer: numberedCopy(document.settled.answer, base) },
    history: document.history.map(withSeq),
    checkpoints: document.checkpoints.map(withSeq),
    machine: machine && {
      ...machine,
      checkpoint: machine.checkpoint && withSeq(machine.checkpoint),
      unsupported: machine.unsupported && withSeq(machine.unsupported),
    },
  }
}

const givenNumber = (seq: number, base: number): number => (seq >= pending ? seq - pending + base : seq)

/** An entry of a document with the number that the commit has given. */
export const numberedEntry = <T extends { readonly seq: number }>(entry: T, base: number): T => ({
  ...entry,
  seq: givenNumber(entry.seq, base),
})

const numberedCopy = <T>(answer: T, base: number): T => numbered(structuredClone(answer), base)

// ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The record of a job. @param fields those that are asked for; default all */
export const recordOfDocument = <Name extends keyof JobRecord = keyof JobRecord>(
  document: JobDocument,
  fields?: readonly Name[],
): Pick<JobRecord, Name> =>
  recordOf<Name>(
    {
      row: decodeRow(document),
      checkpoint: document.checkpoints.at(-1) ?? null,
      inbox: document.inbox,
      history: () => document.history,
    },
    fields,
  )

/** When a job made its last transition. */
export const movedAt = ({ history, enqueuedAt }: JobDocument): number => history.at(-1)?.at ?? enqueuedAt

/** The numbers of jobs of a type (null: of all) by state. @param counts by `STATE` and by `STATE:TYPE` */
export function stateCountsOf(counts: ReadonlyMap<string, number>, type: string | null): Record<JobState, number> {
  const numbers = jobStates.map((state): [JobState, number] => [
    state,
    counts.get(type === null ? state : `${state}:${type}`) ?? 0,
  ])
  return Object.fromEntries(numbers) as Record<JobState, number>
}

// ── indexes ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Does a job pass a filter? */
export const documentMatches = (document: JobDocument, filter: JobFilter): boolean =>
  matches(decodeRow(document), filter)

/** Where a job stands in the indexes of times: by its due time, or by the end of its lease; null: in none. */
export function timerOf({ state, wakeAt }: JobDocument): { readonly of: 'due' | 'leases'; readonly at: number } | null {
  if (wakeAt === null) return null
  if (isLeased(state)) return { of: 'leases', at: wakeAt }
  return statesTagged('timed').has(state) ? { of: 'due', at: wakeAt } : null
}
