/** What a transaction has read and written, as plain data: what a store of documents commits. */
import type { Counted } from '../../core/activity.ts'
import type { Changes, CountedHeat } from '../../core/changes.ts'
import type { Failure } from '../../core/fingerprint.ts'
import { enqueueEntry } from '../../core/history.ts'
import { isEnded, isLeased, statesTagged, type JobState } from '../../core/lifecycle.ts'
import { handOverRoom } from '../../core/hand-over.ts'
import type { JobRow } from '../../core/job-row.ts'
import { claimable } from '../../core/compiled-arrows.ts'
import type { Hint, Transition } from '../../store.ts'
import { keyName, workerFrom, type CellKind } from './cells.ts'
import { encodeRow, LoadedDocument, numberedDocument, revisionOf, type JobDocument } from './document.ts'
import { pending, type Transaction } from './transaction.ts'

/** A small value, and what it was or becomes; null: it is not there. */
export interface CellValue {
  readonly cells: CellKind
  readonly field: string
  readonly value: string | null
}

/** What a commit writes. */
export interface Writes {
  /** The time of the commit, ms since the epoch. */
  readonly now: number
  /** How many numbers it takes: from `base` on. */
  readonly count: number
  /** Each once. `before` null: it is new; `after` null: it is removed. `n`: so many are the same; default 1. */
  readonly jobs: readonly {
    readonly id: string
    readonly before: JobDocument | null
    readonly after: JobDocument | null
    readonly n?: number
  }[]
  /** Entries of the log in the order of their numbers. */
  readonly log: readonly Transition[]
  readonly cells: readonly CellValue[]
  /** `n`: so many transitions, together of these `ms`; default 1. */
  readonly activity: readonly {
    readonly type: string
    readonly counted: Counted
    readonly ms: number
    readonly n?: number
  }[]
  readonly failures: readonly {
    readonly type: string
    readonly id: string
    readonly seq: number
    readonly failure: Failure
  }[]
  readonly outcomes: readonly { readonly type: string; readonly outcome: string }[]
  /** Numbers that are added to names of the heat of the charts of types. */
  readonly heat: readonly CountedHeat[]
}

/** A commit: if all that is expected holds, `writes` are carried out, and else nothing. */
export interface Commit {
  /** That of the server when it was begun, see `StorePort.epoch`. */
  readonly epoch: string
  /** Is a row waited for that somebody else holds? Otherwise it is named: `held ID`. */
  readonly waits: boolean
  /** The revisions of the jobs that were read (`revisionOf`); null: there was none. */
  readonly revisions: ReadonlyMap<string, string | null>
  readonly cells: readonly CellValue[]
  /** The backlog at most, of all types (null) and by type. */
  readonly rooms: ReadonlyMap<string | null, number>
  /** Free slots for jobs that are handed over at least, by type. */
  readonly slots: ReadonlyMap<string, number>
  /** @param base the number of the first transition: one more than that of the last one */
  writes(base: number): Writes
}

/** What a store has now, for `staleOf`. */
export interface Current {
  document(id: string): JobDocument | null
  cell(cells: CellKind, field: string): string | null
  /** All small values of a kind. */
  values(cells: CellKind): Iterable<string>
  /** How many jobs of a type (null: of all) are in a state. */
  count(state: JobState, type: string | null): number
  /** How many jobs a worker has leased. */
  leasedBy(worker: string): number
}

/** The names of what is not as a commit expects it: none if it may be carried out. */
export function staleOf(commit: Commit, current: Current, now: number): string[] {
  const stale: string[] = []
  for (const [id, revision] of commit.revisions) {
    const document = current.document(id)
    if ((document && revisionOf(document)) !== revision) stale.push(`row ${id}`)
  }
  for (const { cells, field, value } of commit.cells) {
    if (current.cell(cells, field) !== value) stale.push(`${cells} ${field}`)
  }
  for (const [type, room] of commit.rooms) if (backlogOf(type, current) > room) stale.push('backlog')
  for (const [type, needed] of commit.slots) {
    const free = slotsOf(type, current, now)
    if (free < needed) stale.push(`slots ${free} ${type}`)
  }
  return stale
}

const backlogOf = (type: string | null, current: Current): number => countOf(current, statesTagged('backlog'), type)

const countOf = (current: Current, states: Iterable<JobState>, type: string | null): number =>
  [...states].reduce((sum, state) => sum + current.count(state, type), 0)

/** How many jobs of a type may be handed over; a number, so that a commit can tell it. */
function slotsOf(type: string, current: Current, now: number): number {
  const workers = [...current.values('workers')].map(workerFrom).map(({ info, seenAt }) => ({
    info,
    silentMs: now - seenAt,
    leasedCount: current.leasedBy(info.id),
  }))
  const room = handOverRoom(type, workers, (each) => ({
    paused: current.cell('paused', each) === '1',
    queued: countOf(current, claimable, each),
    leasedCount: countOf(current, statesTagged('leased'), each),
  }))
  return Math.max(room, Number.MIN_SAFE_INTEGER)
}

/** The commit of a transaction. */
export function commitOf(transaction: Transaction): Commit {
  const { changes, set, source, rooms, slots, now } = transaction
  const revisions = new Map([...source.rows.keys()].map((id) => [id, set.rows.get(id)?.revision ?? null]))
  const expected = [...set.cells].map(([name, value]) => ({ ...cellOf(name), value }))
  const jobs = changes.rows.flatMap((row): Writes['jobs'][number][] => {
    const loaded = set.rows.get(row.id) ?? null
    const before = loaded instanceof LoadedDocument ? loaded.document : null
    if (row.isRemoved) return before === null ? [] : [{ id: row.id, before, after: null }]
    return [{ id: row.id, before, after: encodeRow(row) }]
  })
  const cells = [
    ...[...transaction.cells].map(([name, value]) => ({ ...cellOf(name), value })),
    ...keysOf(changes.rows),
  ]
  const log = changes.entries.map(({ row, entry }) => ({
    id: row.id,
    type: row.type,
    ...(entry === null ? enqueueEntry(row.birth, row.seq, row.enqueuedAt) : entry.entry),
  }))
  return {
    epoch: set.epoch,
    waits: set.held === null,
    revisions,
    cells: expected,
    rooms,
    slots,
    writes(base) {
      const given = (seq: number): number => (seq >= pending ? seq - pending + base : seq)
      return {
        now,
        count: log.length,
        jobs: jobs.map((job) => ({ ...job, after: job.after && numberedDocument(job.after, base) })),
        log: log.map((entry) => ({ ...entry, seq: given(entry.seq) })),
        cells,
        activity: changes.counted.map(({ row: { type }, counted, ms }) => ({ type, counted, ms })),
        failures: changes.failures.map(({ row: { type, id }, seq, failure }) => ({
          type,
          id,
          seq: given(seq),
          failure,
        })),
        outcomes: changes.outcomes,
        heat: changes.heat,
      }
    },
  }
}

function cellOf(name: string): Pick<CellValue, 'cells' | 'field'> {
  const space = name.indexOf(' ')
  return { cells: name.slice(0, space) as CellKind, field: name.slice(space + 1) }
}

/** A unique key that a job has taken (it holds it, or has given it up), or that is free of it from now on. */
interface KeyMove {
  readonly cells: 'holders' | 'predecessors'
  readonly field: string
  readonly id: string
  readonly isTaken: boolean
}

/** What changes of the unique keys of rows: those that are freed first, because another row may take them. */
export function keyMovesOf(rows: readonly JobRow[]): KeyMove[] {
  const moves = rows.flatMap(({ id, type, key, change, state, holdsKey }): KeyMove[] => {
    if (key === null || change === null) return []
    const field = keyName(type, key)
    const isLive = !change.isRemoved && !isEnded(state)
    const wasLive = change.state !== null && !isEnded(change.state)
    const [was, is] = [wasLive && !change.holdsKey, isLive && !holdsKey]
    return [
      ...(change.holdsKey === (isLive && holdsKey)
        ? []
        : [{ cells: 'holders', field, id, isTaken: isLive && holdsKey } as const]),
      ...(was === is ? [] : [{ cells: 'predecessors', field, id, isTaken: is } as const]),
    ]
  })
  return moves.toSorted((a, b) => Number(a.isTaken) - Number(b.isTaken))
}

const keysOf = (rows: readonly JobRow[]): CellValue[] =>
  keyMovesOf(rows).map(({ cells, field, id, isTaken }) => ({ cells, field, value: isTaken ? id : null }))

/** Leased jobs that have got messages are told. */
export function messageHints({ rows }: Changes<JobRow>): Hint[] {
  const ids = rows.flatMap(({ id, state, change }) =>
    isLeased(state) && (change?.added?.messages.length ?? 0) > 0 ? [id] : [],
  )
  return ids.length === 0 ? [] : [{ kind: 'messages', ids }]
}

/** The hints that follow from what was written. */
export function hintsOf({ jobs }: Writes, { changes, hints, now }: Transaction): Hint[] {
  const ready = new Set<string>()
  const found: Hint[] = [...hints]
  for (const hint of hints) if (hint.kind === 'queue' && !hint.paused) found.push({ kind: 'room', type: hint.type })
  const [cancelled, ended]: [string[], string[]] = [[], []]
  let [dueAt, hasRoom] = [Infinity, false]
  for (const { id, before, after } of jobs) {
    const type = (before ?? after)?.type ?? ''
    const wasLeased = before !== null && isLeased(before.state)
    if (wasLeased && (after === null || !isLeased(after.state))) ready.add(type)
    if (wasLeased && after !== null && isLeased(after.state) && after.state !== before.state) cancelled.push(id)
    if (after !== null && before?.state !== after.state) {
      if (claimable.has(after.state)) ready.add(type)
      if (isEnded(after.state)) ended.push(id)
    }
    if (after !== null && statesTagged('timed').has(after.state)) dueAt = Math.min(dueAt, after.wakeAt ?? Infinity)
    hasRoom ||= before !== null && before.state !== after?.state
  }
  if (cancelled.length > 0) found.push({ kind: 'cancelled', ids: cancelled })
  found.push(...messageHints(changes))
  for (const type of ready) found.push({ kind: 'ready', type })
  if (dueAt < Infinity && dueAt >= now) found.push({ kind: 'due', at: dueAt })
  if (hasRoom) {
    found.push({ kind: 'room' })
    for (const type of new Set(jobs.map((job) => (job.before ?? job.after)?.type ?? '')))
      found.push({ kind: 'room', type })
  }
  if (ended.length > 0) found.push({ kind: 'ended', ids: ended })
  return found
}
