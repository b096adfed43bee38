/** A filter as conditions of a WHERE, and the indexes that it can use. */
import type { SQLInputValue } from 'node:sqlite'
import type { JobFilter } from '../../store.ts'
import type { Queue } from './queue.ts'

/** A condition of a WHERE, with a value for each of its question marks. */
export interface Condition {
  readonly term: string
  readonly values: readonly SQLInputValue[]
}

/** Rows of a table in the order of an index, among which jobs are searched. */
export interface Source {
  readonly from: string
  /** The column with the number of the job; `seq` in the table of jobs itself. */
  readonly job: string
  /** The condition of the index itself. */
  readonly own: Condition
}

/** Indexes of the jobs that have something which few jobs have, in the order of the jobs. */
export function sourcesOfFew({ failure, unsupported, parent, machineState, machineTag }: JobFilter): Source[] {
  const sources: Source[] = []
  const add = (from: string, job: string, term: string, ...values: SQLInputValue[]): void => {
    sources.push({ from, job, own: { term, values } })
  }
  if (failure !== undefined) add('jobs INDEXED BY failing', 'seq', 'failure = ? AND failure IS NOT NULL', failure)
  if (unsupported === true) add('machines INDEXED BY unsupported', 'machines.job', 'unsupported IS NOT NULL')
  if (parent !== undefined) add('machines INDEXED BY children', 'machines.job', 'parent = ?', parent)
  const names = 'machine_names INDEXED BY named'
  const named = 'machine_names.kind = ? AND machine_names.name = ?'
  if (machineState !== undefined) add(names, 'machine_names.job', named, 'state', machineState)
  if (machineTag !== undefined) add(names, 'machine_names.job', named, 'tag', machineTag)
  return sources
}

/** All of a filter but the states. */
export function conditionsOf(filter: JobFilter, queues: readonly Queue[]): Condition[] {
  const conditions: Condition[] = []
  const also = (term: string, ...values: SQLInputValue[]): void => {
    conditions.push({ term, values })
  }
  // As JSON, so that one statement serves any number of them.
  if (filter.type !== undefined) {
    also('queue IN (SELECT value FROM json_each(?))', JSON.stringify(queues.map(({ number }) => number)))
  }
  if (filter.key !== undefined) also('key = ?', filter.key)
  if (filter.concurrencyKey !== undefined) also('concurrency_key = ?', filter.concurrencyKey)
  if (filter.failure !== undefined) also('failure = ?', filter.failure)
  if (filter.tag !== undefined) also('EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)', filter.tag)
  for (const [name, value] of Object.entries(filter.meta ?? {})) {
    // JSON has booleans; in SQLite they are numbers.
    const kind =
      typeof value === 'boolean' ? [String(value)] : typeof value === 'string' ? ['text'] : ['integer', 'real']
    const same = `key = ? AND type IN (${kind.map((type) => `'${type}'`).join(', ')})`
    if (typeof value === 'boolean') also(`EXISTS (SELECT 1 FROM json_each(meta) WHERE ${same})`, name)
    else also(`EXISTS (SELECT 1 FROM json_each(meta) WHERE ${same} AND atom = ?)`, name, value)
  }
  const ofMachine = 'EXISTS (SELECT 1 FROM machines AS own WHERE own.job = seq AND'
  if (filter.unsupported === true) also(`${ofMachine} own.unsupported IS NOT NULL)`)
  if (filter.parent !== undefined) also(`${ofMachine} own.parent = ?)`, filter.parent)
  const isNamed = 'EXISTS (SELECT 1 FROM machine_names AS own WHERE own.job = seq AND own.kind = ? AND own.name = ?)'
  if (filter.machineState !== undefined) also(isNamed, 'state', filter.machineState)
  if (filter.machineTag !== undefined) also(isNamed, 'tag', filter.machineTag)
  if (filter.enqueuedAfter !== undefined) also('enqueued_at >= ?', filter.enqueuedAfter)
  if (filter.enqueuedBefore !== undefined) also('enqueued_at < ?', filter.enqueuedBefore)
  if (filter.finishedAfter !== undefined) also('finished_at >= ?', filter.finishedAfter)
  if (filter.finishedBefore !== undefined) also('finished_at < ?', filter.finishedBefore)
  return conditions
}
