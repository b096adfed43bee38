/**
 * A job as one text: the fields that scripts read, each ended by a zero byte, then the rare ones as JSON, then input
 * and output if they are small, then the history. A script reads the first part with one call of `struct.unpack`, and
 * passes the rest on as it is. An entry of the history follows a zero byte. Fields that may be large are kept apart,
 * and loaded when an operation asks for one. A plain job has a row that grows: see `grown.ts`.
 */
import { caps } from '../../core/caps.ts'
import { Deferred, jsonOf, Packed, type Cell } from '../../core/cell.ts'
import { JobMachine, JobRow, Terms, Tick, type CancelMark, type Settled } from '../../core/job-row.ts'
import { isEnded, jobStates, statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { Gather, Parent, Unsupported } from '../../core/machine-record.ts'
import type { AttemptError, JobMeta, LogLine } from '../../core/record.ts'
import { defaultKeyWeight } from '../../core/shares.ts'
import type { JobPins } from '../../store.ts'
import { keyName } from '../remote/cells.ts'
import { Unloaded } from '../remote/needs.ts'
import { pending } from '../remote/transaction.ts'
import type { LoadedRow } from '../remote/working-set.ts'
import { entriesOf, entryEnd, finished, grownMark, started, timeChars, waiting } from './grown.ts'
import { separator } from './history-text.ts'

/** The fields that scripts read, in their order; `has` has a letter for each other field that is set. */
export const headFields = [
  'rev',
  'seq',
  'enqueuedAt',
  'last',
  'place',
  'wakeAt',
  'state',
  'attempt',
  'worker',
  'token',
  'startedAt',
  'finishedAt',
  'settled',
  'maxAttempts',
  'onDead',
  'has',
  'checkpointSeq',
  'unsupported',
  'generation',
  'type',
  'priority',
  'concurrencyKey',
  'keyWeight',
  'keyName',
  'failure',
] as const

export type HeadField = (typeof headFields)[number]

/** Where a field stands in a head. */
const at = Object.fromEntries(headFields.map((name, i) => [name, i])) as Readonly<Record<HeadField, number>>

/** Those of them that are numbers, or empty. A row in which one is something else cannot be read. */
export const numericFields = [
  'rev',
  'seq',
  'enqueuedAt',
  'last',
  'place',
  'wakeAt',
  'attempt',
  'startedAt',
  'finishedAt',
  'maxAttempts',
  'generation',
  'priority',
] as const satisfies readonly HeadField[]

/** The fields that are kept apart, each with its letter in `has`. */
export const dataLetters = {
  input: 'i',
  output: 'o',
  error: 'e',
  errors: 'E',
  logs: 'l',
  checkin: 'c',
  meta: 'm',
} as const

export type DataField = keyof typeof dataLetters
export const dataFields = Object.keys(dataLetters) as DataField[]
/** An input and an output of at most so many characters stand in the row itself, each with its letter before it. */
export const inlineMax = 4_096
export const inlineLetters = { input: 'I', output: 'O' } as const
type InlineField = keyof typeof inlineLetters
type InlineData = Readonly<Partial<Record<InlineField, string>>>
const isInline = (field: DataField, text: string): field is InlineField =>
  (field === 'input' || field === 'output') && text.length <= inlineMax
/** What a claim answers for the next write: inputs are mostly not needed again. */
export const restFields = dataFields.filter((field) => field !== 'input')

/** Other letters: results of steps, a machine or a parent, pinned attempts, a unique key, and that it is given up. */
export const flagLetters = { steps: 'S', machine: 'M', pinned: 'P', key: 'K', givenUp: 'G' } as const

/** The rare fields; those without a value are left out. */
interface Rest {
  readonly pins?: JobPins
  readonly tags?: readonly string[]
  readonly key?: string
  /** See `RareFields`. */
  readonly dueAfter?: number
  readonly cancel?: CancelMark
  readonly parent?: Parent
  readonly version?: string
  readonly checkpointedAttempts?: number
  readonly takesCancel?: true
  readonly checkpoint?: number
  readonly checkpointAt?: number
  readonly lastMessage?: number
  readonly lastRead?: number
  readonly deferred?: readonly number[]
  readonly gather?: Gather
  readonly messageKeys?: readonly string[]
  readonly machineStates?: readonly string[]
  readonly machineTags?: readonly string[]
}

const noRest: Rest = {}
const noNames: readonly string[] = []

const marker = '\x01'

/** A text as scripts store it: without zero bytes, because a zero byte ends a field. */
export const scriptText = (text: string): string =>
  text.includes(separator) || text.includes(marker)
    ? text.replaceAll(marker, `${marker}1`).replaceAll(separator, `${marker}0`)
    : text

/** A text from a script. */
export const textOfScript = (text: string): string =>
  text.includes(marker) ? text.replaceAll(`${marker}0`, separator).replaceAll(`${marker}1`, marker) : text

/** A payload as it is stored; '' if there is none. */
export const textOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value))

/** What a read makes; null if a text that is stored is no JSON. */
export function unlessUnreadable<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

// ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Null of a text that is no row, as in scripts, or whose rare fields cannot be read. */
export function parseRow(text: string): StoredRow | null {
  const parts = text.split(separator)
  if (parts.length <= headFields.length) return null
  const head = parts.slice(0, headFields.length)
  const rest = parts[headFields.length] as string
  const first = head[0] as string
  const hasGrown = first.startsWith(grownMark)
  if (hasGrown) {
    head[0] = first.slice(1 + timeChars)
    head[at.enqueuedAt] = String(Number(first.slice(1, 1 + timeChars)))
  }
  if (!isSound(head)) return null
  const inline: { input?: string; output?: string } = {}
  let next = headFields.length + 1
  for (const field of ['input', 'output'] as const) {
    if (parts[next]?.startsWith(inlineLetters[field]) === true) inline[field] = (parts[next++] as string).slice(1)
  }
  let history: readonly string[] = parts.slice(next)
  const read = rest === '' ? noRest : unlessUnreadable(() => JSON.parse(rest) as Rest)
  if (read === null) return null
  if (hasGrown && text.endsWith(entryEnd)) {
    const grown = unlessUnreadable(() => grow(head, history, inline))
    if (grown === null) return null
    history = grown
  }
  return new StoredRow(head, rest, read, history.join(separator), inline)
}

/** Folds the entries of a row into its head. @returns its history */
function grow(head: string[], parts: readonly string[], inline: { output?: string }): readonly string[] {
  const { claim, end, output } = entriesOf(parts)
  if (claim === null) return parts
  const attempt = Number(head[at.attempt]) + 1
  const set = (field: HeadField, value: string | number): void => void (head[at[field]] = String(value))
  set('rev', Number(head[at.rev]) + (end === null ? 1 : 2))
  set('state', end === null ? started : finished)
  set('attempt', attempt)
  set('worker', scriptText(claim.worker))
  set('token', scriptText(claim.token))
  set('startedAt', claim.at)
  set('last', (end ?? claim).seq)
  if (claim.maxAttempts !== null && !head[at.has]?.includes(flagLetters.pinned)) set('maxAttempts', claim.maxAttempts)
  set('onDead', scriptText(claim.onDead ?? ''))
  const by = [attempt, claim.worker]
  const history = [JSON.stringify([claim.seq, claim.at, 'CLAIM', waiting, started, ...by])]
  if (end === null) return history
  set('finishedAt', end.at)
  if (output !== null) inline.output = output
  return [...history, JSON.stringify([end.seq, end.at, 'COMPLETE', started, finished, ...by])]
}

function isSound(parts: readonly string[]): boolean {
  if (!states.has(parts[at.state] as string) || parts[at.type] === '' || parts[at.rev] === '') return false
  return numbersAt.every((index) => !notNumeric.test(parts[index] as string))
}

const states: ReadonlySet<string> = new Set(jobStates)
const numbersAt = numericFields.map((name) => at[name])
const notNumeric = /[^\d.\-+e]/

const timed = statesTagged('timed')
const numberOr = <T>(text: string, otherwise: T): number | T => (text === '' ? otherwise : Number(text))
const textOr = (text: string): string | null => (text === '' ? null : textOfScript(text))

/** Errors of attempts, each a line: a script adds one without reading the others. */
class ErrorLines extends Deferred<readonly AttemptError[]> {
  readonly text: string

  constructor(text: string) {
    super()
    this.text = text
  }

  get(): readonly AttemptError[] {
    return this.text.split('\n').map((line) => JSON.parse(line) as AttemptError)
  }
}

/** A row as the server has it; of the fields that are kept apart those that were asked for. */
export class StoredRow implements LoadedRow {
  /** The fields of the head in their order. */
  readonly parts: readonly string[]
  /** The rare fields as text. */
  readonly restText: string
  private readonly rest: Rest
  /** Entries, a zero byte between them. */
  readonly history: string
  readonly inline: InlineData
  private readonly data: Readonly<Partial<Record<DataField, string>>>
  /** Those that were asked for. */
  private readonly known: readonly DataField[]

  constructor(
    parts: readonly string[],
    restText: string,
    rest: Rest,
    history: string,
    inline: InlineData,
    data: Readonly<Partial<Record<DataField, string>>> = {},
    known: readonly DataField[] = [],
  ) {
    this.parts = parts
    this.restText = restText
    this.rest = rest
    this.history = history
    this.inline = inline
    this.data = data
    this.known = known
  }

  /** With fields that are kept apart. @param known those that were asked for */
  withData(data: Readonly<Partial<Record<DataField, string>>>, known: readonly DataField[]): StoredRow {
    return new StoredRow(this.parts, this.restText, this.rest, this.history, this.inline, data, known)
  }

  /**
   * The row after a write that has added nothing to its history. @param base the number that the first transition of
   * the commit got
   */
  after({ head, rest: restText, inline, data: changed }: RowText, base: number): StoredRow | null {
    if (this.known.length < restFields.length) return null
    const data: Partial<Record<DataField, string>> = { ...this.data }
    for (const [field, text] of Object.entries(changed) as [DataField, string | null][]) {
      if (text === null) delete data[field]
      else data[field] = text
    }
    delete data.input
    const rest = restText === this.restText ? this.rest : restText === '' ? noRest : (JSON.parse(restText) as Rest)
    const given = head.map((value) =>
      value.length === 16 && Number(value) >= pending ? String(Number(value) - pending + base) : value,
    )
    return new StoredRow(given, restText, rest, this.history, inline, data, restFields)
  }

  field(name: HeadField): string {
    return this.parts[at[name]] as string
  }

  get has(): string {
    return this.field('has')
  }

  get state(): JobState {
    return this.field('state') as JobState
  }

  get type(): string {
    return textOfScript(this.field('type'))
  }

  get seq(): number {
    return Number(this.field('seq'))
  }

  get tags(): readonly string[] {
    return this.rest.tags ?? noNames
  }

  /** Its unique key. */
  get key(): string | null {
    return this.rest.key ?? null
  }

  get concurrencyKey(): string | null {
    return textOr(this.field('concurrencyKey'))
  }

  /** The number of its last transition. */
  get last(): number {
    return Number(this.field('last') || this.field('seq'))
  }

  /** Numbers of jobs are never given again, so a later job of the same id is told from it. */
  get revision(): string {
    return `${this.field('rev')}:${this.field('seq')}`
  }

  /** A field that is kept apart: null for none, undefined if it was not loaded. */
  dataText(field: DataField): string | null | undefined {
    const inline = field === 'input' || field === 'output' ? this.inline[field] : undefined
    return inline ?? this.apartText(field)
  }

  /** The same of a field that does not stand in the row itself. */
  apartText(field: DataField): string | null | undefined {
    if (!this.has.includes(dataLetters[field])) return null
    return this.known.includes(field) ? (this.data[field] ?? null) : undefined
  }

  private cell<T>(id: string, field: DataField, none: T): Cell<T> {
    const text = this.dataText(field)
    if (text === null) return none
    if (text === undefined) return new Unloaded<T>(id)
    return field === 'errors' ? (new ErrorLines(text) as unknown as Cell<T>) : new Packed<T>(text)
  }

  decode(id: string): RedisRow {
    const { has, rest } = this
    const row = new RedisRow(id, this, this.terms(id), this.cell(id, 'input', undefined))
    row.place = Number(this.field('place') || this.field('seq'))
    row.lastSeq = this.last
    row.attempt = numberOr(this.field('attempt'), 0)
    row.generation = numberOr(this.field('generation'), 1)
    row.wakeAt = numberOr(this.field('wakeAt'), null)
    this.decodeRun(row)
    this.decodeRare(row)
    if (has.includes(flagLetters.machine)) row.machineCell = this.machine(rest)
    return row
  }

  private terms(id: string): Terms {
    const { tags, key, concurrencyKey } = this
    const { pins } = this.rest
    const keyWeight = this.field('keyWeight')
    return new Terms({
      type: this.type,
      priority: numberOr(this.field('priority'), 0),
      maxAttempts: Number(this.field('maxAttempts')),
      tags,
      key,
      concurrencyKey,
      meta: this.cell<JobMeta | null>(id, 'meta', null),
      ...(pins !== undefined && { pins }),
      ...(this.field('keyName') !== '' && { until: 'start' }),
      ...(keyWeight !== '' && { keyWeight: Number(keyWeight) }),
    })
  }

  private decodeRun(row: JobRow): void {
    const [worker, token, started] = [this.field('worker'), this.field('token'), this.field('startedAt')]
    const [settled, finished] = [this.field('settled'), isEnded(this.state) ? this.field('finishedAt') : '']
    const output = this.cell(row.id, 'output', undefined)
    if (worker === '' && settled === '' && finished === '' && output === undefined) return
    const run = row.withRun()
    run.worker = textOr(worker)
    run.token = textOr(token)
    run.startedAt = started === '' ? null : new Tick(Number(started))
    run.ended = finished === '' ? null : new Tick(Number(finished))
    run.output = output
    run.settled = settled === '' ? null : new Packed<Settled>(settled)
  }

  private decodeRare(row: JobRow): void {
    const { has } = this
    const { cancel, dueAfter } = this.rest
    const [onDead, failure] = [this.field('onDead'), this.field('failure')]
    if (onDead === '' && failure === '' && cancel === undefined && dueAfter === undefined && !hasRare.test(has)) return
    const rare = row.withRare()
    rare.onDead = textOr(onDead)
    rare.failure = textOr(failure)
    rare.cancelMark = cancel ?? null
    rare.dueAfter = timed.has(this.state) && row.wakeAt === null ? (dueAfter ?? null) : null
    rare.hasGivenUpKey = has.includes(flagLetters.givenUp)
    rare.error = this.cell(row.id, 'error', null)
    rare.errors = this.cell<readonly AttemptError[]>(row.id, 'errors', [])
    rare.logs = this.cell<readonly LogLine[]>(row.id, 'logs', [])
    rare.checkin = this.cell(row.id, 'checkin', null)
  }

  private machine(rest: Rest): JobMachine {
    const machine = new JobMachine(rest.parent ?? null)
    machine.version = rest.version ?? null
    if (rest.checkpoint !== undefined) {
      machine.checkpoint = { number: rest.checkpoint, seq: numberOr(this.field('checkpointSeq'), 0) }
      machine.checkpointAt = rest.checkpointAt ?? 0
    }
    machine.checkpointedAttempts = rest.checkpointedAttempts ?? 0
    machine.takesCancel = rest.takesCancel === true
    machine.states = rest.machineStates ?? noNames
    machine.tags = rest.machineTags ?? noNames
    machine.lastMessage = rest.lastMessage ?? 0
    machine.lastRead = rest.lastRead ?? 0
    machine.deferred = rest.deferred ?? []
    machine.gather = rest.gather ?? null
    machine.messageKeys = rest.messageKeys ?? noNames
    const unsupported = this.field('unsupported')
    machine.unsupported = unsupported === '' ? null : (JSON.parse(unsupported) as Unsupported)
    return machine
  }
}

const hasRare = /[eElcG]/

/** A row that was loaded. */
class RedisRow extends JobRow {
  readonly stored: StoredRow

  constructor(id: string, stored: StoredRow, terms: Terms, input: JobRow['input']) {
    super({ id, input }, terms, stored.state, stored.seq, new Tick(Number(stored.field('enqueuedAt'))))
    this.stored = stored
  }
}

export const storedOf = (row: JobRow): StoredRow | null => (row instanceof RedisRow ? row.stored : null)

// ── writing ────────────────────────────────────────────────────────────────────────────────────────────────────────

const dataCells: { readonly [Field in DataField]: (row: JobRow) => Cell<unknown> } = {
  input: (row) => row.input,
  output: (row) => row.lastRun.output,
  error: (row) => row.rarely.error,
  errors: (row) => row.rarely.errors,
  logs: (row) => row.rarely.logs,
  checkin: (row) => row.rarely.checkin,
  meta: (row) => row.terms.meta,
}

/** The text of a field that is kept apart: null for none, undefined if it was not loaded, and so has not changed. */
function dataText(field: DataField, cell: Cell<unknown>): string | null | undefined {
  if (cell instanceof Unloaded) return undefined
  if (cell instanceof ErrorLines) return cell.text
  if (cell instanceof Deferred || field === 'input' || field === 'output') return jsonOf(cell)
  if (cell === null) return null
  if (!Array.isArray(cell)) return jsonOf(cell)
  if (cell.length === 0) return null
  return field === 'errors' ? cell.map((each) => JSON.stringify(each)).join('\n') : jsonOf(cell)
}

/** A row as it is written: numbers that the commit gives are `pending`. */
export interface RowText {
  readonly head: string[]
  readonly rest: string
  readonly inline: InlineData
  /** The fields kept apart that have changed; null: it is removed. */
  readonly data: Partial<Record<DataField, string | null>>
}

export function rowTextOf(row: JobRow): RowText {
  const stored = storedOf(row)
  const { run, machine, change } = row
  let has = ''
  const data: Partial<Record<DataField, string | null>> = {}
  const inline: { input?: string; output?: string } = {}
  for (const field of dataFields) {
    let text = dataText(field, dataCells[field](row))
    if (typeof text === 'string' && isInline(field, text)) {
      inline[field] = text
      text = null
    }
    if (text !== null) has += dataLetters[field]
    if (text !== undefined && text !== (stored === null ? null : stored.apartText(field))) data[field] = text
  }
  if (hasSteps(row, stored)) has += flagLetters.steps
  if (machine !== null) has += flagLetters.machine
  if (row.hasPinnedAttempts) has += flagLetters.pinned
  if (row.key !== null) has += flagLetters.key
  if (row.rarely.hasGivenUpKey) has += flagLetters.givenUp
  const { ended = null, settled = null } = run ?? {}
  const head = [
    '',
    String(row.seq),
    String(row.enqueuedAt),
    row.lastSeq === row.seq ? '' : String(row.lastSeq),
    row.place === row.seq ? '' : String(row.place),
    numeral(row.wakeAt, null),
    row.state,
    numeral(row.attempt, 0),
    scriptText(row.worker ?? ''),
    scriptText(row.token ?? ''),
    numeral(row.startedAt, null),
    ended === null ? '' : String(ended.at),
    settled === null ? '' : (jsonOf(settled) ?? ''),
    String(row.terms.attempts),
    scriptText(row.onDead ?? ''),
    has,
    numeral(machine?.checkpoint?.seq ?? null, null),
    machine === null || machine.unsupported === null ? '' : JSON.stringify(machine.unsupported),
    numeral(row.generation, 1),
    scriptText(row.type),
    numeral(row.priority, 0),
    scriptText(row.concurrencyKey ?? ''),
    numeral(row.keyWeight, defaultKeyWeight),
    row.key !== null && row.untilStart ? keyName(row.type, row.key) : '',
    row.rarely.failure ?? '',
  ]
  return { head, rest: change === null && stored !== null ? stored.restText : restText(row), inline, data }
}

/** What stands in a row after its rare fields and before its history. */
export function inlineText({ input, output }: InlineData): string {
  const text = input === undefined ? '' : `${separator}${inlineLetters.input}${input}`
  return output === undefined ? text : `${text}${separator}${inlineLetters.output}${output}`
}

const numeral = (value: number | null, none: number | null): string => (value === none ? '' : String(value))

function hasSteps({ change }: JobRow, stored: StoredRow | null): boolean {
  const added = change?.added ?? null
  const had = stored?.has.includes(flagLetters.steps) === true
  if (added === null) return had
  return (had && !added.forgetsSteps) || added.steps.values().some((result) => result !== null)
}

function restText(row: JobRow): string {
  const { terms, key, machine, cancelMark } = row
  const { dueAfter } = row.rarely
  const tags = jsonTags(terms)
  const rest: Rest = {
    ...(terms.pins && { pins: terms.pins }),
    ...(tags.length > 0 && { tags }),
    ...(key !== null && { key }),
    ...(dueAfter !== null && { dueAfter }),
    ...(cancelMark !== null && { cancel: cancelMark }),
    ...(machine !== null && machineRest(machine)),
  }
  const text = JSON.stringify(rest)
  return text === '{}' ? '' : text
}

const jsonTags = ({ tags }: Terms): readonly string[] => (tags instanceof Deferred ? tags.get() : tags)

function machineRest(machine: JobMachine): Rest {
  const { parent, version, checkpoint, gather } = machine
  const checkpointAt = machine.checkpointAt instanceof Deferred ? machine.checkpointAt.get() : machine.checkpointAt
  return {
    ...(parent !== null && { parent }),
    ...(version !== null && { version }),
    ...(machine.checkpointedAttempts > 0 && { checkpointedAttempts: machine.checkpointedAttempts }),
    ...(machine.takesCancel && { takesCancel: true }),
    ...(checkpoint !== null && { checkpoint: checkpoint.number, checkpointAt }),
    ...(machine.lastMessage > 0 && { lastMessage: machine.lastMessage }),
    ...(machine.lastRead > 0 && { lastRead: machine.lastRead }),
    ...(machine.deferred.length > 0 && { deferred: machine.deferred }),
    ...(gather !== null && { gather }),
    ...(machine.messageKeys.length > 0 && { messageKeys: machine.messageKeys }),
    ...(machine.states.length > 0 && { machineStates: machine.states }),
    ...(machine.tags.length > 0 && { machineTags: machine.tags }),
  }
}

/** A history of fewer characters has fewer entries than the cap: they need not be counted. */
export const fullHistoryChars = caps.history * 40
