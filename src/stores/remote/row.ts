/**
 * A job as operations see it, over its texts. A row reads its fields when they are asked for, and keeps what is written
 * to it until the commit. The fields that may be large are loaded only for operations that need them.
 */
import type { CancelMark } from '../../core/row-fields.ts'
import type { JobRow, LeaseKey, MachineRow } from '../../core/unit-of-work.ts'
import type { HistoryEntry } from '../../core/record.ts'
import { isEnded, isLeased, statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { CheckpointEntry, Gather, InboxEntry, Parent, Unsupported } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import type { JobPins } from '../../store.ts'
import { NotLoaded } from './needs.ts'
import { dataLetters, isDataField, type DataField, type Field, type Fields } from './fields.ts'

const timed = statesTagged('timed')

/** A row as it was loaded; of the fields that are kept apart those that were asked for. */
export interface LoadedRow {
  readonly fields: Fields
  /** The letters of the fields that are kept apart and that it has; perhaps others. */
  readonly has: string
  /** See `history-text.ts`. */
  readonly history: string
  /** Were they asked for? `rest`: all but the input. */
  readonly data: 'none' | 'rest' | 'all'
}

/** What a row adds to and takes from its keys beside the hash. */
interface Additions {
  /** Messages put into the inbox, as texts, with their numbers. */
  readonly messages: readonly { readonly number: number; readonly entry: InboxEntry }[]
  readonly checkpoints: readonly CheckpointEntry[]
  /** Were all checkpoints forgotten before those were added? */
  readonly forgetsCheckpoints: boolean
  /** Results of steps by name; null: forgotten. */
  readonly steps: Readonly<Record<string, string | null>>
  readonly forgetsSteps: boolean
  /** Entries to be taken from the end of the history as it was loaded. */
  readonly historyDropped: number
}

const noAdditions: Additions = {
  messages: [],
  checkpoints: [],
  forgetsCheckpoints: false,
  steps: {},
  forgetsSteps: false,
  historyDropped: 0,
}

interface Saved {
  readonly fields: Fields
  readonly additions: Additions
  readonly latest: HistoryEntry | null
  readonly removed: boolean
  readonly there: boolean
}

/** Takes note of rows before they are changed. */
export interface Journal {
  changing(row: Row): void
}

export class Row implements JobRow {
  readonly id: string
  /** As it was loaded; null: it was not there. */
  readonly loaded: LoadedRow | null
  additions: Additions = noAdditions
  /** The last transition that this unit has made. */
  latest: HistoryEntry | null = null
  removed = false
  /** Is it there, now? */
  there: boolean
  private fields: Fields
  private readonly journal: Journal

  constructor(id: string, loaded: LoadedRow | null, journal: Journal) {
    this.id = id
    this.loaded = loaded
    this.there = loaded !== null
    this.fields = { ...loaded?.fields }
    this.journal = journal
  }

  // ── fields ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** @throws NotLoaded */
  text(field: Field): string | undefined {
    const value = this.fields[field]
    if (value !== undefined) return value === '' ? undefined : value
    if (!this.isLoaded(field)) throw new NotLoaded([{ kind: 'data', id: this.id }])
    return undefined
  }

  private isLoaded(field: Field): boolean {
    if (this.loaded === null || !isDataField(field) || !this.loaded.has.includes(dataLetters[field])) return true
    return this.loaded.data === 'all' || (this.loaded.data === 'rest' && field !== 'input')
  }

  /** Empty text stands for a field that is not there. */
  set(field: Field, value: string | number | null): void {
    this.journal.changing(this)
    this.fields[field] = value === null ? '' : String(value)
  }

  number(field: Field): number | null {
    const value = this.text(field)
    return value === undefined ? null : Number(value)
  }

  /** @param otherwise where there is nothing; what is there is of its type, as it was written */
  json<T>(field: Field, otherwise: T): T {
    const value = this.text(field)
    return value === undefined ? otherwise : (JSON.parse(value) as T)
  }

  setJson(field: Field, value: unknown): void {
    this.set(field, value === undefined || value === null ? null : JSON.stringify(value))
  }

  /** The same, of a payload: null is one. */
  setPayload(field: DataField, value: Json | undefined): void {
    this.set(field, value === undefined ? null : JSON.stringify(value))
  }

  add(changes: Partial<Additions>): void {
    this.journal.changing(this)
    this.additions = { ...this.additions, ...changes }
  }

  save(): Saved {
    const { fields, additions, latest, removed, there } = this
    return { fields: { ...fields }, additions, latest, removed, there }
  }

  restore({ fields, additions, latest, removed, there }: Saved): void {
    this.fields = { ...fields }
    this.additions = additions
    this.latest = latest
    this.removed = removed
    this.there = there
  }

  /** The fields that were changed, with the values they have now; those that were written without being loaded, too. */
  changes(): [Field, string][] {
    const { loaded } = this
    const before = loaded?.fields ?? {}
    const written = Object.entries(this.fields) as [Field, string][]
    return written.filter(([name, value]) => value !== (before[name] ?? (this.isLoaded(name) ? '' : undefined)))
  }

  get values(): Fields {
    return this.fields
  }

  /** Is there this data, as far as it was written or, otherwise, loaded? */
  hasData(field: DataField): boolean {
    const written = this.fields[field]
    return written === undefined ? this.loaded?.has.includes(dataLetters[field]) === true : written !== ''
  }

  // ── as operations see it ─────────────────────────────────────────────────────────────────────────────────────────

  get type(): string {
    return this.text('type') ?? ''
  }

  get state(): JobState {
    return this.text('state') as JobState
  }

  get priority(): number {
    return this.number('priority') ?? 0
  }

  get seq(): number {
    return this.number('seq') ?? 0
  }

  get attempt(): number {
    return this.number('attempt') ?? 0
  }

  set attempt(attempt: number) {
    if (attempt !== this.attempt) this.set('attempt', attempt)
  }

  /** As it was loaded. */
  get loadedAttempt(): number {
    return Number(this.loaded?.fields.attempt ?? 0)
  }

  get generation(): number {
    return this.number('generation') ?? 1
  }

  set generation(generation: number) {
    if (generation !== this.generation) this.set('generation', generation)
  }

  get maxAttempts(): number {
    return (this.number('maxAttempts') ?? 0) + this.checkpointedAttempts
  }

  get checkpointedAttempts(): number {
    return this.number('checkpointedAttempts') ?? 0
  }

  set checkpointedAttempts(attempts: number) {
    if (this.isMachine && attempts !== this.checkpointedAttempts) this.set('checkpointedAttempts', attempts)
  }

  get pins(): JobPins | null {
    return this.json<JobPins | null>('pins', null)
  }

  get hasPinnedAttempts(): boolean {
    return this.pins?.maxAttempts !== undefined
  }

  get hasError(): boolean {
    return this.hasData('error')
  }

  get onDead(): string | null {
    return this.text('onDead') ?? null
  }

  get dueAt(): number | null {
    return timed.has(this.state) ? this.number('wakeAt') : null
  }

  get startedAt(): number | null {
    return this.number('startedAt')
  }

  get worker(): string | null {
    return this.text('worker') ?? null
  }

  get key(): string | null {
    return this.text('key') ?? null
  }

  get untilStart(): boolean {
    return this.text('keyName') !== undefined
  }

  get cancelMark(): CancelMark | null {
    return this.json<CancelMark | null>('cancel', null)
  }

  isLeasedBy({ attempt, token }: LeaseKey): boolean {
    return isLeased(this.state) && this.text('token') === token && this.attempt === attempt
  }

  get isLive(): boolean {
    return !isEnded(this.state)
  }

  get isMachine(): boolean {
    return this.text('machine') !== undefined
  }

  /** It has something from now on that a plain job has not. */
  makeMachine(): void {
    if (!this.isMachine) this.set('machine', 1)
  }

  get machine(): MachineFields | null {
    return this.isMachine ? new MachineFields(this) : null
  }
}

class MachineFields implements MachineRow {
  private readonly row: Row

  constructor(row: Row) {
    this.row = row
  }

  get parent(): Parent | null {
    return this.row.json<Parent | null>('parent', null)
  }

  get checkpoint(): { readonly number: number; readonly seq: number } | null {
    const number = this.row.number('checkpoint')
    return number === null ? null : { number, seq: this.row.number('checkpointSeq') ?? 0 }
  }

  get takesCancel(): boolean {
    return this.row.text('takesCancel') !== undefined
  }

  get lastMessage(): number {
    return this.row.number('lastMessage') ?? 0
  }

  get lastRead(): number {
    return this.row.number('lastRead') ?? 0
  }

  get deferred(): readonly number[] {
    return this.row.json<readonly number[]>('deferred', [])
  }

  get gather(): Gather | null {
    return this.row.json<Gather | null>('gather', null)
  }

  get messageKeys(): readonly string[] {
    return this.row.json<readonly string[]>('messageKeys', [])
  }

  get unsupported(): Unsupported | null {
    return this.row.json<Unsupported | null>('unsupported', null)
  }
}
