/** What a unit has read and written, as the plan of a commit: texts only, which the script carries out as they are. */
import { isEnded, type JobState } from '../../core/lifecycle.ts'
import type { Failure } from '../../core/fingerprint.ts'
import { MachineTally } from '../../core/machine-tally.ts'
import type { StoredSchedule } from '../../core/schedule-record.ts'
import type { FailedAttempt } from '../remote/counting.ts'
import { hintForScript } from './hints.ts'
import type { Keys } from './keys.ts'
import { cellField } from './loading.ts'
import { hasOf, headOf, scriptText, tailOf } from './row-text.ts'
import type { Row } from '../remote/row.ts'
import type { RemoteUnit } from '../remote/unit.ts'
import { isDataField, type Fields } from '../remote/fields.ts'
import { entryText, historyWithout } from '../remote/history-text.ts'

/** A row that is written. Members that are left out have nothing in them. */
interface PlannedRow {
  readonly id: string
  /** Its revision as it was read; empty: it was not there. */
  readonly rev: string
  readonly gone?: 1
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
  /** Entries of the log in order: id, type, text, and whether it becomes part of the history. */
  readonly log?: readonly (readonly [id: string, type: string, text: string, inHistory: 0 | 1])[]
  /** The time of the unit, ms. */
  readonly now?: string
  /** What is added to the activity of types: index of the figure and number. */
  readonly activity?: readonly (readonly [type: string, figure: number, by: number])[]
  /** What is added to the numbers of jobs by the states and tags of their machines. */
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
}

export function planOf(unit: RemoteUnit, keys: Keys): Planned {
  const rows: PlannedRow[] = []
  const read: string[] = []
  for (const row of unit.rows.values()) {
    const planned = planRow(row, keys)
    if (planned !== null) rows.push(planned)
    else read.push(row.id, revision(row.loaded?.fields))
  }
  const cells = cellsOf(unit, keys)
  const { rooms, full, slots, fullSlots } = unit.waiting
  const ticks = ticksOf(unit)
  const activity = unit.counting.activity().map(([type, figure, by]) => [scriptText(type), figure, by] as const)
  const changed = cells.some(([, , , becomes]) => becomes !== 0)
  const writes = rows.length > 0 || changed || full.size > 0 || fullSlots.size > 0 || unit.hints.length > 0
  return {
    writes,
    plan: {
      ...some('read', read),
      ...some('rows', rows),
      ...some('cells', cells),
      ...some(
        'log',
        unit.log.map(
          ({ id, type, entry, inHistory }) => [id, scriptText(type), entryText(entry), inHistory ? 1 : 0] as const,
        ),
      ),
      ...some('ticks', ticks),
      now: String(unit.now),
      ...some('activity', activity),
      ...some('machines', machinesOf(unit, keys)),
      ...some('failures', unit.counting.failures.map(plannedFailure)),
      ...(rooms.has(null) && { room: rooms.get(null) as number }),
      ...some(
        'queueRooms',
        [...rooms].flatMap(([type, room]) => (type === null ? [] : [[scriptText(type), room] as const])),
      ),
      ...(full.has(null) && { full: 1 }),
      ...some(
        'fullQueues',
        [...full].flatMap((type) => (type === null ? [] : [scriptText(type)])),
      ),
      ...some(
        'slots',
        [...slots].map(([type, free]) => [scriptText(type), free] as const),
      ),
      ...some(
        'fullSlots',
        [...fullSlots].map(([type, free]) => [scriptText(type), free] as const),
      ),
      ...some('hints', unit.hints.map(hintForScript)),
    },
  }
}

/** What a row is compared by: numbers of jobs are never given again, so a later job of the same id is told from it. */
const revision = (fields: Fields | undefined): string =>
  fields?.rev === undefined ? '' : `${fields.rev}:${fields.seq}`

/** A list that is left out if it is empty: an empty one is not told from an object by the script's JSON. */
const some = <K extends string, T>(name: K, list: readonly T[]): { [N in K]?: readonly T[] } =>
  (list.length === 0 ? {} : { [name]: list }) as { [N in K]?: readonly T[] }

function planRow(row: Row, keys: Keys): PlannedRow | null {
  const { id, additions, loaded } = row
  const rev = revision(loaded?.fields)
  if (row.removed) {
    if (loaded === null) return null
    return { id, rev, gone: 1, ...some('leave', [...sets(loaded.fields, keys)]) }
  }
  const changes = row.changes()
  if (changes.length === 0 && !hasAdditions(row)) return null
  const before = sets(loaded?.fields ?? {}, keys)
  const after = sets(row.values, keys)
  const data = changes.filter(([name]) => isDataField(name))
  const has = hasOf(row.values, (field) => row.hasData(field))
  return {
    id,
    rev,
    head: headOf({ ...row.values, rev: String(Number(loaded?.fields.rev ?? 0) + 1) }, has),
    tail: tailOf(row.values, historyWithout(loaded?.history ?? '', additions.historyDropped)),
    ...some('data', data.filter(([, value]) => value !== '').flat()),
    ...some(
      'dataDropped',
      data.flatMap(([name, value]) => (value === '' ? [name] : [])),
    ),
    ...some('enter', [...after.difference(before)]),
    ...some('leave', [...before.difference(after)]),
    ...inboxChanges(row),
    ...some('checkpoints', additions.checkpoints.map(checkpointText)),
    ...(additions.forgetsCheckpoints && { forgetsCheckpoints: 1 }),
    ...some(
      'steps',
      Object.entries(additions.steps).flatMap(([name, result]) => (result === null ? [] : [name, result])),
    ),
    ...some(
      'stepsDropped',
      Object.entries(additions.steps).flatMap(([name, result]) => (result === null ? [name] : [])),
    ),
    ...(additions.forgetsSteps && { forgetsSteps: 1 }),
  }
}

const hasAdditions = ({ additions }: Row): boolean =>
  Object.keys(additions.steps).length > 0 || additions.forgetsSteps || additions.historyDropped > 0

/** The number first: the script replaces the first one of a text. */
const checkpointText = ({ seq, ...rest }: Row['additions']['checkpoints'][number]): string =>
  JSON.stringify({ seq, ...rest })

/**
 * The inbox holds the deferred messages and then the unread ones. Mostly none is deferred: then those at the front are
 * removed.
 */
function inboxChanges(row: Row): Pick<PlannedRow, 'inboxDropped' | 'inboxRemoved' | 'messages'> {
  const { lastRead: readBefore = '0', lastMessage: lastBefore = '0', deferred: before } = row.loaded?.fields ?? {}
  const { lastRead = 0, deferred = [] } = row.machine ?? {}
  const dropped = Math.min(lastRead, Number(lastBefore)) - Number(readBefore)
  const held = new Set(deferred)
  const isKept = (number: number): boolean => number > lastRead || held.has(number)
  const messages = row.additions.messages.filter(({ number }) => isKept(number))
  const read = Array.from({ length: Math.max(dropped, 0) }, (_, i) => Number(readBefore) + 1 + i)
  const removed = [...(before ? (JSON.parse(before) as number[]) : []), ...read].flatMap((number, place) =>
    isKept(number) ? [] : [place],
  )
  const isFront = removed.at(-1) === removed.length - 1
  return {
    ...(isFront ? { inboxDropped: removed.length } : some('inboxRemoved', removed)),
    ...some(
      'messages',
      messages.map(({ entry }) => JSON.stringify(entry)),
    ),
  }
}

/** The indexes of its own that a job stands in. */
function sets(fields: Fields, keys: Keys): Set<string> {
  const names = new Set<string>()
  if (fields.failure) names.add(keys.failing(fields.failure))
  if (!fields.machine) return names
  if (fields.parent) names.add(keys.children((JSON.parse(fields.parent) as { readonly id: string }).id))
  if (fields.unsupported) names.add(keys.unsupported)
  for (const path of list(fields.machineStates)) names.add(keys.machineState(path))
  for (const tag of list(fields.machineTags)) names.add(keys.machineTag(tag))
  return names
}

/** Only jobs that have not ended are counted by state and tag. */
function machinesOf({ rows, counting }: RemoteUnit, keys: Keys): NonNullable<Plan['machines']> {
  const tallies = new Map<string, MachineTally>()
  const tallyOf = (type: string): MachineTally => {
    const tally = tallies.get(type) ?? new MachineTally()
    tallies.set(type, tally)
    return tally
  }
  const count = (fields: Fields, by: 1 | -1): void => {
    if (!fields.machine || isEnded(fields.state as JobState)) return
    tallyOf(fields.type as string).add({ states: list(fields.machineStates), tags: list(fields.machineTags) }, by)
  }
  for (const row of rows.values()) {
    if (row.loaded !== null) count(row.loaded.fields, -1)
    if (!row.removed) count(row.values, 1)
  }
  for (const { type, outcome } of counting.outcomes) tallyOf(type).addOutcome(outcome)
  return [...tallies].flatMap(([type, tally]) =>
    [...tally.entries()].map(([kind, name, by]) => [keys.machineCounts(type), `${kind}:${name}`, by] as const),
  )
}

const list = (text: string | undefined): readonly string[] => (text ? (JSON.parse(text) as string[]) : [])

function cellsOf({ set, cells }: RemoteUnit, keys: Keys): NonNullable<Plan['cells']> {
  return [...set.cells].map(([name, was]) => {
    const space = name.indexOf(' ')
    const kind = name.slice(0, space) as Parameters<Keys['cells']>[0]
    const becomes = cells.get(name)
    const change = becomes === undefined || becomes === was ? 0 : (becomes ?? false)
    return [keys.cells(kind), cellField(kind, name.slice(space + 1)), was ?? false, change] as const
  })
}

/** The index holds the schedules whose input is kept and that have a next tick. */
function ticksOf({ cells }: RemoteUnit): NonNullable<Plan['ticks']> {
  return [...cells].flatMap(([name, text]) => {
    if (!name.startsWith('schedules ')) return []
    const schedule = text === null ? null : (JSON.parse(text) as StoredSchedule)
    const indexed = schedule !== null && !schedule.paused && schedule.nextAt !== null && !schedule.computed
    return [[name.slice('schedules '.length), indexed ? String(schedule.nextAt) : false] as const]
  })
}

function plannedFailure({ type, id, seq, failure: { code, ...failure } }: FailedAttempt): PlannedFailure {
  return { type: scriptText(type), id, seq: String(seq), ...failure, ...(code !== null && { code }) }
}
