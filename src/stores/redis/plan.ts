/**
 * What a transaction has read and written, as the plan of a commit: texts only, which the script carries out as they
 * are.
 */
import { addTo, noActivity, type Tally } from '../../core/activity.ts'
import { jsonOf } from '../../core/cell.ts'
import type { Changes, CountedFailure } from '../../core/changes.ts'
import type { Failure } from '../../core/fingerprint.ts'
import { part, type JobRow, type RowChange } from '../../core/job-row.ts'
import { isEnded } from '../../core/lifecycle.ts'
import { MachineTally, type MachineStanding } from '../../core/machine-tally.ts'
import type { StoredSchedule } from '../../core/schedule-record.ts'
import type { CellKind } from '../remote/cells.ts'
import { keyMovesOf, messageHints } from '../remote/commit.ts'
import type { Progress } from '../remote/driver.ts'
import type { Transaction } from '../remote/transaction.ts'
import { hintForScript } from './hints.ts'
import { enqueueText, historyUntil, transitionText } from './history-text.ts'
import type { Keys } from './keys.ts'
import { cellField } from './loading.ts'
import { flagLetters, inlineText, rowTextOf, scriptText, storedOf, type RowText, type StoredRow } from './row-text.ts'

/** A row that is written. Members that are left out have nothing in them. */
interface PlannedRow {
  readonly id: string
  /** Its revision as it was read; empty: it was not there. */
  readonly rev: string
  readonly gone?: 1
  /** Its tags or its meta may have changed. */
  readonly terms?: 1
  /** The fields that scripts read, and what follows them; to its history the script adds what is logged. */
  readonly head?: readonly string[]
  readonly tail?: string
  /** Fields that are kept apart: names and values in turn, and those that are removed. */
  readonly data?: readonly string[]
  readonly dataDropped?: readonly string[]
  /** Indexes of its own that it enters and leaves. */
  readonly enter?: readonly string[]
  readonly leave?: readonly string[]
  /** How many messages are removed from the front of the inbox; and, instead, the places of those removed, from 0. */
  readonly inboxDropped?: number
  readonly inboxRemoved?: readonly number[]
  readonly messages?: readonly string[]
  readonly checkpoints?: readonly string[]
  readonly forgetsCheckpoints?: 1
  readonly steps?: readonly string[]
  readonly stepsDropped?: readonly string[]
  readonly forgetsSteps?: 1
}

/** A failed attempt. */
interface PlannedFailure extends Omit<Failure, 'code'> {
  readonly code?: string
  readonly type: string
  readonly id: string
  readonly seq: string
}

interface Plan {
  /** Rows that were only read: ids and revisions in turn. */
  readonly read?: readonly string[]
  readonly rows?: readonly PlannedRow[]
  /**
   * Small values: the key, the field, what it was (null: not there), and what it becomes, if it changes (false:
   * nothing).
   */
  readonly cells?: readonly (readonly [key: string, field: string, was: string | false, becomes: string | false | 0])[]
  /** Unique keys that a job no longer holds, or has not given up any longer: the key, the field, and its id. */
  readonly freed?: readonly (readonly [key: string, field: string, id: string])[]
  /** Unique keys that a job holds from now on, or has given up. */
  readonly taken?: readonly (readonly [key: string, field: string, id: string])[]
  /** Entries of the log in order: id, type, text, and whether it becomes part of the history. */
  readonly log?: readonly (readonly [id: string, type: string, text: string, inHistory: 0 | 1])[]
  /** The time of the transaction, ms. */
  readonly now?: string
  /** What is added to the activity of types: index of the figure and number. */
  readonly activity?: readonly (readonly [type: string, figure: number, by: number])[]
  /** What is added to the numbers of jobs by the states and tags of their machines. */
  /** What is added to the heat of charts, by the text of the type. */
  readonly heat?: readonly (readonly [type: string, name: string, count: number, lastId: string])[]
  readonly machines?: readonly (readonly [key: string, field: string, by: number])[]
  /** Failed attempts, each with the number of its transition. */
  readonly failures?: readonly PlannedFailure[]
  /** Members of the index of ticks: name and time, or null to remove it. */
  readonly ticks?: readonly (readonly [name: string, at: string | false])[]
  /** The backlog at most before the commit: of all types, and by type. */
  readonly room?: number
  readonly queueRooms?: readonly (readonly [type: string, room: number])[]
  /** Where an insert was refused as full. */
  readonly full?: 1
  readonly fullQueues?: readonly string[]
  /** By type: the free slots at least, and how many a refused insert has found. */
  readonly slots?: readonly (readonly [type: string, free: number])[]
  readonly fullSlots?: readonly (readonly [type: string, free: number])[]
  readonly hints?: readonly object[]
}

interface Planned {
  readonly plan: Plan
  readonly writes: boolean
  /** The rows that are written. */
  readonly texts: ReadonlyMap<JobRow, RowText>
}

export function planOf(transaction: Transaction, keys: Keys): Planned {
  const { changes, set, source, now, rooms, slots } = transaction
  const rows: PlannedRow[] = []
  const written = new Set<string>()
  const texts = new Map<JobRow, RowText>()
  for (const row of changes.rows) {
    const planned = planRow(row, keys, texts)
    if (planned === null) continue
    rows.push(planned)
    written.add(row.id)
  }
  const read = [...source.rows.keys()].flatMap((id) => (written.has(id) ? [] : [id, set.rows.get(id)?.revision ?? '']))
  const cells = cellsOf(transaction, keys)
  const full = changes.refusals.filter(({ isHandOver }) => !isHandOver).map(({ type }) => type)
  const fullSlots = changes.refusals.flatMap(({ type, isHandOver }) => (type !== null && isHandOver ? [type] : []))
  const hints = [...transaction.hints, ...messageHints(changes)]
  const changed = cells.some(([, , , becomes]) => becomes !== 0)
  return {
    writes: rows.length > 0 || changed || changes.refusals.length > 0 || hints.length > 0,
    texts,
    plan: {
      ...some('read', read),
      ...some('rows', rows),
      ...some('cells', cells),
      ...keysOf(changes, keys),
      ...some('log', logOf(changes)),
      ...some('ticks', ticksOf(transaction)),
      now: String(now),
      ...some('activity', activityOf(changes)),
      ...some('machines', machinesOf(changes, keys)),
      ...some('heat', heatOf(changes)),
      ...some('failures', changes.failures.map(plannedFailure)),
      ...(rooms.has(null) && { room: rooms.get(null) as number }),
      ...some(
        'queueRooms',
        [...rooms].flatMap(([type, room]) => (type === null ? [] : [[scriptText(type), room] as const])),
      ),
      ...(full.includes(null) && { full: 1 }),
      ...some(
        'fullQueues',
        full.flatMap((type) => (type === null ? [] : [scriptText(type)])),
      ),
      ...some(
        'slots',
        [...slots].map(([type, free]) => [scriptText(type), free] as const),
      ),
      ...some(
        'fullSlots',
        fullSlots.map((type) => [scriptText(type), set.handOverRoom(type)] as const),
      ),
      ...some('hints', hints.map(hintForScript)),
    },
  }
}

/** What must hold for several plans, and their hints. */
export function headOf(transaction: Transaction, keys: Keys): Pick<Plan, 'cells' | 'hints'> {
  const { cells = [], hints = [] } = planOf(transaction, keys).plan
  return {
    ...some(
      'cells',
      cells.map(([name, field, was]) => [name, field, was, 0] as const),
    ),
    ...some('hints', hints),
  }
}

/** Its other members as text, without the brace before them. */
export const progressOf = ({ cells, field, counts, others }: Progress, keys: Keys): object => ({
  key: keys.cells(cells),
  field,
  counts,
  rest: JSON.stringify(others).slice(1),
})

/** Rows as the server has them after a commit. @param base the number that the first transition got */
export function rowsWritten({ texts }: Pick<Planned, 'texts'>, base: number): (row: JobRow) => StoredRow | null {
  return (row) => {
    const stored = storedOf(row)
    const text = texts.get(row)
    return stored === null || text === undefined ? stored : stored.after(text, base)
  }
}

/** A list that is left out if it is empty: an empty one is not told from an object by the script's JSON. */
const some = <K extends string, T>(name: K, list: readonly T[]): { [N in K]?: readonly T[] } =>
  (list.length === 0 ? {} : { [name]: list }) as { [N in K]?: readonly T[] }

const changeOf = ({ id, change }: JobRow): RowChange => {
  if (change === null) throw new TypeError(`job ${id} has not changed`)
  return change
}

/** Null of a row that is as it was. */
function planRow(row: JobRow, keys: Keys, texts: Map<JobRow, RowText>): PlannedRow | null {
  const { id } = row
  const change = changeOf(row)
  const stored = storedOf(row)
  const rev = stored?.revision ?? ''
  const before = setsBefore(row, change, keys)
  if (change.isRemoved) return stored === null ? null : { id, rev, gone: 1, ...some('leave', [...before]) }
  const text = rowTextOf(row)
  if (stored !== null && isAsStored(row, text)) return null
  text.head[0] = String(Number(stored?.field('rev') ?? 0) + 1)
  texts.set(row, text)
  const after = setsOf(row, keys)
  const data = Object.entries(text.data)
  return {
    id,
    rev,
    head: text.head,
    tail: `${text.rest}${inlineText(text.inline)}${tailOf(row)}`,
    ...((change.parts & part.terms) !== 0 && { terms: 1 }),
    ...some(
      'data',
      data.flatMap(([field, value]) => (value === null ? [] : [field, value])),
    ),
    ...some(
      'dataDropped',
      data.flatMap(([field, value]) => (value === null ? [field] : [])),
    ),
    ...some('enter', [...after.difference(before)]),
    ...some('leave', [...before.difference(after)]),
    ...additionsOf(row, change),
  }
}

/** Is what was written what was there before? */
function isAsStored(row: JobRow, { head, rest, inline, data }: RowText): boolean {
  const stored = storedOf(row)
  const { added } = changeOf(row)
  return (
    stored !== null &&
    (added === null || (added.messages.length === 0 && added.checkpoints.length === 0 && added.steps.size === 0)) &&
    rest === stored.restText &&
    inlineText(inline) === inlineText(stored.inline) &&
    Object.keys(data).length === 0 &&
    head.every((value, i) => i === 0 || value === stored.parts[i])
  )
}

/** The history as it was loaded; the script adds what is logged. */
function tailOf(row: JobRow): string {
  const stored = storedOf(row)
  const until = row.change?.added?.historyUntil ?? null
  const history = stored === null ? '' : until === null ? stored.history : historyUntil(stored.history, until)
  return history === '' ? '' : `\0${history}`
}

/** What a row adds to its lists, and takes from them. */
function additionsOf(row: JobRow, { added, machine }: RowChange): Partial<PlannedRow> {
  const inbox = row.isMachine ? inboxChanges(row, machine) : {}
  if (added === null) return inbox
  const { checkpoints, forgetsCheckpoints, steps, forgetsSteps } = added
  return {
    ...inbox,
    ...some('checkpoints', checkpoints.map(checkpointText)),
    ...(forgetsCheckpoints && { forgetsCheckpoints: 1 }),
    ...some(
      'steps',
      [...steps].flatMap(([name, result]) => (result === null ? [] : [name, JSON.stringify(result)])),
    ),
    ...some(
      'stepsDropped',
      [...steps].flatMap(([name, result]) => (result === null ? [name] : [])),
    ),
    ...(forgetsSteps && storedOf(row)?.has.includes(flagLetters.steps) === true && { forgetsSteps: 1 }),
  }
}

/** The number first: the script replaces the first one of a text. */
const checkpointText = ({
  seq,
  number,
  at,
  note,
  state,
}: NonNullable<RowChange['added']>['checkpoints'][number]): string =>
  `{"seq":${seq},"number":${number},"at":${at},"note":${JSON.stringify(note)},"state":${jsonOf(state)}}`

/**
 * The inbox holds the deferred messages and then the unread ones. Mostly none is deferred: then those at the front are
 * removed.
 */
function inboxChanges(
  row: JobRow,
  was: RowChange['machine'],
): Pick<PlannedRow, 'inboxDropped' | 'inboxRemoved' | 'messages'> {
  const { lastRead: readBefore = 0, lastMessage: lastBefore = 0, deferred: before = [] } = was ?? {}
  const { lastRead = 0, deferred = [] } = row.machine ?? {}
  const dropped = Math.min(lastRead, lastBefore) - readBefore
  const held = new Set(deferred)
  const isKept = (number: number): boolean => number > lastRead || held.has(number)
  const messages = (row.change?.added?.messages ?? []).filter(({ number }) => isKept(number))
  const read = Array.from({ length: Math.max(dropped, 0) }, (_, i) => readBefore + 1 + i)
  const removed = [...before, ...read].flatMap((number, place) => (isKept(number) ? [] : [place]))
  const isFront = removed.at(-1) === removed.length - 1
  return {
    ...(removed.length > 0 && (isFront ? { inboxDropped: removed.length } : { inboxRemoved: removed })),
    ...some(
      'messages',
      messages.map((entry) => JSON.stringify(entry)),
    ),
  }
}

// ── indexes ────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Standing extends MachineStanding {
  readonly failure: string | null
  readonly isUnsupported: boolean
}

const standingOf = ({ machine, rarely: { failure } }: JobRow): Standing => ({
  failure,
  isUnsupported: machine !== null && machine.unsupported !== null,
  states: machine?.states ?? [],
  tags: machine?.tags ?? [],
})

const setsOf = (row: JobRow, keys: Keys): Set<string> => setsFor(row, standingOf(row), keys)

function setsBefore(row: JobRow, { state, failure, machine }: RowChange, keys: Keys): Set<string> {
  if (state === null) return new Set()
  const { isUnsupported = false, states = [], tags = [] } = machine ?? {}
  return setsFor(row, { failure, isUnsupported, states, tags }, keys)
}

/** The indexes of its own that a job stands in. */
function setsFor(row: JobRow, { failure, isUnsupported, states, tags }: Standing, keys: Keys): Set<string> {
  const names = new Set<string>()
  if (failure !== null) names.add(keys.failing(failure))
  const parent = row.machine?.parent ?? null
  if (parent !== null) names.add(keys.children(parent.id))
  if (isUnsupported) names.add(keys.unsupported)
  for (const path of states) names.add(keys.machineState(path))
  for (const tag of tags) names.add(keys.machineTag(tag))
  return names
}

function keysOf({ rows }: Changes<JobRow>, keys: Keys): Pick<Plan, 'freed' | 'taken'> {
  const moves = keyMovesOf(rows)
  const those = (taken: boolean): [string, string, string][] =>
    moves.flatMap(({ cells, field, id, isTaken }) => (isTaken === taken ? [[keys.cells(cells), field, id]] : []))
  return { ...some('freed', those(false)), ...some('taken', those(true)) }
}

// ── the log and figures ────────────────────────────────────────────────────────────────────────────────────────────

function logOf({ entries, rows }: Changes<JobRow>): NonNullable<Plan['log']> {
  const inHistories = new Set<object>()
  for (const row of rows) for (let { last } = row; last !== null; last = last.before) inHistories.add(last)
  return entries.map(({ row, entry }) => {
    const text = entry === null ? enqueueText(row.birth, row.seq, row.enqueuedAt) : transitionText(entry)
    return [row.id, scriptText(row.type), text, entry !== null && inHistories.has(entry) ? 1 : 0]
  })
}

/** What is added to the figures of each type: index of the figure and number. */
function activityOf({ counted }: Changes<JobRow>): NonNullable<Plan['activity']> {
  const byType = new Map<string, Tally>()
  for (const { row, counted: transition, ms } of counted) {
    let tally = byType.get(row.type)
    if (tally === undefined) byType.set(row.type, (tally = noActivity()))
    addTo(tally, transition, ms)
  }
  return [...byType].flatMap(([type, tally]) =>
    tally.flatMap((by, figure) => (by === 0 ? [] : [[scriptText(type), figure, by] as const])),
  )
}

/** Only jobs that have not ended are counted by state and tag. */
function machinesOf({ rows, outcomes }: Changes<JobRow>, keys: Keys): NonNullable<Plan['machines']> {
  const tallies = new Map<string, MachineTally>()
  const tallyOf = (type: string): MachineTally => {
    const tally = tallies.get(type) ?? new MachineTally()
    tallies.set(type, tally)
    return tally
  }
  for (const row of rows) {
    const { machine: was, state, isRemoved } = changeOf(row)
    if (was !== null && state !== null && !isEnded(state)) tallyOf(row.type).add(was, -1)
    if (row.machine !== null && !isRemoved && !isEnded(row.state)) tallyOf(row.type).add(row.machine, 1)
  }
  for (const { type, outcome } of outcomes) tallyOf(type).addOutcome(outcome)
  return [...tallies].flatMap(([type, tally]) =>
    [...tally.entries()].map(([kind, name, by]) => [keys.machineCounts(type), `${kind}:${name}`, by] as const),
  )
}

/** What is added to the heat of charts, the same names together. */
function heatOf({ heat }: Changes<JobRow>): NonNullable<Plan['heat']> {
  const sums = new Map<string, readonly [type: string, name: string, count: number, lastId: string]>()
  for (const { type, name, count, lastId } of heat) {
    const key = JSON.stringify([type, name])
    sums.set(key, [scriptText(type), name, count + (sums.get(key)?.[2] ?? 0), lastId])
  }
  return [...sums.values()]
}

function plannedFailure({
  row: { id, type },
  seq,
  failure: { code, ...failure },
}: CountedFailure<JobRow>): PlannedFailure {
  return { type: scriptText(type), id, seq: String(seq), ...failure, ...(code !== null && { code }) }
}

// ── small values and hints ─────────────────────────────────────────────────────────────────────────────────────────

function cellsOf({ set, cells }: Transaction, keys: Keys): NonNullable<Plan['cells']> {
  return [...set.cells].map(([name, was]) => {
    const space = name.indexOf(' ')
    const kind = name.slice(0, space) as CellKind
    const becomes = cells.get(name)
    const change = becomes === undefined || becomes === was ? 0 : (becomes ?? false)
    return [keys.cells(kind), cellField(kind, name.slice(space + 1)), was ?? false, change] as const
  })
}

/** The index holds the schedules whose input is kept and that have a next tick. */
function ticksOf({ cells }: Transaction): NonNullable<Plan['ticks']> {
  return [...cells].flatMap(([name, text]) => {
    if (!name.startsWith('schedules ')) return []
    const schedule = text === null ? null : (JSON.parse(text) as StoredSchedule)
    const indexed = schedule !== null && !schedule.paused && schedule.nextAt !== null && !schedule.computed
    return [[name.slice('schedules '.length), indexed ? String(schedule.nextAt) : false] as const]
  })
}
