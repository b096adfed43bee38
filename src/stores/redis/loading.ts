/** Loads what an operation needs, in one round trip. */
import type { InboxEntry } from '../../core/machine-record.ts'
import type { Command, Commands, Reply } from './connection.ts'
import { memberId, type Keys } from './keys.ts'
import { claimOf } from './leases.ts'
import type { Need } from '../remote/needs.ts'
import { dataFields, parseRow, scriptText, StoredRow, type DataField } from './row-text.ts'
import { selectionName, type Timed, type WorkingSet } from '../remote/working-set.ts'
import { cellName, type CellKind } from '../remote/cells.ts'

/** Entries of a sorted set: member and score. */
type Scored = readonly (readonly [member: string, score: number])[]

/** Finds the page of a selection by filter: that takes more than one round trip. */
export type Select = (need: Need & { readonly kind: 'selected' }, into: WorkingSet) => Promise<void>

/** What is not one command. */
interface Asked {
  readonly select: Select
  counts(): Promise<Map<string, number>>
}

/** @returns the ids of jobs that cannot be read: they are taken as not there */
export async function load(
  redis: Commands,
  keys: Keys,
  needs: readonly Need[],
  into: WorkingSet,
  asked: Asked,
): Promise<readonly string[]> {
  const unique = [...new Map(needs.map((need) => [nameOf(need), need])).values()]
  const rowIds = unique.flatMap((need) => (need.kind === 'row' ? [need.id] : []))
  const dataIds = unique.flatMap((need) => (need.kind === 'data' ? [need.id] : []))
  const others = unique.filter(
    ({ kind }) => kind !== 'row' && kind !== 'data' && kind !== 'selected' && kind !== 'counts',
  )
  const commands = [
    ...(rowIds.length > 0 ? [['HMGET', keys.jobs, ...rowIds]] : []),
    ...(dataIds.length > 0 ? dataFields.map((field) => ['HMGET', keys.data(field), ...dataIds]) : []),
    ...others.map((need) => commandOf(keys, need)),
  ]
  const replies = commands.length === 0 ? [] : await redis.pipeline(commands)
  let next = 0
  const unreadable = rowIds.length > 0 ? takeRows(rowIds, replies[next++], into) : []
  if (dataIds.length > 0) takeData(dataIds, replies.slice(next, (next += dataFields.length)), into)
  for (const need of others) take(need, replies[next++] as Reply, into)
  for (const need of unique) {
    if (need.kind === 'selected') await asked.select(need, into)
    else if (need.kind === 'counts') into.counts = await asked.counts()
  }
  return unreadable
}

function takeRows(ids: readonly string[], reply: Reply | undefined, into: WorkingSet): string[] {
  const rows = rowsFrom(reply)
  for (const [i, row] of rows.entries()) into.rows.set(ids[i] as string, row)
  return unreadableOf(ids, reply, rows)
}

/** Is called with jobs that are there and cannot be read. */
export type SetAside = (ids: readonly string[]) => Promise<void>

/**
 * The ids of jobs that are there and cannot be read.
 * @param reply their rows as they are stored
 * @param rows what was read; null for none
 */
export const unreadableOf = (
  ids: readonly string[],
  reply: Reply | undefined,
  rows: readonly (object | null)[],
): string[] => ids.filter((_, i) => rows[i] === null && typeof (reply as readonly Reply[])[i] === 'string')

function takeData(ids: readonly string[], replies: readonly Reply[], into: WorkingSet): void {
  for (const [i, id] of ids.entries()) {
    const row = into.rows.get(id)
    if (row instanceof StoredRow) into.rows.set(id, row.withData(dataAt(i, dataFields, replies), dataFields))
  }
}

/** The fields of a job that are kept apart. @param replies a list of values for each field */
export function dataAt(
  i: number,
  fields: readonly DataField[],
  replies: readonly Reply[],
): Partial<Record<DataField, string>> {
  const data: Partial<Record<DataField, string>> = {}
  for (const [n, field] of fields.entries()) {
    const value = (replies[n] as readonly Reply[])[i]
    if (typeof value === 'string') data[field] = value
  }
  return data
}

const nameOf = (need: Need): string =>
  need.kind === 'selected' ? selectionName(need.selection, need.among) : JSON.stringify(need)

function commandOf(keys: Keys, need: Need): Command {
  switch (need.kind) {
    case 'inbox':
      return ['LRANGE', keys.inbox(need.id), '0', '-1']
    case 'children':
      return ['ZRANGE', keys.children(need.id), '0', '-1']
    case 'cell':
      return ['HGET', keys.cells(need.cells), cellField(need.cells, need.field)]
    case 'values':
      return ['HVALS', keys.cells(need.cells)]
    case 'timers':
      return ['ZRANGE', need.of === 'due' ? keys.due : keys.leases, '0', String(need.limit), 'WITHSCORES']
    case 'row':
    case 'data':
    case 'heads':
    case 'counts':
    case 'selected':
      throw new TypeError(`${need.kind} is not one command`)
  }
}

function take(need: Need, reply: Reply, into: WorkingSet): void {
  switch (need.kind) {
    case 'inbox':
      into.inboxes.set(need.id, parsedAll<InboxEntry>(reply))
      return
    case 'children':
      into.children.set(need.id, texts(reply))
      return
    case 'cell':
      into.cells.set(cellName(need.cells, need.field), typeof reply === 'string' ? reply : null)
      return
    case 'values':
      into.values.set(need.cells, texts(reply))
      return
    case 'timers':
      into.timers.set(need.of, { limit: need.limit, found: timed(reply) })
      return
    case 'row':
    case 'data':
    case 'heads':
    case 'counts':
    case 'selected':
  }
}

export const texts = (reply: Reply | undefined): string[] => (Array.isArray(reply) ? reply.map(String) : [])

export const parsedAll = <T>(reply: Reply | undefined): T[] => texts(reply).map((text) => JSON.parse(text) as T)

/** Rows of an HMGET; null for one that is not there, or cannot be read. */
export const rowsFrom = (reply: Reply | undefined): (StoredRow | null)[] =>
  Array.isArray(reply) ? reply.map((text) => (typeof text === 'string' ? parseRow(text) : null)) : []

/** Names and values in turn, as HGETALL and scripts answer. */
export function pairs(reply: Reply | undefined): [string, string][] {
  const flat = texts(reply)
  return flat.flatMap((name, i): [string, string][] => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : []))
}

export const scored = (reply: Reply | undefined): Scored =>
  pairs(reply).map(([member, score]) => [member, Number(score)])

/** Members of an index of times. */
const timed = (reply: Reply | undefined): Timed =>
  scored(reply).map(([member, at]) => [claimOf(member) === null ? memberId(member) : member, at])

/** The name of a small value as it is stored. */
export const cellField = (cells: CellKind, field: string): string => (cells === 'paused' ? scriptText(field) : field)
