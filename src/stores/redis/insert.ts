/**
 * Inserts of new jobs that find room, by scripts: a plain one by `insertOne`, several by `insertPlain`, others by
 * `insert`. All other cases are left to the core.
 */
import { bornReady, bornTimed } from '../../core/insert.ts'
import { JobRow, Terms, Tick } from '../../core/job-row.ts'
import type { InsertAnswer, InsertRequest, NewJob } from '../../store.ts'
import { keyName } from '../remote/cells.ts'
import { typesText } from './figures.ts'
import { separator } from './history-text.ts'
import { headFields, inlineLetters, inlineMax, rowTextOf, scriptText, textOf } from './row-text.ts'
import { inputEnd } from './scripts/insert.ts'
import { plainInserts } from './scripts/insert-plain.ts'
import type { PlainInserts, RedisServer, Stored } from './server.ts'

/** The first field of a new row's head that is not written by the script. */
const ownFields = headFields.indexOf('attempt')

/** @returns null if the core has to decide; then nothing was written */
export async function insertNew(
  server: RedisServer,
  rows: RowTexts,
  requests: readonly InsertRequest[],
): Promise<InsertAnswer[][] | null> {
  const written = (await insertOne(server, rows, requests)) ?? (await insertMany(server, rows, requests))
  return written && answersOf(requests, written)
}

/** @returns null if it is not one plain job, or something has to be looked at closer; then nothing was written */
async function insertOne(
  server: RedisServer,
  rows: RowTexts,
  requests: readonly InsertRequest[],
): Promise<Stored | null> {
  const [request, job] = [requests[0], requests[0]?.jobs[0]]
  if (requests.length > 1 || request === undefined || job === undefined || request.jobs.length > 1) return null
  if (isBounded(request) || !isSimple(job) || !isPlainest(job)) return null
  const text = rowTextWithInput(rows, job)
  return text === null ? null : server.insertOne(job.id, job.type, text)
}

async function insertMany(
  server: RedisServer,
  rows: RowTexts,
  requests: readonly InsertRequest[],
): Promise<Stored | null> {
  const jobs = newJobsOf(rows, requests)
  if (jobs === null) return null
  const written = jobs.arePlain ? await server.insertPlain(plainArguments(jobs)) : null
  if (written !== null) return written
  const [outcome, base, at] = await server.run('insert', argumentsOf(jobs))
  return outcome === 'generic' ? null : { last: Number(base) + jobs.ids.size, at: Number(at) }
}

function answersOf(requests: readonly InsertRequest[], { last, at }: Stored): InsertAnswer[][] {
  let seq = last - requests.reduce((sum, { jobs }) => sum + jobs.length, 0)
  return requests.map(({ jobs }) =>
    jobs.map(({ id, runAt, delayMs }) => {
      const due = Math.ceil(runAt ?? at + delayMs)
      const dueAt = due > at ? due : null
      return { outcome: 'inserted', id, state: dueAt === null ? bornReady : bornTimed, seq: ++seq, at, dueAt }
    }),
  )
}

/** Due at once, behind all others, with nothing that is kept elsewhere than in its row. */
const isPlainest = (job: NewJob): boolean =>
  job.runAt === null &&
  !(job.delayMs > 0) &&
  job.key === null &&
  job.concurrencyKey === null &&
  job.priority === 0 &&
  job.meta === undefined

/** An input as it stands in a row. */
const inlineInput = (input: string): string => (input === '' ? '' : `${separator}${inlineLetters.input}${input}`)

/** The row of a job from `attempt` on, with its input; null if that is too large, or cannot be written. */
function rowTextWithInput(rows: RowTexts, job: NewJob): string | null {
  try {
    const input = textOf(job.input)
    if (input.length > inlineMax) return null
    return rows.of(job) + inlineInput(input)
  } catch {
    return null
  }
}

/** Jobs that may be inserted by a script, if they are new and find room. */
interface NewJobs {
  readonly types: ReadonlySet<string>
  readonly ids: ReadonlySet<string>
  /** One after the other, as they stand in rows or apart. */
  readonly inputs: string
  /** The rows that they have in common, and the index of the row of each; the first is 1. */
  readonly common: CommonRows
  readonly indexes: readonly number[]
  /** Of those that have more: the place, when it is due, the name of its unique key, and meta. */
  readonly own: readonly string[]
  readonly rooms: Rooms | null
  /** Are they for the script of plain jobs? */
  readonly arePlain: boolean
}

/** @returns null if the core has to decide */
function newJobsOf(texts: RowTexts, requests: readonly InsertRequest[]): NewJobs | null {
  const rooms = requests.some(isBounded) ? new Rooms() : null
  const ids = new Set<string>()
  const names = new Set<string>()
  const types = new Set<string>()
  const own: string[] = []
  const indexes: number[] = []
  const common = new CommonRows(texts)
  let [inputs, arePlain] = ['', rooms === null]
  for (const request of requests) {
    // Jobs that are handed over need a free slot.
    if (request.queue?.capacity === 0) return null
    for (const job of request.jobs) {
      const name = job.key === null ? '' : keyName(job.type, job.key)
      if (!isSimple(job) || !mayBeJoined(job.id) || ids.has(job.id) || names.has(name)) return null
      ids.add(job.id)
      types.add(job.type)
      if (name !== '') names.add(name)
      try {
        const input = textOf(job.input)
        const isLarge = input.length > inlineMax
        indexes.push(common.indexOf(job, name, isLarge))
        inputs += (isLarge ? input : inlineInput(input)) + inputEnd
        const due = dueText(job)
        if (due !== '' || name !== '' || job.meta !== undefined)
          own.push(String(indexes.length), due, name, textOf(job.meta))
        arePlain &&= !isLarge && isPlainest(job)
      } catch {
        // The core reports which job cannot be written, for that request alone.
        return null
      }
    }
    rooms?.add(request)
  }
  arePlain &&= ids.size >= plainInserts.min && ids.size <= plainInserts.max
  return { types, ids, inputs, common, indexes, own, rooms, arePlain }
}

function argumentsOf({ types, ids, inputs, common, indexes, own, rooms }: NewJobs): string[] {
  const ofRows = [String(common.rows.length), ...common.rows]
  return [
    typesText(types),
    rooms?.text() ?? '{}',
    ...ofRows,
    [...ids].join(separator),
    inputs,
    runsText(indexes),
    ...own,
  ]
}

function plainArguments({ types, ids, inputs, common, indexes }: NewJobs): PlainInserts {
  const names = [...types]
  const places = new Map(names.map((type, i) => [type, String(i + 1)]))
  const ofRows = common.rows.flatMap((row, i) => [places.get(common.types[i] ?? '') ?? '', row])
  const request = [typesText(names), [...ids].join(separator), inputs, runsText(indexes), ...ofRows]
  return { types: names, request }
}

/** The script gets ids as one text. */
const mayBeJoined = (id: string): boolean => id !== '' && !id.includes(separator)

/** Numbers, each with how often it follows itself, if more than once. */
function runsText(numbers: readonly number[]): string {
  const runs: string[] = []
  for (let from = 0; from < numbers.length;) {
    let to = from + 1
    while (numbers[to] === numbers[from]) to++
    runs.push(to - from > 1 ? `${numbers[from]}*${to - from}` : `${numbers[from]}`)
    from = to
  }
  return runs.join(' ')
}

const isBounded = ({ capacity, queue }: InsertRequest): boolean => capacity !== null || queue !== undefined

/** How many jobs may wait before these, by the capacities of some requests: of all types (null) and by type. */
class Rooms {
  private readonly least = new Map<string | null, number>()
  private readonly counts = new Map<string | null, number>()

  /** Counts the jobs of a request, and holds them against its capacities. */
  add({ jobs, capacity, queue }: InsertRequest): void {
    if (jobs.length === 0) return
    this.count(null, jobs.length)
    for (const { type } of jobs) this.count(type, 1)
    if (capacity !== null) this.limit(null, capacity)
    if (queue !== undefined) this.limit(queue.type, queue.capacity)
  }

  /** As the script gets them. */
  text(): string {
    if (this.least.size === 0) return '{}'
    const queueRooms = [...this.least].flatMap(([type, room]) => (type === null ? [] : [[scriptText(type), room]]))
    return JSON.stringify({ room: this.least.get(null), ...(queueRooms.length > 0 && { queueRooms }) })
  }

  private count(type: string | null, by: number): void {
    this.counts.set(type, (this.counts.get(type) ?? 0) + by)
  }

  private limit(type: string | null, capacity: number): void {
    const room = capacity - (this.counts.get(type) ?? 0)
    if (room < (this.least.get(type) ?? Infinity)) this.least.set(type, room)
  }
}

/** Neither a child nor a machine. */
const isSimple = ({ parent, version, checkpoint }: NewJob): boolean =>
  parent === undefined && version === undefined && checkpoint === undefined

const dueText = ({ runAt, delayMs }: NewJob): string =>
  runAt !== null ? String(runAt) : delayMs > 0 ? `+${delayMs}` : ''

/** The rows of new jobs, from `attempt` on: each is sent once. */
class CommonRows {
  readonly rows: string[] = []
  /** The type of each. */
  readonly types: string[] = []
  private readonly texts: RowTexts
  private readonly indexes = new Map<string, number>()

  constructor(texts: RowTexts) {
    this.texts = texts
  }

  /** The index of the row of a job; the first is 1. @param isLarge is its input kept apart */
  indexOf(job: NewJob, name: string, isLarge: boolean): number {
    const row = isLarge || name !== '' ? rowOf(job) : this.texts.of(job)
    let index = this.indexes.get(row)
    if (index === undefined) {
      this.indexes.set(row, (index = this.rows.push(row)))
      this.types.push(job.type)
    }
    return index
  }
}

const typesMax = 1_000

/** The last row of each type: mostly its jobs have nothing of their own but id and input. */
export class RowTexts {
  private readonly last = new Map<string, { readonly job: NewJob; readonly row: string }>()

  /** The row of a job without a unique key whose input stands in it, from `attempt` on. */
  of(job: NewJob): string {
    const last = this.last.get(job.type)
    if (last !== undefined && haveOneRow(job, last.job)) return last.row
    const row = rowOf(job)
    if (this.last.size >= typesMax) this.last.clear()
    // Its input is not kept.
    this.last.set(job.type, { job: { ...job, input: undefined }, row })
    return row
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
  (one.meta === undefined) === (other.meta === undefined)

const noTick = new Tick(0)

/** The row of a new job, from `attempt` on. */
function rowOf(job: NewJob): string {
  const { head, rest } = rowTextOf(new JobRow(job, new Terms({ ...job, meta: job.meta ?? null }), bornReady, 0, noTick))
  return [...head.slice(ownFields), rest].join('\0')
}
