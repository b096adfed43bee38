/** Which jobs: by id, or by a filter that becomes a WHERE. */
import type { SQLInputValue } from 'node:sqlite'
import { isEnded, isLeased, jobStates, type JobState } from '../../core/lifecycle.ts'
import type { JobFilter, Selection } from '../../store.ts'
import type { FileUnit } from './unit.ts'
import type { Queue } from './queue.ts'
import { columns, type Row } from './row.ts'
import { claimable } from './state-names.ts'

export interface Selected {
  readonly rows: readonly Row[]
  readonly notFound: readonly string[]
}

/** The jobs of a selection: as the ids name them, each once, or by filter those in an `eligible` state, oldest first. */
export function select(unit: FileUnit, selection: Selection, eligible: (state: JobState) => boolean): Selected {
  if ('filter' in selection) return { rows: find(unit, selection.filter, eligible, 0, -1), notFound: [] }
  const rows: Row[] = []
  const notFound: string[] = []
  for (const id of new Set(selection.ids)) {
    const row = unit.rows.of(id)
    if (row === undefined) notFound.push(id)
    else rows.push(row)
  }
  return { rows, notFound }
}

/**
 * The jobs after `seq` that pass the filter, oldest first, `limit` at most (−1 = all). The counts tell which states and
 * queues can have any: those that cannot are not looked at.
 */
export function find(
  unit: FileUnit,
  filter: JobFilter,
  eligible: (state: JobState) => boolean,
  seq: number,
  limit: number,
): Row[] {
  const queues =
    filter.type === undefined
      ? unit.queues.all()
      : [...new Set([filter.type].flat())].flatMap((type) => unit.queues.known(type) ?? [])
  const wanted = filter.state === undefined ? jobStates : [filter.state].flat()
  const states = jobStates.filter((state) => wanted.includes(state) && eligible(state))
  const jobsIn = (state: JobState): number => queues.reduce((sum, queue) => sum + queue.in(state), 0)
  const those = where(filter, queues)
  const page = (table: string, own: string): Row[] => {
    const sql = `SELECT ${columns} FROM ${table} WHERE seq > ? AND ${[own, ...those.terms].join(' AND ')} ORDER BY seq LIMIT +?`
    return unit.sql.jobs(sql, seq, ...those.values, limit).map((values) => unit.rows.from(values))
  }
  if (filter.unsupported === true) {
    const anyState = states.length === 0 ? 'FALSE' : `state IN (${states.map((state) => `'${state}'`).join(', ')})`
    return page(
      'machines INDEXED BY unsupported CROSS JOIN jobs ON seq = job',
      `unsupported IS NOT NULL AND ${anyState}`,
    )
  }
  if (states.length === jobStates.length) return page('jobs', 'TRUE')
  const pages = states.flatMap((state) => {
    const jobs = jobsIn(state)
    return jobs === 0 ? [] : [page(...place(state, jobs))]
  })
  if (pages.length === 1) return pages[0] as Row[]
  const found = pages.flat().toSorted((a, b) => a.seq - b.seq)
  return limit < 0 ? found : found.slice(0, limit)
}

/** Up to this many jobs are gathered from an index in another order and sorted; of more, the table is read in its order. */
const fewJobs = 20_000

/** Where the jobs of a state are found. */
function place(state: JobState, jobs: number): [table: string, own: string] {
  const own = `state = '${state}'`
  if (jobs > fewJobs) return ['jobs NOT INDEXED', own]
  if (state === claimable) return ['jobs INDEXED BY queued', own]
  if (isLeased(state)) return ['jobs INDEXED BY leases', `${own} AND lease_at IS NOT NULL`]
  if (isEnded(state)) return ['jobs INDEXED BY ended', `${own} AND finished_at IS NOT NULL`]
  return ['jobs INDEXED BY due', `${own} AND due_at IS NOT NULL`]
}

interface Where {
  readonly terms: readonly string[]
  readonly values: readonly SQLInputValue[]
}

/** All of a filter but the states. */
function where(filter: JobFilter, queues: readonly Queue[]): Where {
  const terms: string[] = []
  const values: SQLInputValue[] = []
  const also = (term: string, value: SQLInputValue): void => {
    terms.push(term)
    values.push(value)
  }
  // JSON keeps the statement the same, however many there are.
  if (filter.type !== undefined) {
    also('queue IN (SELECT value FROM json_each(?))', JSON.stringify(queues.map(({ number }) => number)))
  }
  if (filter.key !== undefined) also('key = ?', filter.key)
  if (filter.concurrencyKey !== undefined) also('concurrency_key = ?', filter.concurrencyKey)
  if (filter.tag !== undefined) also('EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)', filter.tag)
  return { terms, values }
}
