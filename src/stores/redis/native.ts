/**
 * The most frequent writes as scripts of their own, where the chart's table decides everything: inserts of new jobs
 * that find room, ends of attempts of plain jobs. They take one round trip. All other cases are left to the core: the
 * answer is `null`, or `generic` per item.
 */
import { statesTagged, countersAfter, nextArrow, type JobState } from '../../core/lifecycle.ts'
import { bornReady, bornTimed } from '../../core/insert.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import { failureOf } from '../../core/fingerprint.ts'
import type { Settlement } from '../../core/settlement.ts'
import type { InsertAnswer, InsertRequest, NewJob, SettleAnswer } from '../../store.ts'
import type { Reply } from './connection.ts'
import type { Driver } from './driver.ts'
import { flagLetters, headFields, headOf, scriptText, tailOf } from './row-text.ts'
import { claimed } from './scripts/claim.ts'
import { plainEvents } from './scripts/settle.ts'
import { keyName } from '../remote/cells.ts'
import { dataLetters, type Fields } from '../remote/fields.ts'

const timed = statesTagged('timed')

// ── insert ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The first field of a new row's head that is not written by the script. */
const ownFields = headFields.indexOf('attempt')

/** @returns null if the core has to decide; then nothing was written */
export async function insertNew(driver: Driver, requests: readonly InsertRequest[]): Promise<InsertAnswer[][] | null> {
  const args = insertArgsOf(requests)
  if (args === null) return null
  const [outcome, base, now] = await driver.run('insert', args)
  if (outcome === 'generic') return null
  const at = Number(now)
  let seq = Number(base)
  return requests.map(({ jobs }) =>
    jobs.map(({ id, runAt, delayMs }) => {
      const due = Math.ceil(runAt ?? at + delayMs)
      const dueAt = due > at ? due : null
      return { outcome: 'inserted', id, state: dueAt === null ? bornReady : bornTimed, seq: ++seq, at, dueAt }
    }),
  )
}

function insertArgsOf(requests: readonly InsertRequest[]): string[] | null {
  const rooms = new Map<string | null, number>()
  const counts = new Map<string | null, number>()
  const ids = new Set<string>()
  const names = new Set<string>()
  const args: string[] = []
  const common = new CommonRows()
  let last = 0
  for (const { jobs, capacity, queue } of requests) {
    // Jobs that are handed over need a free slot.
    if (queue?.capacity === 0) return null
    for (const job of jobs) {
      const name = job.key === null ? '' : keyName(job.type, job.key)
      if (!isPlain(job) || ids.has(job.id) || names.has(name)) return null
      ids.add(job.id)
      if (name !== '') names.add(name)
      for (const type of [null, job.type]) counts.set(type, (counts.get(type) ?? 0) + 1)
      try {
        const row = common.indexOf(job, name)
        const own = `${dueText(job)}\n${name}\n${textOf(job.meta)}`
        args.push(job.id, textOf(job.input), row === last && own === '\n\n' ? '' : `${row} ${own}`)
        last = row
      } catch {
        // The core reports which job cannot be written, for that request alone.
        return null
      }
    }
    const limits: [string | null, number | undefined | null][] = [
      [null, capacity],
      [queue?.type ?? null, queue?.capacity],
    ]
    for (const [type, limit] of limits) {
      const room = limit === undefined || limit === null ? Infinity : limit - (counts.get(type) ?? 0)
      if (jobs.length > 0 && room < (rooms.get(type) ?? Infinity)) rooms.set(type, room)
    }
  }
  const queueRooms = [...rooms].flatMap(([type, room]) => (type === null ? [] : [[scriptText(type), room]]))
  const terms = { room: rooms.get(null), ...(queueRooms.length > 0 && { queueRooms }) }
  return [JSON.stringify(terms), String(common.rows.length), ...common.rows, ...args]
}

const isPlain = ({ parent, version, checkpoint }: NewJob): boolean =>
  parent === undefined && version === undefined && checkpoint === undefined

const textOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value))

const dueText = ({ runAt, delayMs }: NewJob): string =>
  runAt !== null ? String(runAt) : delayMs > 0 ? `+${delayMs}` : ''

/** The rows of new jobs, from `attempt` on: each is sent once. */
class CommonRows {
  readonly rows: string[] = []
  private readonly indexes = new Map<string, number>()
  private last: NewJob | null = null
  private lastIndex = 0

  /** The index of the row of a job; the first is 1. */
  indexOf(job: NewJob, name: string): number {
    if (this.last !== null && name === '' && haveOneRow(job, this.last)) return this.lastIndex
    const row = rowOf(job, name)
    const index = this.indexes.get(row) ?? this.rows.push(row)
    this.indexes.set(row, index)
    this.last = name === '' ? job : null
    return (this.lastIndex = index)
  }
}

/** Two jobs without a unique key: is it clear that they have the same row? */
const haveOneRow = (one: NewJob, other: NewJob): boolean =>
  one.type === other.type &&
  one.priority === other.priority &&
  one.maxAttempts === other.maxAttempts &&
  one.concurrencyKey === other.concurrencyKey &&
  one.keyWeight === other.keyWeight &&
  one.pins === other.pins &&
  (one.tags === other.tags || one.tags.length + other.tags.length === 0) &&
  (one.input === undefined) === (other.input === undefined) &&
  (one.meta === undefined) === (other.meta === undefined)

/** The row of a new job, from `attempt` on. */
function rowOf(job: NewJob, name: string): string {
  const { type, priority, maxAttempts, pins, tags, concurrencyKey, keyWeight, key } = job
  const fields: Fields = { type, maxAttempts: String(maxAttempts) }
  if (priority !== 0) fields.priority = String(priority)
  if (concurrencyKey !== null) fields.concurrencyKey = concurrencyKey
  if (keyWeight !== undefined) fields.keyWeight = String(keyWeight)
  if (pins !== undefined) fields.pins = JSON.stringify(pins)
  if (tags.length > 0) fields.tags = JSON.stringify(tags)
  if (key !== null) fields.key = key
  // The claim takes the key from a job that holds it until its start.
  if (key !== null && job.until === 'start') fields.keyName = name
  const has = [
    job.input === undefined ? '' : dataLetters.input,
    job.meta === undefined ? '' : dataLetters.meta,
    pins?.maxAttempts === undefined ? '' : flagLetters.pinned,
    key === null ? '' : flagLetters.key,
  ].join('')
  return [...headOf(fields, has).slice(ownFields), tailOf(fields, '')].join('\0')
}

// ── settle ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const plain: ReadonlySet<string> = new Set(plainEvents)
/** Rows with these letters are left to the core. */
const notPlain = [flagLetters.machine, flagLetters.key]

/**
 * May these be settled by the script? This process must have claimed them, so that it knows their fields; the script
 * itself checks for changes by other processes.
 */
export function maySettle(driver: Driver, settlements: readonly Settlement[]): boolean {
  const ids = new Set<string>()
  for (const { id, event, logs, checkpoint, cancelTaken, unsupported, gather, outcome } of settlements) {
    const isOfMachine =
      checkpoint !== undefined || cancelTaken === true || gather !== undefined || outcome !== undefined
    if (
      isOfMachine ||
      unsupported !== undefined ||
      !plain.has(event) ||
      (logs !== undefined && logs.length > 0) ||
      ids.has(id)
    )
      return false
    const row = driver.leased.of(id)
    if (row === undefined || notPlain.some((letter) => row.has.includes(letter))) return false
    if (event === 'FAIL' && row.fields.onDead !== undefined) return false
    ids.add(id)
  }
  return true
}

/** @returns null for each that is left to the core */
export async function settlePlain(
  driver: Driver,
  settlements: readonly Settlement[],
): Promise<(SettleAnswer | null)[]> {
  const args: string[] = []
  for (const { id, token, attempt, event, to, fatal, ...rest } of settlements) {
    args.push(id, scriptText(token), String(attempt), `${event} ${to}${fatal === true ? '!' : ''}`, extrasOf(rest))
  }
  const [base, now, unexpected] = await driver.inLine(() => driver.exchange.settle(args))
  const others = new Map((unexpected as readonly (readonly Reply[])[]).map(([i, ...other]) => [Number(i), other]))
  const at = Number(now)
  let seq = Number(base)
  return settlements.map((settlement, i) => {
    const other = others.get(i)
    if (other?.[0] === 'generic') return null
    driver.leased.forget(settlement.id)
    if (other === undefined) return expected(settlement, ++seq, at)
    const [outcome, from, to, attempt, due] = other
    if (outcome === 'lost') return lostAnswer(settlement)
    const dueAt = due === '' ? null : Number(due)
    return {
      outcome: 'settled',
      seq: ++seq,
      at,
      from: from as JobState,
      to: to as JobState,
      attempt: Number(attempt),
      dueAt,
    }
  })
}

const extrasOf = ({ delayMs, output, error, checkin, reason }: Partial<Settlement>): string =>
  delayMs === undefined && output === undefined && error === undefined && checkin === undefined && reason === undefined
    ? ''
    : `${delayMs ?? ''}\0${textOf(output)}\0${textOf(checkin)}\0${textOf(reason)}\0${textOf(error)}\0${groupOf(error)}\0`

/** The group of an error. */
function groupOf(error: ErrorRecord | undefined): string {
  if (error === undefined) return ''
  const { code, ...failure } = failureOf(error)
  return JSON.stringify({ ...failure, ...(code !== null && { code }) })
}

/** The answer to a settlement of a job that was still in the state of a claimed one. */
function expected({ event, to, attempt, fatal, delayMs }: Settlement, seq: number, at: number): SettleAnswer {
  const counters = { attempt, maxAttempts: to === 'retrying' ? attempt + 1 : attempt, generation: 1 }
  const arrow = nextArrow(claimed, event, counters, fatal)
  const spent = arrow === null ? attempt : countersAfter(arrow, counters).attempt
  const dueAt = timed.has(to) ? Math.ceil(at + (delayMs ?? 0)) : null
  return { outcome: 'settled', seq, at, from: claimed, to, attempt: spent, dueAt }
}

const lostAnswer = ({ attempt, to }: Settlement): SettleAnswer => ({
  outcome: 'lost',
  seq: 0,
  at: 0,
  from: claimed,
  to,
  attempt,
  dueAt: null,
})
