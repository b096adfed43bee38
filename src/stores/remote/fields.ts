/** The fields of a job as texts, by name, and which of them are kept apart from the row. */

/**
 * Kept apart, because they may be large: they are loaded when an operation asks for one. Each has a letter, see
 * `LoadedRow.has`.
 */
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

/** The fields of the row itself. */
export type LightField =
  | 'rev'
  | 'seq'
  | 'enqueuedAt'
  | 'last'
  | 'place'
  | 'wakeAt'
  | 'state'
  | 'attempt'
  | 'worker'
  | 'token'
  | 'startedAt'
  | 'finishedAt'
  | 'settled'
  | 'maxAttempts'
  | 'onDead'
  | 'checkpointSeq'
  | 'unsupported'
  | 'generation'
  | 'type'
  | 'priority'
  | 'concurrencyKey'
  | 'keyWeight'
  | 'keyName'
  | 'failure'
  | 'checkpointedAttempts'
  | 'pins'
  | 'tags'
  | 'key'
  | 'cancel'
  | 'parent'
  | 'takesCancel'
  | 'checkpoint'
  | 'checkpointAt'
  | 'lastMessage'
  | 'lastRead'
  | 'deferred'
  | 'gather'
  | 'messageKeys'
  | 'version'
  | 'machineStates'
  | 'machineTags'
  /** Set if it has results of steps, and if it has a machine or a parent. */
  | 'steps'
  | 'machine'

export type Field = LightField | DataField

/** By name; a field without a value is missing or empty. */
export type Fields = Partial<Record<Field, string>>

export const dataFields = Object.keys(dataLetters) as DataField[]
export const isDataField = (field: string): field is DataField => field in dataLetters
