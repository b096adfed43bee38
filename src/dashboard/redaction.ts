/**
 * What leaves the process of a job: its record in one shape, whatever screen shows it, after the user's `redact`. What
 * that hides in the input is hidden wherever the job carries it on, and cannot be asked for by a filter.
 */
import type { JobFilter, JobRecord, Json } from '../index.ts'
import type { ErrorRecord } from '../core/failure.ts'
import type { InboxMessage } from '../core/machine-record.ts'
import { RefusedError } from './refused-error.ts'

/** A job as the dashboard shows it: its record, or a part of it. `checkpoint` has the context of its machine. */
export type ShownRecord = Partial<Omit<JobRecord, 'checkpoint'>> &
  Pick<JobRecord, 'id' | 'type'> & {
    readonly checkpoint?: { readonly number: number; readonly context: Json } | null
  }

/** Removes from a record what must not be shown. */
export type Redact = (record: ShownRecord) => ShownRecord

/** Stands for what is hidden. */
export const hidden = '(hidden)'

/** What is done to the parts of a record that a user has filled in. */
interface Parts {
  /** Inputs, outputs, contexts, check-ins, meta, events, fields of log lines. */
  readonly payload: (value: Json) => Json
  /** An event: its `type` is no data. */
  readonly event: (value: Json) => Json
  /** Texts of errors and log lines. */
  readonly message: (text: string) => string
  /** Of cancels and transitions. */
  readonly reason: (text: string) => string
  readonly key: (text: string) => string
  readonly concurrencyKey: (text: string) => string
  readonly tags: (tags: readonly string[]) => readonly string[]
}

const same = <Value>(value: Value): Value => value

/** A record with other parts. */
function changedParts(record: ShownRecord, parts: Parts): ShownRecord {
  const { payload, message } = parts
  const reason = (value: string | null): string | null => (value === null ? null : parts.reason(value))
  const error = ({ hint, stack, cause, ...rest }: ErrorRecord): ErrorRecord => ({
    ...rest,
    message: message(rest.message),
    ...(hint !== undefined && { hint: message(hint) }),
    ...(stack !== undefined && { stack: message(stack) }),
    ...(cause !== undefined && { cause: error(cause) }),
  })
  const received = (of: InboxMessage): InboxMessage => {
    if (of.kind === 'event')
      return { ...of, event: parts.event(of.event), ...(of.key !== undefined && { key: parts.key(of.key) }) }
    if (of.kind === 'checkin') return { ...of, value: payload(of.value) }
    if (of.kind === 'cancel') return { ...of, reason: reason(of.reason) }
    if (of.kind !== 'ended') return of
    const { output, error: failure, reason: why, ...rest } = of
    return {
      ...rest,
      ...(output !== undefined && { output: payload(output) }),
      ...(failure !== undefined && { error: error(failure) }),
      ...(why !== undefined && { reason: parts.reason(why) }),
    }
  }
  /** A field that is added to records is an error of types here until it is said what is done to it. */
  const fields: { readonly [Field in keyof ShownRecord]-?: (value: NonNullable<ShownRecord[Field]>) => unknown } = {
    ...plainFields,
    input: payload,
    output: payload,
    meta: (meta) => payload(meta),
    checkin: ({ at, value }) => ({ at, value: payload(value) }),
    checkpoint: ({ number, context }) => ({ number, context: payload(context) }),
    tags: parts.tags,
    key: parts.key,
    concurrencyKey: parts.concurrencyKey,
    cancelReason: reason,
    error,
    errors: (errors) => errors.map((each) => ({ ...each, error: error(each.error) })),
    logs: (lines) =>
      lines.map(({ fields: more, ...line }) => ({
        ...line,
        message: message(line.message),
        ...(more !== undefined && { fields: payload(more) }),
      })),
    inbox: (entries) => entries.map((entry) => ({ ...entry, message: received(entry.message) })),
    history: (entries) =>
      entries.map((entry) => (entry.reason === undefined ? entry : { ...entry, reason: reason(entry.reason) })),
  }
  const entries = Object.entries(record).map(([field, value]) => {
    const change = fields[field as keyof ShownRecord] as (value: unknown) => unknown
    return [field, value === null || value === undefined ? value : change(value)]
  })
  return Object.fromEntries(entries) as ShownRecord
}

/** Fields of a record that have no data of the user's. */
const plainFields = {
  id: same,
  type: same,
  state: same,
  priority: same,
  attempt: same,
  maxAttempts: same,
  generation: same,
  enqueuedAt: same,
  dueAt: same,
  startedAt: same,
  finishedAt: same,
  worker: same,
  machineStates: same,
  machineTags: same,
  takesCancel: same,
  deferred: same,
  lastMessageNumber: same,
  parent: same,
  version: same,
  unsupported: same,
}

/**
 * A `redact` that shows of jobs only what is named: members of payloads (input, output, context, check-ins, meta,
 * events and messages in the inbox, fields of log lines) at any depth, and `tags`, `key`, `concurrencyKey`, `message`
 * (texts of errors and log lines) and `reason` (of cancels and transitions). All else of these is replaced by
 * `'(hidden)'`; ids, types, states, times, names and codes of errors stay. A member that is added to an input tomorrow
 * is hidden until it is named here.
 * @param names what is shown
 * @example createDashboard({ runtime, authorize, redact: redactKeys(['orderId', 'status', 'percent']) })
 */
export function redactKeys(names: readonly string[]): Redact {
  const shown = new Set(names)
  const text = (name: string) => (value: string) => (shown.has(name) ? value : hidden)
  const parts: Parts = {
    payload: (value) => (isObject(value) ? masked(value, (name) => !shown.has(name)) : hidden),
    event: (event) => (isObject(event) ? masked(event, (name) => name !== 'type' && !shown.has(name)) : hidden),
    message: text('message'),
    reason: text('reason'),
    key: text('key'),
    concurrencyKey: text('concurrencyKey'),
    tags: (tags) => (shown.has('tags') ? tags : []),
  }
  return (record) => changedParts(record, parts)
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** A copy without the values of some members, at any depth. The members of a hidden one are not looked at. */
function masked(value: Json, isHidden: (name: string) => boolean): Json {
  if (Array.isArray(value)) return value.map((each: Json) => masked(each, isHidden))
  if (!isObject(value)) return value
  const entries = Object.entries(value as Record<string, Json>)
  return Object.fromEntries(entries.map(([name, of]) => [name, isHidden(name) ? hidden : masked(of, isHidden)]))
}

/** The names of the members that are in the first value and not, or with another value, in the second. */
function changedNames(before: unknown, after: unknown, into: Set<string>): void {
  if (!isObject(before)) return
  const isList = Array.isArray(before)
  for (const [name, value] of Object.entries(before)) {
    const shown = isObject(after) ? (after as Record<string, unknown>)[name] : undefined
    if (isObject(value) && isObject(shown)) changedNames(value, shown, into)
    else if (value !== shown) {
      if (!isList) into.add(name)
      changedNames(value, undefined, into)
    }
  }
}

/** A record, or a part of one, as it may leave the process. */
export function redacted<Shown extends ShownRecord>(redact: Redact | null, record: Shown): Shown {
  if (redact === null) return record
  const shown = redact(record) as Shown
  const names = new Set<string>()
  changedNames(record.input, shown.input, names)
  if (names.size === 0) return shown
  // A machine copies its input into its context, a handler into its output: what is hidden there is hidden in what
  // `redact` has left as it is.
  const mask = (value: Json): Json => masked(value, (name) => names.has(name))
  const left = Object.entries(record).filter(
    ([field, value]) => field !== 'input' && shown[field as keyof Shown] === value,
  )
  const { id, type } = record
  const carried = changedParts({ ...Object.fromEntries(left), id, type }, { ...unchanged, payload: mask, event: mask })
  return { ...shown, ...carried, id: shown.id, type: shown.type }
}

const unchanged = { message: same, reason: same, key: same, concurrencyKey: same, tags: same }

/**
 * The record of a job in the shape in which all screens show it.
 * @param context of its machine; undefined if it cannot be shown
 */
export const shownRecord = ({ checkpoint, ...record }: JobRecord, context: Json | undefined) => ({
  ...record,
  checkpoint:
    checkpoint === null && context === undefined ? null : { number: checkpoint?.number ?? 0, context: context ?? null },
})

/** What a filter asks of a record: names of the filter's members, and the part of a record that has what is asked. */
const asking = {
  tag: (tag: string) => ({ tags: [tag] }),
  key: (key: string) => ({ key }),
  concurrencyKey: (key: string) => ({ concurrencyKey: key }),
  meta: (meta: JobRecord['meta']) => ({ meta }),
  machineState: (state: string) => ({ machineStates: [state] }),
  machineTag: (tag: string) => ({ machineTags: [tag] }),
} as const

type Asking = Pick<JobFilter, keyof typeof asking | 'type'>

/** The members of a filter that ask for what is hidden. @param types that jobs may have */
function hiddenMembers(redact: Redact | null, filter: Asking, types: Iterable<string>): (keyof typeof asking)[] {
  if (redact === null) return []
  const asked = (Object.keys(asking) as (keyof typeof asking)[]).filter((name) => filter[name] !== undefined)
  const possible = filter.type === undefined ? [...new Set(['', ...types])] : [filter.type].flat()
  return asked.filter((name) => {
    const part: Partial<ShownRecord> = asking[name](filter[name] as never)
    const text = JSON.stringify(Object.values(part))
    return possible.some((type) => {
      const { id: _, type: __, ...shown } = redact({ id: '', type, ...part })
      return JSON.stringify(Object.values(shown)) !== text
    })
  })
}

/**
 * Refuses a filter by what is hidden: its page and its count would confirm a guess.
 * @param types that jobs may have
 * @throws RefusedError
 */
export function checkFilter(redact: Redact | null, filter: Asking, types: Iterable<string>): void {
  const [name] = hiddenMembers(redact, filter, types)
  if (name === undefined) return
  throw new RefusedError(403, 'HIDDEN', `Jobs are not found by ${name}, because it is hidden.`)
}

/** Does a filter ask for what is hidden? @param types that jobs may have */
export const isHiddenFilter = (redact: Redact | null, filter: Asking, types: Iterable<string>): boolean =>
  hiddenMembers(redact, filter, types).length > 0

/** A filter without the values that ask for what is hidden. */
export function shownFilter(redact: Redact | null, filter: JobFilter, types: Iterable<string>): JobFilter {
  const names = hiddenMembers(redact, filter, types)
  const instead = names.map((name) => [name, name === 'meta' ? {} : hidden] as const)
  return { ...filter, ...Object.fromEntries(instead) }
}
