/**
 * Rebuilds what the file keeps twice from the rows of the jobs: columns that follow from their states, counts, key
 * groups, indexes of tags and of machines, the dead jobs of groups of failures, minutes, and the number of the last
 * transition. Jobs that cannot be read are set aside, and those that were and can be read are brought back. One
 * transaction.
 */
import type { MachineCounts } from '../../core/figures.ts'
import type { RepairAnswer } from '../../store.ts'
import { valueOf } from '../../core/cell.ts'
import { failureOf } from '../../core/fingerprint.ts'
import { move, readable, unlessUnreadable, unreadable } from './aside.ts'
import { keyless } from './key-groups.ts'
import { columnsByState, endsByJobs, tablesByJobs } from './repair-statements.ts'
import type { JobFile } from './job-file.ts'
import type { Row } from './row.ts'

/** Jobs that are read at once. */
const pageSize = 500

export function repair(file: JobFile): RepairAnswer {
  const { sql } = file
  // What the calls before it in the transaction have changed; and from here on nothing is known of the file.
  file.finish()
  sql.run('forgetEnds')
  const restored = bringBack(file)
  const jobs = walk(file)
  repairClaims(file)
  for (const text of columnsByState) sql.query(text, text.includes('?') ? [file.now] : [])
  file.ends.distribute()
  if (sql.get('wrongEnds') !== undefined) for (const text of endsByJobs) sql.query(text)
  for (const text of tablesByJobs) sql.query(text)
  const counts = repairQueues(file)
  const highest = sql.get('highestNumber')?.[0] ?? 0
  if (highest > (sql.get('lastSeq')?.[0] ?? 0)) sql.run('append', highest, highest + 1, file.now, '[]')
  file.begin(file.now, true, false)
  repairKeyGroups(file)
  for (const queue of file.queues.all()) file.hints.look(queue)
  return { jobs, restored, unreadable: unreadable(file), counts }
}

/** Brings jobs back that can be read, and whose ids are free. */
function bringBack(file: JobFile): string[] {
  const { sql } = file
  return sql.all('rowsAside').flatMap((values) => {
    const [seq, id] = values
    if (sql.get('byId', id) !== undefined || readable(file, values) === null) return []
    sql.run('giveUpTakenKey', seq)
    sql.run('bringJobBack', seq)
    sql.run('bringLifeBack', seq)
    sql.run('removeJobsAside', JSON.stringify([seq]))
    sql.run('removeLivesAside', JSON.stringify([seq]))
    return [id]
  })
}

/** Leases of jobs that cannot be read, are gone or have none end. */
function repairClaims({ sql, claims }: JobFile): void {
  claims.write()
  for (const [claim, text] of sql.all('claimsToRepair')) {
    const jobs = orElse<number[]>(text, [])
    const leased = new Set(sql.all('stillClaimed', text).map(([job]) => job))
    if (leased.size === 0) sql.run('removeClaim', claim)
    else if (jobs.some((job) => job > 0 && !leased.has(job))) {
      sql.run('writeJobsOfClaim', JSON.stringify(jobs.map((job) => (leased.has(job) ? job : 0))), claim)
    }
  }
  claims.forget()
}

/** Sets all jobs aside that cannot be read. @returns how many can */
function walk(file: JobFile): number {
  let jobs = 0
  const queues = new Set(file.sql.all('storedQueues').map(([queue]) => queue))
  for (let after = -1; ;) {
    const page = file.sql.all('jobsAfter', after, pageSize)
    for (const values of page) {
      const row = readable(file, values, (queue) => queues.has(queue))
      if (row === null) move(file, values)
      else {
        jobs++
        repairFailure(file, row)
      }
      after = values[0]
    }
    if (page.length < pageSize) return jobs
  }
}

/** A job is found by the group of its last error. */
function repairFailure({ sql }: JobFile, { seq, rarely }: Row): void {
  const error = valueOf(rarely.error)
  const failure = error === null ? null : failureOf(error).fingerprint
  if (rarely.failure !== failure) sql.run('writeFailure', failure, seq)
}

/** A text that is JSON, or another one. */
const orElse = <T>(text: string | null, otherwise: T): T =>
  text === null ? otherwise : (unlessUnreadable(() => JSON.parse(text) as T) ?? otherwise)

/** Counts of jobs of each queue. @returns how many were wrong */
function repairQueues({ sql }: JobFile): number {
  const byState = Map.groupBy(sql.all('jobsByState'), ([queue]) => queue)
  const byName = Map.groupBy(sql.all('jobsByName'), ([queue]) => queue)
  sql.run('findKeyed')
  let wrong = 0
  for (const [queue, text, keyTerms, activity, machinesText] of sql.all('storedQueues')) {
    const before = orElse<Record<string, number>>(text, {})
    const counts = Object.fromEntries((byState.get(queue) ?? []).map(([, state, jobs]) => [state, jobs]))
    for (const state of Object.keys({ ...before, ...counts })) {
      if ((before[state] ?? 0) !== (counts[state] ?? 0)) wrong++
    }
    const named = (kind: string): Record<string, number> =>
      Object.fromEntries(
        (byName.get(queue) ?? []).flatMap(([, own, name, jobs]) => (own === kind ? [[name, jobs]] : [])),
      )
    // How machines have ended no job tells.
    const { outcomes = {} } = orElse<Partial<MachineCounts>>(machinesText, {})
    const machines: MachineCounts = { states: named('state'), tags: named('tag'), outcomes }
    sql.run(
      'repairQueue',
      JSON.stringify(counts),
      orElse<unknown>(keyTerms, null) === null ? null : keyTerms,
      JSON.stringify(orElse<unknown>(activity, [])),
      JSON.stringify(machines),
      queue,
    )
  }
  return wrong
}

function repairKeyGroups({ sql, queues, keyGroups }: JobFile): void {
  const leasedCounts = Map.groupBy(sql.all('jobsByKey'), ([queue]) => queue)
  const groups = Map.groupBy(sql.all('keyGroupNames'), ([queue]) => queue)
  for (const queue of queues.all()) {
    const wanted = new Map((leasedCounts.get(queue.number) ?? []).map(([, key, leased]) => [key, leased]))
    if (queue.clock !== null) wanted.set(keyless, 0)
    const others = (groups.get(queue.number) ?? []).flatMap(([, key]) => (wanted.has(key) ? [] : [key]))
    for (const key of others) sql.run('removeKeyGroup', queue.number, key)
    for (const [key, leasedCount] of wanted) keyGroups.rebuild(queue, key, leasedCount)
  }
}
