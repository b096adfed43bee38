/** A filter as conditions of a WHERE. */
import type { JobState } from '../../core/lifecycle.ts'
import type { Json } from '../../core/payload.ts'
import type { JobFilter } from '../../core/values.ts'
import type { SqlValue } from './driver.ts'
import type { Queue } from './queue.ts'
import { claimable, claimed } from './state-names.ts'

/** A condition, with a value for each of its question marks. */
export interface Condition {
  readonly term: string
  readonly values: readonly SqlValue[]
}

export const termOf = (all: readonly Condition[]): string => all.map(({ term }) => term).join(' AND ')
export const valuesIn = (all: readonly Condition[]): SqlValue[] => all.flatMap(({ values }) => values)

export const queueIn = (queues: readonly Queue[]): Condition => ({
  term: 'jobs.queue IN (SELECT value FROM json_each(?))',
  values: [JSON.stringify(queues.map(({ number }) => number))],
})

/** What the row of a job says, if it has one. */
const written = `coalesce(lives.state, '${claimable}')`
const among = (states: readonly JobState[]): string => `IN (${states.map((state) => `'${state}'`).join(', ')})`

/** Jobs that are queued as far as their rows tell, and that an open claim has, are running. */
export function stateIn(states: readonly JobState[]): Condition {
  const [hasQueued, hasRunning] = [states.includes(claimable), states.includes(claimed)]
  if (hasQueued === hasRunning) return { term: `${written} ${among(states)}`, values: [] }
  const others = states.filter((state) => state !== claimable)
  const isClaimed = `jobs.seq ${hasRunning ? 'IN' : 'NOT IN'} (SELECT each.value
    FROM claims CROSS JOIN json_each(claims.jobs) AS each)`
  const isOther = others.length === 0 ? '' : `${written} ${among(others)} OR `
  return { term: `(${isOther}${written} = '${claimable}' AND ${isClaimed})`, values: [] }
}

/** All of a filter but the types and the states. */
export function conditionsOf(filter: JobFilter): Condition[] {
  const conditions: Condition[] = []
  const also = (term: string, ...values: SqlValue[]): void => {
    conditions.push({ term, values })
  }
  if (filter.key !== undefined) also('jobs.key = ?', filter.key)
  if (filter.concurrencyKey !== undefined) also('jobs.concurrency_key = ?', filter.concurrencyKey)
  if (typeof filter.failure === 'string') also('failure = ?', filter.failure)
  else if (filter.failure !== undefined)
    also('failure IN (SELECT value FROM json_each(?))', JSON.stringify(filter.failure))
  if (filter.tag !== undefined)
    also('EXISTS (SELECT 1 FROM job_tags AS own WHERE own.tag = ? AND own.job = seq)', filter.tag)
  for (const [name, value] of Object.entries(filter.meta ?? {})) conditions.push(hasMeta(name, value))
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

function hasMeta(name: string, value: Exclude<Json, object>): Condition {
  const having = (types: string): string => `EXISTS (SELECT 1 FROM json_each(meta) WHERE key = ? AND type IN (${types})`
  // JSON has booleans; in SQLite they are numbers.
  if (typeof value === 'boolean') return { term: `${having(`'${value}'`)})`, values: [name] }
  const types = typeof value === 'string' ? `'text'` : `'integer', 'real'`
  return { term: `${having(types)} AND atom = ?)`, values: [name, value] }
}
