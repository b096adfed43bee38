/**
 * Does a file of the SQLite store tell one story? Its tables are read one by one, with statements of its own: what the
 * store writes twice (counts, key groups, keys, the log and the histories) must agree, and every job must be where its
 * last transition led. Answers with what does not fit.
 */
import { DatabaseSync } from 'node:sqlite'
import type { HistoryEntry } from '../../../src/core/record.ts'
import { allArrows, jobStates, statesTagged } from '../../../src/core/lifecycle.ts'
import { keyless } from '../../../src/stores/sqlite/key-groups.ts'
import { checkMachines } from './machine-consistency.ts'
import { storedJobs, type StoredJob } from './stored-job.ts'

const leased = statesTagged('leased')
const timed = statesTagged('timed')
const ended = statesTagged('ended')
const births = statesTagged('birth')

type Say = (complaint: string) => void

/** What is wrong with a file; nothing if all is well. */
export function complaintsAbout(path: string): string[] {
  const db = new DatabaseSync(path)
  const complaints: string[] = []
  const say: Say = (complaint) => void complaints.push(complaint)
  try {
    for (const { integrity_check: found } of db.prepare('PRAGMA integrity_check').all()) {
      if (found !== 'ok') say(`integrity: ${String(found)}`)
    }
    for (const { table, parent } of db.prepare('PRAGMA foreign_key_check').all()) {
      say(`a row of ${String(table)} belongs to one of ${String(parent)} that is not there`)
    }
    const jobs = storedJobs(db).map((row): Job => ({ row, history: row.history }))
    for (const job of jobs) checkJob(job, say)
    checkPlaces(db, jobs, say)
    checkEnds(db, jobs, say)
    checkListed(db, jobs, say)
    checkKeys(jobs, say)
    checkQueues(db, jobs, say)
    checkKeyGroups(db, jobs, say)
    checkFailures(db, jobs, say)
    checkMeta(db, jobs, say)
    checkTags(db, jobs, say)
    checkMinutes(db, jobs, say)
    const { checkpoints, oldest, counted } = checkLog(db, jobs, say)
    if (oldest === 1) checkActivity(db, counted, say)
    checkMachines(
      db,
      jobs.map(({ row }) => row),
      checkpoints,
      oldest,
      say,
    )
    return complaints
  } finally {
    db.close()
  }
}

/** All that is in a file, as it can be compared with another. */
export function contentsOf(path: string): Record<string, unknown[]> {
  const db = new DatabaseSync(path)
  try {
    const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`).all()
    const rowsOf = (name: string): unknown[] => db.prepare(`SELECT * FROM ${name} ORDER BY 1, 2`).all()
    return Object.fromEntries(tables.map(({ name }) => [String(name), rowsOf(String(name))]))
  } finally {
    db.close()
  }
}

interface Job {
  readonly row: StoredJob
  readonly history: readonly HistoryEntry[]
}

/** A job is what its history has made of it. */
function checkJob({ row, history }: Job, say: Say): void {
  const is = (what: string, found: unknown, expected: unknown): void => {
    if (found !== expected) say(`job ${row.id} (${row.state}): ${what} is ${String(found)}, not ${String(expected)}`)
  }
  const last = history.at(-1)
  const claim = history.findLast(({ event }) => event === 'CLAIM')
  if (last === undefined) return say(`job ${row.id} has no history`)
  const [isLeased, isEnded] = [leased.has(row.state), ended.has(row.state)]
  is('state', row.state, last.to)
  is('last_seq', row.lastSeq, last.seq)
  is('attempt', row.attempt, last.attempt)
  is('finished_at', row.finishedAt, isEnded ? last.at : null)
  is('a lease', row.leaseAt !== null, isLeased)
  if (!isEnded) is('a token', row.token !== null, isLeased)
  if (!timed.has(row.state)) is('due_at', row.dueAt, null)
  // One that holds a key may wait for the end of another job instead: see checkKeys.
  else if (row.state !== 'waiting' && row.heldKey === null) is('a due_at', row.dueAt !== null, true)
  if (claim !== undefined) {
    is('started_at', row.startedAt, claim.at)
    is('worker', row.worker, claim.worker)
  }
  const first = history[0]
  if (first?.event === 'ENQUEUE') {
    is('seq', row.seq, first.seq)
    is('enqueued_at', row.enqueuedAt, first.at)
    is('generation', row.generation, 1 + history.filter(({ event }) => event === 'RETRY').length)
    const queued = history.findLast(({ from, to }) => to === 'queued' && (from === null || !leased.has(from)))
    if (row.state === 'queued') is('place', row.place, queued?.seq)
  }
  for (const [i, { event, from, to, seq }] of history.entries()) {
    const before = history[i - 1]
    if (before !== undefined && (before.seq >= seq || before.to !== from)) {
      say(`job ${row.id}: ${event} (${seq}) from ${from} follows ${before.event} (${before.seq}) to ${before.to}`)
    }
    const isArrow = allArrows.some((arrow) => arrow.event === event && arrow.from === from && arrow.to === to)
    if (!isArrow && !(event === 'ENQUEUE' && births.has(to))) say(`job ${row.id}: the chart has no ${event} to ${to}`)
  }
}

const difference = (a: Iterable<string>, b: Iterable<string>): string[] => [
  ...new Set(a).symmetricDifference(new Set(b)),
]

/** The queued jobs wait, each once and in its place, and no others behind the front of their queue. */
function checkPlaces(db: DatabaseSync, jobs: readonly Job[], say: Say): void {
  const queued = jobs.flatMap(({ row }) =>
    row.state === 'queued' ? [`${row.queue} ${row.concurrencyKey ?? ''} ${-row.priority} ${row.place} ${row.seq}`] : [],
  )
  const waiting = db
    .prepare(
      `SELECT waiting.* FROM waiting JOIN queues USING (queue)
        WHERE concurrency_key <> '' OR front_rank IS NULL OR (rank, place) > (front_rank, front_place)`,
    )
    .all()
  const places = waiting.map((each) => {
    return ['queue', 'concurrency_key', 'rank', 'place', 'job'].map((name) => String(each[name])).join(' ')
  })
  const different = difference(queued, places)
  if (different.length > 0) say(`what waits differs from the queued jobs: ${different.join(', ')}`)
  const known = new Set(jobs.map(({ row }) => row.seq))
  for (const { jobs: list } of db.prepare('SELECT jobs FROM claims').all()) {
    for (const job of JSON.parse(String(list)) as number[]) {
      if (job > 0 && !known.has(job)) say(`job ${job} is claimed, and is not there`)
    }
  }
}

interface EndedRow {
  readonly name: string
  readonly job: number
  readonly at: number
  readonly last: number
}

/** The ended jobs as the file has them, in the order of their ends: those that are behind, and the others. */
export function endedRows(db: DatabaseSync): { readonly behind: EndedRow[]; readonly found: EndedRow[] } {
  const list = (text: unknown): number[] => JSON.parse(String(text)) as number[]
  const found = db
    .prepare('SELECT * FROM ended ORDER BY last')
    .all()
    .flatMap(({ queue, state, last, jobs }) => {
      let at = 0
      return list(jobs).flatMap((number): EndedRow[] => {
        if (number > 0) return [{ name: `${String(queue)} ${String(state)}`, job: number, at, last: Number(last) }]
        at = -number
        return []
      })
    })
  const behind = db
    .prepare('SELECT * FROM ends ORDER BY last')
    .all()
    .flatMap(({ last, at, jobs, groups }) => {
      const numbers = list(jobs)
      return (JSON.parse(String(groups)) as [number, string, number][]).flatMap(([queue, state, count]) =>
        numbers.splice(0, count).map((job): EndedRow => {
          return { name: `${queue} ${state}`, job, at: Number(at), last: Number(last) }
        }),
      )
    })
  return { behind, found }
}

/** The ended jobs are in the order of their ends. */
function checkEnds(db: DatabaseSync, jobs: readonly Job[], say: Say): void {
  const byNumber = new Map(jobs.map(({ row }) => [row.seq, row]))
  const { behind, found } = endedRows(db)
  const all = [...found, ...behind]
  const before = new Map<string, number>()
  for (const { name, job, at, last } of all) {
    const row = byNumber.get(job)
    if (row === undefined) continue
    if (row.lastSeq > last || row.lastSeq <= (before.get(name) ?? 0) || row.finishedAt !== at) {
      say(`job ${row.id} is not where it has ended`)
    }
    before.set(name, row.lastSeq)
  }
  const expected = jobs.flatMap(({ row }) => (ended.has(row.state) ? [`${row.queue} ${row.state} ${row.seq}`] : []))
  const names = all.map(({ name, job }) => `${name} ${job}`)
  const different = difference(names, expected)
  if (different.length > 0) say(`ends differ from the ended jobs: ${different.join(', ')}`)
  if (new Set(names).size < names.length) say('a job has ended twice')
}

/** Ended jobs are listed unless they are behind, and queued ones that do not wait in the order of their enqueue. */
function checkListed(db: DatabaseSync, jobs: readonly Job[], say: Say): void {
  const listed = db
    .prepare('SELECT * FROM listed')
    .all()
    .map(({ queue, state, job }) => `${String(queue)} ${String(state)} ${String(job)}`)
  const behind = new Set(endedRows(db).behind.map(({ job }) => job))
  const expected = jobs.flatMap(({ row: { queue, state, seq, place, concurrencyKey } }) => {
    const isApart = state === 'queued' && (concurrencyKey !== null || place !== seq)
    return isApart || (ended.has(state) && !behind.has(seq)) ? [`${queue} ${state} ${seq}`] : []
  })
  const different = difference(listed, expected)
  if (different.length > 0) say(`wrongly listed: ${different.join(', ')}`)
}

/**
 * A live job holds its key, but for one that was superseded or followed, or had it until its start; an ended one holds
 * none.
 */
function checkKeys(jobs: readonly Job[], say: Say): void {
  const holders = new Set<string>()
  for (const { row, history } of jobs) {
    const mayHold = !ended.has(row.state)
    // One that was being cancelled already is superseded without another transition.
    const superseded =
      row.state === 'cancelling' || history.some(({ event, reason }) => event === 'CANCEL' && reason === 'superseded')
    const leftKey = mayHold && row.heldKey === null ? row.key : null
    if (row.leftKey !== leftKey) say(`job ${row.id} has given up key ${row.leftKey}, not ${leftKey}`)
    if (row.heldKey !== null && (row.heldKey !== row.key || !mayHold)) say(`job ${row.id} holds key ${row.heldKey}`)
    const started = history.some(({ event }) => event === 'CLAIM')
    const followed = jobs.some(
      ({ row: other }) => other.queue === row.queue && other.key === row.key && other.seq > row.seq,
    )
    const gaveUp = superseded || (started && (row.untilStart || followed))
    if (row.key !== null && mayHold && !gaveUp && row.heldKey === null) say(`job ${row.id} has lost its key`)
    if (row.heldKey === null) continue
    const name = `${row.queue} ${row.heldKey}`
    if (holders.has(name)) say(`key ${row.heldKey} has two holders`)
    holders.add(name)
    const ofKey = jobs.filter((job) => job.row.queue === row.queue && job.row.key === row.heldKey)
    const leaving = ofKey.some((job) => !ended.has(job.row.state) && job.row.heldKey === null)
    if (leaving !== (row.state === 'scheduled' && row.dueAt === null))
      say(`job ${row.id} waits for nobody, or does not wait for ${row.heldKey}`)
  }
}

/** Counts equal a recount. */
function checkQueues(db: DatabaseSync, jobs: readonly Job[], say: Say): void {
  for (const values of db.prepare('SELECT * FROM queues').all()) {
    const rows = jobs.map(({ row }) => row).filter(({ queue }) => queue === values['queue'])
    const counts = JSON.parse(String(values['counts'])) as Record<string, number>
    for (const state of new Set([...jobStates, ...Object.keys(counts)])) {
      const found = rows.filter((row) => row.state === state).length
      const counted = counts[state] ?? 0
      if (counted !== found) say(`queue ${String(values['type'])}: ${found} ${state}, counted ${counted}`)
    }
    const isKeyed = rows.some(({ concurrencyKey }) => concurrencyKey !== null)
    if (isKeyed && values['keyed'] !== 1) say(`queue ${String(values['type'])} has keys and does not know`)
  }
}

/** Each key group has the jobs of its key, and none is without jobs. */
function checkKeyGroups(db: DatabaseSync, jobs: readonly Job[], say: Say): void {
  const name = (queue: unknown, key: unknown): string => `${String(queue)} ${String(key)}`
  const expected = new Map<string, { leasedCount: number; priority: number | null; place: number | null }>()
  const sharing = new Set(
    db
      .prepare('SELECT queue FROM queues WHERE clock IS NOT NULL')
      .all()
      .map(({ queue }) => queue),
  )
  for (const { row } of jobs) {
    const isLeased = leased.has(row.state)
    if (!isLeased && row.state !== 'queued') continue
    // Jobs without a key have a group where the keys share the claims; the leased ones among them are not counted.
    if (row.concurrencyKey === null && (isLeased || !sharing.has(row.queue))) continue
    const key = name(row.queue, row.concurrencyKey ?? keyless)
    const group = expected.get(key) ?? { leasedCount: 0, priority: null, place: null }
    expected.set(key, group)
    if (isLeased) {
      group.leasedCount++
      continue
    }
    const isFirst =
      group.priority === null ||
      row.priority > group.priority ||
      (row.priority === group.priority && row.place < (group.place ?? 0))
    if (isFirst) Object.assign(group, { priority: row.priority, place: row.place })
  }
  const found = db.prepare('SELECT * FROM key_groups').all()
  for (const { queue, concurrency_key: key, leased: leasedCount, priority, place } of found) {
    const group = expected.get(name(queue, key))
    expected.delete(name(queue, key))
    if (group === undefined) say(`key group ${String(key)} has no jobs`)
    else if (group.leasedCount !== leasedCount || group.priority !== priority || group.place !== place) {
      say(
        `key group ${String(key)}: ${JSON.stringify({ leasedCount, priority, place })} is not ${JSON.stringify(group)}`,
      )
    }
  }
  for (const group of expected.keys()) say(`key group ${group} is missing`)
}

type Moved = [string, string | null, string, string | null, string | null, queue: number, attempt: number]
/** Each job has made these moves. */
type Logged = [moves: Moved[], jobs: number[]]

const inTurn = (jobs: readonly number[], moves: readonly Moved[]): (readonly [job: number, Moved])[] =>
  jobs.flatMap((job) => moves.map((move) => [job, move] as const))

interface CountedEntry {
  readonly queue: number
  readonly figure: string
  readonly at: number
}

interface Log {
  /** Entries that are no transitions, by the ids of jobs. */
  readonly checkpoints: ReadonlyMap<string, readonly HistoryEntry[]>
  /** The number of the first entry that is kept. */
  readonly oldest: number
  /** What transitions of queues count as, and when they were made. */
  readonly counted: readonly CountedEntry[]
}

/** The log has every transition once, in one unbroken line, and what it says of a job is what its history says. */
function checkLog(db: DatabaseSync, jobs: readonly Job[], say: Say): Log {
  const transitions = new Map<string, HistoryEntry[]>()
  const checkpoints = new Map<string, HistoryEntry[]>()
  const counted: CountedEntry[] = []
  const ids = new Map(
    ['SELECT seq AS job, id FROM jobs', 'SELECT job, id FROM gone', 'SELECT seq AS job, id FROM jobs_aside']
      .flatMap((text) => db.prepare(text).all())
      .map(({ job, id }) => [Number(job), String(id)]),
  )
  let oldest: number | null = null
  let next = 0
  for (const { first, last, at, transitions: text } of db.prepare('SELECT * FROM log ORDER BY last').all()) {
    if (oldest !== null && first !== next) say(`the log goes on with ${String(first)}, not with ${next}`)
    oldest ??= Number(first)
    let seq = Number(first)
    for (const [moves, numbers] of JSON.parse(String(text)) as Logged[]) {
      for (const [job, [event, from, to, worker, reason, queue, attempt]] of inTurn(numbers, moves)) {
        const id = ids.get(job) ?? `job ${job}`
        if (!ids.has(job)) say(`the log names job ${job}, whose id is nowhere`)
        const known = { ...(worker !== null && { worker }), ...(reason !== null && { reason }) }
        const entry = { seq: seq++, at: Number(at), event, from, to, attempt, ...known } as HistoryEntry
        const isTransition = entry.event !== 'CHECKPOINT'
        if (!isTransition && (entry.from !== entry.to || !leased.has(entry.to)))
          say(`${id} rests from ${from} to ${to}`)
        const list = isTransition ? transitions : checkpoints
        list.set(id, [...(list.get(id) ?? []), entry])
        counted.push(...figuresOf(entry).map((figure) => ({ queue, figure, at: Number(at) })))
        if (!Number.isInteger(queue)) say(`the log names queue ${String(queue)}`)
      }
    }
    next = Number(last) + 1
    if (seq !== next) say(`the log has ${seq - Number(first)} transitions from ${String(first)} to ${String(last)}`)
  }
  for (const { row, history } of jobs) {
    // An id is free again when its job is gone: transitions before this one's are those of another.
    const logged = (transitions.get(row.id) ?? []).filter(({ seq }) => seq >= (history[0]?.seq ?? 0))
    const kept = history.filter(({ seq }) => seq >= (oldest ?? 0))
    if (JSON.stringify(logged.map(sorted)) !== JSON.stringify(kept.map(sorted))) {
      say(`job ${row.id}: the log says ${JSON.stringify(logged)}, the history ${JSON.stringify(kept)}`)
    }
    for (const { seq, to, attempt } of checkpoints.get(row.id) ?? []) {
      const before = history.findLast((transition) => transition.seq < seq)
      if (before === undefined || seq < (history[0]?.seq ?? 0)) continue
      if (before.to !== to || before.attempt !== attempt) say(`job ${row.id} rests (${seq}) where it is not`)
    }
  }
  return { checkpoints, oldest: oldest ?? 0, counted }
}

const sorted = (entry: HistoryEntry): unknown => Object.entries(entry).toSorted(([a], [b]) => (a < b ? -1 : 1))

/** What a transition counts as. */
function figuresOf({ event, to }: HistoryEntry): string[] {
  if (event === 'ENQUEUE') return ['enqueued']
  if (event === 'CLAIM') return ['started']
  if (event === 'COMPLETE' && to === 'done') return ['done']
  if (to === 'cancelled') return ['cancelled']
  if (event === 'FAIL' || event === 'EXPIRE') return to === 'dead' ? ['failed', 'dead'] : ['failed']
  return []
}

const figures = ['enqueued', 'started', 'done', 'failed', 'dead', 'cancelled']

/** The hours and the current minute of a queue together count what is in the log, since the first hour that is kept. */
function checkActivity(db: DatabaseSync, counted: readonly CountedEntry[], say: Say): void {
  const kept = db.prepare("SELECT * FROM activity WHERE period = 'hour'").all()
  for (const { queue, type, minute, activity } of db
    .prepare('SELECT queue, type, minute, activity FROM queues')
    .all()) {
    const current = JSON.parse(String(activity)) as number[]
    const hours = kept.filter((hour) => hour['queue'] === queue)
    // What is older was removed, or an earlier jobchart has written it, which has counted nothing.
    const since = Math.min(Number(minute) || Infinity, ...hours.map(({ at }) => Number(at)))
    const own = counted.filter((entry) => entry.queue === queue && entry.at >= since)
    for (const [i, figure] of figures.entries()) {
      const found = hours.reduce((sum, hour) => sum + Number(hour[figure]), 0) + (current[i] ?? 0)
      const expected = own.filter((entry) => entry.figure === figure).length
      if (found !== expected) say(`queue ${String(type)}: ${expected} ${figure} in the log, counted ${found}`)
    }
  }
}

/** A group has the dead jobs that have died of it since it began; a job has the fingerprint of its last error. */
function checkFailures(db: DatabaseSync, jobs: readonly Job[], say: Say): void {
  const kept = new Map(jobs.map(({ row }) => [row.seq, row.storedFailure]))
  for (const { row } of jobs) {
    const failure = kept.get(row.seq)
    if (failure !== null && failure !== row.failure) say(`job ${row.id}: its failure is not that of its error`)
  }
  for (const { queue, fingerprint, count, dead, first_at: firstAt } of db.prepare('SELECT * FROM failures').all()) {
    const found = jobs.filter(({ row }) => {
      const isOfGroup = row.queue === queue && kept.get(row.seq) === fingerprint
      return isOfGroup && row.state === 'dead' && Number(row.finishedAt) >= Number(firstAt)
    })
    if (dead !== found.length) say(`failure ${String(fingerprint)}: ${found.length} dead, counted ${String(dead)}`)
    if (Number(count) < Number(dead)) say(`failure ${String(fingerprint)}: more jobs are dead than have failed`)
  }
}

function checkTags(db: DatabaseSync, jobs: readonly Job[], say: Say): void {
  const kept = db
    .prepare('SELECT tag, job FROM job_tags')
    .all()
    .map(({ tag, job }) => `${String(job)} ${String(tag)}`)
  const own = jobs.flatMap(({ row: { seq, tags } }) => {
    return [...new Set(JSON.parse(tags ?? '[]') as string[])].map((tag) => `${seq} ${tag}`)
  })
  const different = new Set(kept).symmetricDifference(new Set(own))
  if (different.size > 0) say(`tags of jobs differ from job_tags: ${[...different].join(', ')}`)
}

function checkMeta(db: DatabaseSync, jobs: readonly Job[], say: Say): void {
  const kept = db
    .prepare('SELECT value, name, type, job FROM job_meta')
    .all()
    .map(({ value, name, type, job }) => JSON.stringify([job, name, type === 'integer' ? Number(value) : value]))
  const own = jobs.flatMap(({ row: { seq, meta } }) =>
    Object.entries(JSON.parse(meta ?? '{}') as Record<string, unknown>).flatMap(([name, value]) => {
      const isKept = typeof value === 'string' ? Array.from(value).length <= 200 : Number.isSafeInteger(value)
      return isKept ? [JSON.stringify([seq, name, value])] : []
    }),
  )
  const different = new Set(kept).symmetricDifference(new Set(own))
  if (different.size > 0) say(`meta of jobs differs from job_meta: ${[...different].join(', ')}`)
}

/** Each enqueue and each end is at or after the first transition of its minute, as far back as minutes are kept. */
function checkMinutes(db: DatabaseSync, jobs: readonly Job[], say: Say): void {
  const rows = db.prepare('SELECT minute, first FROM minutes').all()
  const first = new Map(rows.map(({ minute, first: number }) => [Number(minute), Number(number)]))
  const oldest = Math.min(...first.keys())
  for (const { row } of jobs) {
    for (const [at, number] of [
      [row.enqueuedAt, row.seq],
      [row.finishedAt, row.lastSeq],
    ] as const) {
      const minute = at === null ? -1 : Math.floor(at / 60_000)
      if (minute >= oldest && number < (first.get(minute) ?? Infinity))
        say(`${row.id}: transition ${number} is before its minute`)
    }
  }
}
