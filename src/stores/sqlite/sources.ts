/** The indexes in which a search looks for jobs that match its filter: of several, the one with the fewest jobs. */
import { isEnded, isLeased, jobStates, statesTagged, type JobState } from '../../core/lifecycle.ts'
import { isListed } from '../../core/cursor.ts'
import type { ListOrder } from '../../core/figures.ts'
import { isIndexedMeta } from '../../core/terms.ts'
import type { JobFilter } from '../../core/values.ts'
import { never } from './columns.ts'
import { queueIn, stateIn, type Condition } from './conditions.ts'
import type { SqlValue } from './driver.ts'
import type { Queue } from './queue.ts'
import type { Statements } from './statements.ts'

/** Rows of a table, among which jobs are searched. */
export interface Source {
  /** The table, with the index by which it is read: the planner does not know how many rows a partial index has. */
  readonly from: string
  /** The column with the number of the job. */
  readonly job: string
  /** A column that has the same where the source is in the order of the enqueue, and that it is read by. */
  readonly order?: string
  /** The condition of the index itself. */
  readonly own: Condition
  /** What its jobs must meet beside that, so that their queues and states are those of the search. */
  readonly also: readonly Condition[]
  /** Are its rows in the order of the search? Otherwise all of them are read, and sorted. */
  readonly inOrder: boolean
  /** Has it few rows at any time? Then it may be read whole, however many jobs the other sources have. */
  readonly isSmall?: true
}

/** What is searched: jobs of these queues in these states. */
interface Scope {
  readonly sql: Statements
  readonly filter: JobFilter
  readonly queues: readonly Queue[]
  readonly states: readonly JobState[]
  readonly allQueues: readonly Queue[]
  /** All states are those of jobs in this order. */
  readonly by: ListOrder
  /** Has the filter anything but types and states? */
  readonly hasMore: boolean
  /** A number that no end is below which the filter asks for; 0 = none is known. */
  readonly endedSince: number
}

/** Sources that together have each job of the search once, and the number of their jobs at most. */
interface Plan {
  readonly sources: readonly Source[]
  readonly jobs: number
}

/**
 * Up to this many jobs are read and sorted where an index has them in another order. Jobs with an attribute are counted
 * as far.
 */
const fewJobs = 20_000
/** Of a queue with more priorities, all that wait are read and sorted. */
const ranksMax = 20
/** What is assumed of an attribute that more jobs have than are counted. */
const manyJobs = 100_000
/**
 * Of more queues and states, the table is read in its order, if the filter has more, or if one of so many jobs at least
 * is in them.
 */
const sourcesMax = 200
const commonPart = 20

export function sourcesOf(scope: Scope): readonly Source[] {
  let best = { enqueued: wholeTable, finished: endedSince, due: inDueOrder }[scope.by](scope)
  const consider = (plan: Plan): void => {
    const isAffordable = plan.jobs <= fewJobs || plan.sources.every(({ inOrder, isSmall }) => inOrder || isSmall)
    if (isAffordable && plan.jobs < best.jobs) best = plan
  }
  if (isEndedOfMany(scope)) best = endedTogether(scope)
  else if (scope.by !== 'finished' && isApart(scope, best.jobs))
    consider(scope.by === 'due' ? timedJobs(scope) : queuesAndStates(scope))
  for (const sources of narrowSources(scope)) {
    const limit = Math.min(fewJobs + 1, best.jobs)
    let jobs = 0
    for (const source of sources) jobs += countUpTo(scope.sql, source, limit)
    consider({ sources, jobs: jobs > fewJobs ? manyJobs : jobs })
  }
  return best.sources
}

/** Are the jobs of each queue and state read by themselves, and not those of all in the order of the table? */
function isApart({ queues, states, hasMore }: Scope, all: number): boolean {
  const jobs = jobsIn(queues, states)
  if (jobs >= all) return false
  const parts = partsOf(queues, states)
  return parts <= sourcesMax || (!hasMore && jobs * commonPart < all)
}

/** How many queues and states have jobs: each is read by a statement of its own. */
const partsOf = (queues: readonly Queue[], states: readonly JobState[]): number =>
  queues.reduce((parts, queue) => parts + states.filter((state) => queue.in(state) > 0).length, 0)

function countUpTo(sql: Statements, { from, own: { term, values } }: Source, limit: number): number {
  const text = `SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${term} LIMIT +?) AS counted`
  return sql.query<[count: number]>(text, [...values, limit])[0]?.[0] ?? 0
}

const jobsIn = (queues: readonly Queue[], states: readonly JobState[]): number =>
  queues.reduce((sum, queue) => sum + states.reduce((jobs, state) => jobs + queue.in(state), 0), 0)

const among = ({ filter, queues }: Scope): Condition[] => (filter.type === undefined ? [] : [queueIn(queues)])

/** The conditions for the queues and the states of the search. */
function within(scope: Scope): Condition[] {
  const { queues, states } = scope
  const possible = jobStates.filter((state) => isListed(scope.by, state))
  const isAnyState = possible.every((state) => states.includes(state) || jobsIn(queues, [state]) === 0)
  return [...among(scope), ...(isAnyState ? [] : [stateIn(states)])]
}

const wholeTable = (scope: Scope): Plan => ({
  sources: [
    {
      from: 'jobs NOT INDEXED',
      job: 'jobs.seq',
      own: { term: 'TRUE', values: [] },
      also: within(scope),
      inOrder: true,
    },
  ],
  jobs: jobsIn(scope.allQueues, jobStates),
})

/** The ended jobs of each queue and state in the order of their end, from a number on: a statement for each. */
function endedSince(scope: Scope, number = 0): Plan {
  const { queues, states, by } = scope
  const ended = states.filter(isEnded)
  const sources = ended.flatMap((state) =>
    queues.flatMap((queue) => (queue.in(state) === 0 ? [] : endedOf(queue, state, number, by === 'finished'))),
  )
  return { sources: [...sources, justEnded(scope)], jobs: jobsIn(queues, ended) }
}

/** Is a search for ended jobs alone, of which there are few, but of many queues? */
const isEndedOfMany = ({ queues, states, by, hasMore }: Scope): boolean =>
  by !== 'due' &&
  !hasMore &&
  states.every(isEnded) &&
  jobsIn(queues, states) <= fewJobs &&
  partsOf(queues, states) > sourcesMax

/** They are read by one statement, and sorted. */
function endedTogether(scope: Scope): Plan {
  const { queues, states } = scope
  const own = 'listed.queue IN (SELECT value FROM json_each(?)) AND listed.state IN (SELECT value FROM json_each(?))'
  const numbers = queues.filter((queue) => jobsIn([queue], states) > 0).map(({ number }) => number)
  const listed = source('listed', 'listed.job', own, JSON.stringify(numbers), JSON.stringify(states))
  return { sources: [{ ...listed, inOrder: false }, justEnded(scope)], jobs: jobsIn(queues, states) }
}

/** The jobs with a due time, in the order of these. */
const inDueOrder = (scope: Scope): Plan => ({
  sources: [{ ...lifeSource('due', true, `due_at IS NOT NULL AND ${isDue.term}`), also: within(scope) }],
  jobs: jobsIn(scope.allQueues, [...timed]),
})

/** The jobs with a due time of each queue and state, as far as there are any. */
function timedJobs({ queues, states }: Scope): Plan {
  const sources = queues.flatMap((queue) =>
    states.flatMap((state) =>
      queue.in(state) === 0 ? [] : { ...timedOf(queue, state), also: [isDue], inOrder: false },
    ),
  )
  return { sources, jobs: jobsIn(queues, states) }
}

/** The jobs of each queue and state, as far as there are any. */
function queuesAndStates(scope: Scope): Plan {
  const { sql, queues, states } = scope
  const sources: Source[] = []
  for (const queue of queues) {
    for (const state of states) {
      if (isLeased(state) || queue.in(state) === 0) continue
      if (isEnded(state)) sources.push(listedIn(queue, state))
      else if (timed.has(state)) sources.push(timedOf(queue, state))
      else sources.push(...waitingOf(sql, queue, state))
    }
  }
  const leased = states.filter((state) => isLeased(state) && jobsIn(queues, [state]) > 0)
  if (leased.length > 0) {
    const also = [...among(scope), stateIn(leased)]
    sources.push({ ...source(listsOf('claims'), 'each.value', 'each.value > 0'), also, inOrder: false, isSmall: true })
  }
  if (states.some(isEnded)) sources.push(justEnded(scope))
  return { sources, jobs: jobsIn(queues, states) }
}

const timed = statesTagged('timed')
/** Not only an event ends the wait of the job. */
const isDue: Condition = { term: `due_at < ${never}`, values: [] }

/** A table whose rows have lists of jobs, with these. The planner keeps the order of a CROSS JOIN. */
const listsOf = (table: string): string => `${table} CROSS JOIN json_each(${table}.jobs) AS each`
export const ended = listsOf('ended')

/** Rows of a table, in the order of the search, of which all that meet a condition are searched. */
const source = (from: string, job: string, own: string, ...values: SqlValue[]): Source => ({
  from,
  job,
  own: { term: own, values },
  also: [],
  inOrder: true,
})

/** Jobs of a partial index. The planner takes it only if its condition is in the text, not in a parameter. */
const lifeSource = (index: string, inOrder: boolean, own: string, ...values: SqlValue[]): Source => ({
  ...source(`lives INDEXED BY ${index}`, 'lives.job', own, ...values),
  inOrder,
})

/** In the order of their ends. */
const endedOf = ({ number }: Queue, state: JobState, last: number, inOrder: boolean): Source => ({
  ...source(
    ended,
    'each.value',
    'ended.queue = ? AND ended.state = ? AND ended.last >= ? AND each.value > 0',
    number,
    state,
    last,
  ),
  inOrder,
})

/** Jobs that have ended, and are not found otherwise yet: a thousand, and those of one transaction. */
const justEnded = ({ queues, states }: Scope): Source => ({
  ...source(listsOf('ends'), 'each.value', 'each.value > 0'),
  also: [queueIn(queues), stateIn(states.filter(isEnded))],
  inOrder: false,
  isSmall: true,
})

const listedIn = ({ number }: Queue, name: string): Source =>
  source('listed', 'listed.job', 'listed.queue = ? AND listed.state = ?', number, name)

/** In the order of their enqueue. */
const timedOf = (queue: Queue, state: JobState): Source =>
  lifeSource('timed', true, 'lives.queue = ? AND lives.state = ? AND due_at IS NOT NULL', queue.number, state)

/**
 * Jobs in a state that is neither leased nor timed nor ended: they wait. Those of one priority without a concurrency
 * key wait in the order of their enqueue, but for those that have a place of their own.
 */
function waitingOf(sql: Statements, queue: Queue, state: JobState): Source[] {
  const { number, front } = queue
  const own = `waiting.queue = ? AND waiting.concurrency_key = ''`
  const ranks: number[] = []
  for (let rank: number | undefined = front?.[0] ?? -Number.MAX_SAFE_INTEGER; ranks.length <= ranksMax;) {
    const operator: string = ranks.length === 0 ? '>=' : '>'
    const text = `SELECT rank FROM waiting WHERE ${own} AND rank ${operator} ? ORDER BY rank LIMIT +1`
    rank = sql.query<[rank: number]>(text, [number, rank])[0]?.[0]
    if (rank === undefined) break
    ranks.push(rank)
  }
  if (ranks.length > ranksMax) {
    const all = source('waiting', 'waiting.job', 'waiting.queue = ?', number)
    return [{ ...all, also: [stateIn([state])], inOrder: false }]
  }
  const inPlace: Condition = { term: 'waiting.place = waiting.job', values: [] }
  const ofRanks = ranks.map((rank) => {
    const from = front !== null && front[0] === rank ? front[1] : 0
    const ofRank = source('waiting', 'waiting.job', `${own} AND rank = ? AND waiting.place > ?`, number, rank, from)
    return { ...ofRank, order: 'waiting.place', also: [inPlace] }
  })
  return [...ofRanks, listedIn(queue, state)]
}

/** Indexes of the jobs that have what the filter asks for beside types and states, as far as few jobs have it. */
function narrowSources(scope: Scope): (readonly Source[])[] {
  const { filter, by, endedSince: number } = scope
  const also = by === 'due' ? [...within(scope), isDue] : within(scope)
  const each: (readonly Source[])[] = []
  const narrow = (...parts: Parameters<typeof source>): Source => ({
    ...source(...parts),
    also,
    inOrder: by === 'enqueued',
  })
  const add = (...parts: Parameters<typeof source>): void => void each.push([narrow(...parts)])
  const { failure, key, concurrencyKey, unsupported, parent, tag, machineState, machineTag } = filter
  const failures = [...new Set(failure === undefined ? [] : [failure].flat())]
  if (failures.length > 0 && failures.length <= sourcesMax) {
    const own = 'failure = ? AND failure IS NOT NULL'
    each.push(failures.map((one) => narrow('lives INDEXED BY failing', 'lives.job', own, one)))
  }
  if (key !== undefined) add('jobs INDEXED BY with_key', 'jobs.seq', 'key = ? AND key IS NOT NULL', key)
  if (concurrencyKey !== undefined) {
    const own = 'concurrency_key = ? AND concurrency_key IS NOT NULL'
    add('jobs INDEXED BY with_concurrency_key', 'jobs.seq', own, concurrencyKey)
  }
  if (unsupported === true) add('machines INDEXED BY unsupported', 'machines.job', 'unsupported IS NOT NULL')
  if (parent !== undefined) add('machines INDEXED BY children', 'machines.job', 'parent = ?', parent)
  if (tag !== undefined) add('job_tags', 'job_tags.job', 'job_tags.tag = ?', tag)
  for (const [name, value] of Object.entries(filter.meta ?? {})) {
    if (!isIndexedMeta(value)) continue
    const type = typeof value === 'string' ? 'text' : 'integer'
    const own = `job_meta.value = ? AND job_meta.name = ? AND job_meta.type = '${type}'`
    add('job_meta', 'job_meta.job', own, String(value), name)
  }
  const named = 'machine_names.kind = ? AND machine_names.name = ?'
  if (machineState !== undefined) add('machine_names', 'machine_names.job', named, 'state', machineState)
  if (machineTag !== undefined) add('machine_names', 'machine_names.job', named, 'tag', machineTag)
  if (number === 0 || by !== 'enqueued') return each
  const { sources: ended } = endedSince(scope, number)
  return ended.length > sourcesMax ? each : [...each, ended]
}
