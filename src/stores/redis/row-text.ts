/**
 * A job as one text: the fields that scripts read, each ended by a zero byte, then the rare ones as JSON, then the
 * history. A script reads the first part with one call of `struct.unpack`, and passes the rest on as it is. An entry of
 * the history follows a zero byte.
 */
import { caps } from '../../core/caps.ts'
import { dataFields, dataLetters, type DataField, type Fields, type LightField } from '../remote/fields.ts'
import { separator } from '../remote/history-text.ts'
import { jobStates } from '../../core/lifecycle.ts'

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
] as const satisfies readonly (LightField | 'has')[]

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

const restFields = [
  'checkpointedAttempts',
  'pins',
  'tags',
  'key',
  'cancel',
  'parent',
  'takesCancel',
  'checkpoint',
  'checkpointAt',
  'lastMessage',
  'lastRead',
  'deferred',
  'gather',
  'messageKeys',
  'version',
  'machineStates',
  'machineTags',
] as const satisfies readonly LightField[]

/** Other letters of `has`: results of steps, a machine or a parent, pinned attempts, a unique key. */
export const flagLetters = { steps: 'S', machine: 'M', pinned: 'P', key: 'K' } as const

export type HeadField = (typeof headFields)[number]
/** A stored row. */
export interface ParsedRow {
  readonly fields: Fields
  readonly has: string
  /** Entries, a zero byte between them. */
  readonly history: string
}

const marker = '\x01'

/** A text as scripts store it: without zero bytes, because a zero byte ends a field. */
export const scriptText = (text: string): string =>
  text.includes(separator) || text.includes(marker)
    ? text.replaceAll(marker, `${marker}1`).replaceAll(separator, `${marker}0`)
    : text

/** A text from a script. */
export const textOfScript = (text: string): string =>
  text.includes(marker) ? text.replaceAll(`${marker}0`, separator).replaceAll(`${marker}1`, marker) : text

/** What a read makes; null if a text that is stored is no JSON. */
export function unlessUnreadable<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** Null of a text that is no row, as in scripts, or whose rare fields cannot be read. */
export function parseRow(text: string): ParsedRow | null {
  const row = unlessUnreadable(() => split(text))
  return row !== null && isSound(row.fields) ? row : null
}

function isSound(fields: Fields): boolean {
  const { state, type, rev } = fields
  if (state === undefined || !states.has(state) || type === undefined || rev === undefined) return false
  return numericFields.every((name) => !notNumeric.test(fields[name] ?? ''))
}

const states: ReadonlySet<string> = new Set(jobStates)
const notNumeric = /[^\d.\-+e]/

function split(text: string): ParsedRow | null {
  const parts = text.split(separator)
  if (parts.length <= headFields.length) return null
  const fields: Fields = {}
  let has = ''
  for (let i = 0; i < headFields.length; i++) {
    const value = parts[i] as string
    if (value === '') continue
    const name = headFields[i] as HeadField
    if (name === 'has') has = value
    else fields[name] = textOfScript(value)
  }
  const rest = parts[headFields.length] as string
  if (rest !== '') Object.assign(fields, JSON.parse(rest))
  if (has.includes(flagLetters.steps)) fields.steps = '1'
  if (has.includes(flagLetters.machine)) fields.machine = '1'
  return { fields, has, history: parts.slice(headFields.length + 1).join(separator) }
}

/** The values of the head, in order. */
export const headOf = (fields: Fields, has: string): string[] =>
  headFields.map((name) => (name === 'has' ? has : scriptText(fields[name] ?? '')))

/** What follows the head. */
export function tailOf(fields: Fields, history: string): string {
  let rest: Record<string, string> | null = null
  for (const name of restFields) {
    const value = fields[name]
    if (value !== undefined && value !== '') (rest ??= {})[name] = value
  }
  return `${rest === null ? '' : JSON.stringify(rest)}${history === '' ? '' : separator}${history}`
}

/** The letters of a row. @param hasData is there this data now? */
export function hasOf(fields: Fields, hasData: (field: DataField) => boolean): string {
  let has = ''
  for (const field of dataFields) if (hasData(field)) has += dataLetters[field]
  if (fields.steps) has += flagLetters.steps
  if (fields.machine) has += flagLetters.machine
  if (fields.pins && 'maxAttempts' in (JSON.parse(fields.pins) as object)) has += flagLetters.pinned
  if (fields.key) has += flagLetters.key
  return has
}

/** A history of fewer characters has fewer entries than the cap: they need not be counted. */
export const fullHistoryChars = caps.history * 40
