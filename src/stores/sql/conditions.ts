/** A filter as conditions of a WHERE. */
import { claimable } from '../../core/compiled-arrows.ts'
import { arrowsFrom, type JobState } from '../../core/lifecycle.ts'
import type { JobFilter } from '../../core/values.ts'
import type { Condition, Dialect, SqlValue } from './dialect.ts'
import type { StoredQueue } from './row.ts'

export const queueIn = (dialect: Dialect, queues: readonly StoredQueue[]): Condition => ({
  term: `jobs.queue IN ${dialect.list('?')}`,
  values: [JSON.stringify(queues.map(({ number }) => number))],
})

const [queued] = [...claimable] as [JobState]
const running = (arrowsFrom(queued).CLAIM ?? [])[0]?.to as JobState
/** What the row of a job says, if it has one. */
const written = `coalesce(lives.state, '${queued}')`
const among = (states: readonly JobState[]): string => `IN (${states.map((state) => `'${state}'`).join(', ')})`

/** Jobs that are queued as far as their rows tell, and that an open claim has, are running. */
export function stateIn(dialect: Dialect, states: readonly JobState[]): Condition {
  const [hasQueued, hasRunning] = [states.includes(queued), states.includes(running)]
  if (hasQueued === hasRunning) return { term: `${written} ${among(states)}`, values: [] }
  const others = states.filter((state) => state !== queued)
  const isClaimed = `jobs.seq ${hasRunning ? 'IN' : 'NOT IN'} (SELECT each.value
    FROM ${dialect.join('claims', `${dialect.elements('claims.jobs')} AS each`, 'TRUE')})`
  const isOther = others.length === 0 ? '' : `${written} ${among(others)} OR `
  return { term: `(${isOther}${written} = '${queued}' AND ${isClaimed})`, values: [] }
}

/** All of a filter but the types and the states. */
export function conditionsOf(dialect: Dialect, filter: JobFilter): Condition[] {
  const conditions: Condition[] = []
  const also = (term: string, ...values: SqlValue[]): void => {
    conditions.push({ term, values })
  }
  if (filter.key !== undefined) also('jobs.key = ?', filter.key)
  if (filter.concurrencyKey !== undefined) also('jobs.concurrency_key = ?', filter.concurrencyKey)
  if (typeof filter.failure === 'string') also('failure = ?', filter.failure)
  else if (filter.failure !== undefined) also(`failure IN ${dialect.list('?')}`, JSON.stringify(filter.failure))
  if (filter.tag !== undefined)
    also('EXISTS (SELECT 1 FROM job_tags AS own WHERE own.tag = ? AND own.job = seq)', filter.tag)
  for (const [name, value] of Object.entries(filter.meta ?? {})) conditions.push(dialect.hasMember('meta', name, value))
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
