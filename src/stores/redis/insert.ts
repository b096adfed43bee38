/**
 * Inserts of new jobs that find room, by scripts: a plain one by `insertOne`, many by `insert`. All other cases are
 * left to the core.
 */
import { bornReady, bornTimed } from '../../core/insert.ts'
import { JobRow, Terms, Tick } from '../../core/job-row.ts'
import type { InsertAnswer, InsertRequest, NewJob } from '../../store.ts'
import { keyName } from '../remote/cells.ts'
import { typesText } from './figures.ts'
import { flagLetters, headFields, inlineLetters, inlineMax, rowTextOf, scriptText, textOf } from './row-text.ts'
import type { RedisServer } from './server.ts'

/** The first field of a new row's head that is not written by the script. */
const ownFields = headFields.indexOf('attempt')

/** @returns null if the core has to decide; then nothing was written */
export async function insertNew(
  server: RedisServer,
  rows: RowTexts,
  requests: readonly InsertRequest[],
): Promise<InsertAnswer[][] | null> {
  return (await insertOne(server, rows, requests)) ?? insertMany(server, rows, requests)
}

/** @returns null if it is not one plain job, or something has to be looked at closer; then nothing was written */
async function insertOne(
  server: RedisServer,
  rows: RowTexts,
  requests: readonly InsertRequest[],
): Promise<InsertAnswer[][] | null> {
  const [request, job] = [requests[0], requests[0]?.jobs[0]]
  if (requests.length > 1 || request === undefined || job === undefined || request.jobs.length > 1) return null
  if (request.capacity !== null || request.queue !== undefined || !isPlainest(job)) return null
  const text = rowTextWithInput(rows, job)
  if (text === null) return null
  const written = await server.insertOne(job.id, job.type, text)
  return written && [[{ outcome: 'inserted', id: job.id, state: bornReady, ...written, dueAt: null }]]
}

/** Due at once, behind all others, with nothing that is kept elsewhere than in its row. */
const isPlainest = (job: NewJob): boolean =>
  isPlain(job) &&
  job.runAt === null &&
  !(job.delayMs > 0) &&
  job.key === null &&
  job.concurrencyKey === null &&
  job.priority === 0 &&
  job.meta === undefined

/** The row of a job from `attempt` on, with its input; null if that is too large, or cannot be written. */
function rowTextWithInput(rows: RowTexts, job: NewJob): string | null {
  try {
    const input = textOf(job.input)
    if (input.length > inlineMax) return null
    const row = rows.of(job)
    return input === '' ? row : `${row}\0${inlineLetters.input}${input}`
  } catch {
    return null
  }
}

async function insertMany(
  server: RedisServer,
  texts: RowTexts,
  requests: readonly InsertRequest[],
): Promise<InsertAnswer[][] | null> {
  const args = insertArgsOf(texts, requests)
  if (args === null) return null
  const [outcome, base, now] = await server.run('insert', args)
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

function insertArgsOf(texts: RowTexts, requests: readonly InsertRequest[]): string[] | null {
  const rooms = new Map<string | null, number>()
  const counts = new Map<string | null, number>()
  const ids = new Set<string>()
  const names = new Set<string>()
  const types = new Set<string>()
  const args: string[] = []
  const common = new CommonRows(texts)
  let last = 0
  for (const { jobs, capacity, queue } of requests) {
    // Jobs that are handed over need a free slot.
    if (queue?.capacity === 0) return null
    for (const job of jobs) {
      const name = job.key === null ? '' : keyName(job.type, job.key)
      if (!isPlain(job) || ids.has(job.id) || names.has(name)) return null
      ids.add(job.id)
      types.add(job.type)
      if (name !== '') names.add(name)
      for (const type of [null, job.type]) counts.set(type, (counts.get(type) ?? 0) + 1)
      try {
        const input = textOf(job.input)
        const row = common.indexOf(job, name, input.length > inlineMax)
        const own = `${dueText(job)}\n${name}\n${textOf(job.meta)}`
        args.push(job.id, input, row === last && own === '\n\n' ? '' : `${row} ${own}`)
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
  return [typesText(types), JSON.stringify(terms), String(common.rows.length), ...common.rows, ...args]
}

const isPlain = ({ parent, version, checkpoint }: NewJob): boolean =>
  parent === undefined && version === undefined && checkpoint === undefined

const dueText = ({ runAt, delayMs }: NewJob): string =>
  runAt !== null ? String(runAt) : delayMs > 0 ? `+${delayMs}` : ''

/** The rows of new jobs, from `attempt` on: each is sent once. */
class CommonRows {
  readonly rows: string[] = []
  private readonly texts: RowTexts
  private readonly indexes = new Map<string, number>()

  constructor(texts: RowTexts) {
    this.texts = texts
  }

  /** The index of the row of a job; the first is 1. @param isLarge is its input kept apart */
  indexOf(job: NewJob, name: string, isLarge: boolean): number {
    const row = isLarge || name !== '' ? rowOf(job) : this.texts.of(job)
    let index = this.indexes.get(row)
    if (index === undefined) this.indexes.set(row, (index = this.rows.push(row)))
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
