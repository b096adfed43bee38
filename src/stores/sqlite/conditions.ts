/** A filter as conditions of a WHERE. */
import type { SQLInputValue } from 'node:sqlite'
import type { JobState } from '../../core/lifecycle.ts'
import type { JobFilter } from '../../store.ts'
import type { Queue } from './queue.ts'

/** A condition of a WHERE, with a value for each of its question marks. */
export interface Condition {
  readonly term: string
  readonly values: readonly SQLInputValue[]
}

// As JSON, so that one statement serves any number of them.
export const queueIn = (queues: readonly Queue[]): Condition => ({
  term: 'queue IN (SELECT value FROM json_each(?))',
  values: [JSON.stringify(queues.map(({ number }) => number))],
})

export const stateIn = (states: readonly JobState[]): Condition => ({
  term: `state IN (${states.map((state) => `'${state}'`).join(', ')})`,
  values: [],
})

/** All of a filter but the types and the states. */
export function conditionsOf(filter: JobFilter): Condition[] {
  const conditions: Condition[] = []
  const also = (term: string, ...values: SQLInputValue[]): void => {
    conditions.push({ term, values })
  }
  if (filter.key !== undefined) also('key = ?', filter.key)
  if (filter.concurrencyKey !== undefined) also('concurrency_key = ?', filter.concurrencyKey)
  if (filter.failure !== undefined) also('failure = ?', filter.failure)
  if (filter.tag !== undefined)
    also('EXISTS (SELECT 1 FROM job_tags AS own WHERE own.tag = ? AND own.job = seq)', filter.tag)
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
