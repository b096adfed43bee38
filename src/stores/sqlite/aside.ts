/**
 * Jobs that cannot be read, because something else has changed the file. Their rows are moved to a table of their own,
 * so that nothing finds them but their ids, and no other job is held up; what is kept beside their rows stays where it
 * is.
 */
import { isEnded, isLeased, jobStates, type JobState } from '../../core/lifecycle.ts'
import type { MachineStanding } from '../../core/machine-tally.ts'
import type { DiscardAnswer } from '../../store.ts'
import type { RowValues } from './columns.ts'
import { isUnreadable } from './errors.ts'
import type { JobFile } from './job-file.ts'
import { noNames } from './machines.ts'
import { Queue } from './queue.ts'
import { recordOf } from './record.ts'
import { rowOf, type Row } from './row.ts'
import { claimable, claimed } from './state-names.ts'

/** What a read makes; null if a text that is stored is no JSON, or something is missing. */
export function unlessUnreadable<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (isUnreadable(error)) return null
    throw error
  }
}

const isState = (state: string): state is JobState => (jobStates as readonly string[]).includes(state)

const unknownType = ''

/** The row of a job, whose type need not be known; null if what it is made of cannot be read. */
const rowFrom = ({ claims, machines }: JobFile, values: RowValues): Row | null =>
  unlessUnreadable(() => rowOf(values, new Queue(values[2], unknownType), machines.of, claims.of(values[0])))

const hasQueue = ({ sql }: JobFile, queue: number): boolean => sql.get('queueAt', queue) !== undefined

/**
 * Can all be read that is stored of a job?
 * @param isQueue is its queue there? Absent: the file is asked
 * @returns its row; null if not
 */
export function readable(
  file: JobFile,
  values: RowValues,
  isQueue = (queue: number): boolean => hasQueue(file, queue),
): Row | null {
  if (values[12] !== null && !isState(values[12])) return null
  const row = rowFrom(file, values)
  if (row === null || !isQueue(values[2])) return null
  return unlessUnreadable(() => {
    recordOf(row, file.machines.keptOf(row))
    void row.settled
    for (const [, result] of file.machines.stepsOf(row)) JSON.parse(result)
    if (row.isMachine) file.machines.checkpoints(row)
    return row
  })
}

/**
 * Sets those of some jobs aside that cannot be read.
 * @param numbers those of their enqueues
 * @returns their ids
 */
export function setAside(file: JobFile, numbers: readonly number[]): string[] {
  file.flush()
  return [...new Set(numbers)].flatMap((number) => {
    const values = file.sql.get('bySeq', number)
    if (values === undefined || readable(file, values) !== null) return []
    const isLeased = file.claims.of(number) !== undefined
    move(file, values)
    if (hasQueue(file, values[2])) leave(file, values, isLeased)
    return [values[1]]
  })
}

/** Moves a job out of the tables, and out of all by which it is found: its rows may say wrongly where that is. */
export function move({ sql, cache, claims, ends }: JobFile, [seq, id]: RowValues): void {
  const numbers = JSON.stringify([seq])
  sql.run('jobAside', seq)
  sql.run('lifeAside', seq)
  sql.run('removeJobs', numbers)
  sql.run('removeLives', numbers)
  sql.run('forgetWaiting', seq)
  sql.run('forgetListed', seq)
  claims.end(seq)
  ends.forgetJob(seq)
  cache.delete(id)
}

/** Takes a job out of what is counted of its queue, and lets those go on that wait for it. */
function leave(file: JobFile, values: RowValues, isClaimed: boolean): void {
  const { queues, hints, keyGroups, failures, retention, rows, unit } = file
  const queue = queues.at(values[2])
  const [written, failure, key] = [values[12] ?? claimable, values[33], values[7]]
  const state = written === claimable && isClaimed ? claimed : written
  if (isState(state)) {
    queues.count(queue, state, -1)
    const place = values[13] ?? values[0]
    const job = { concurrencyKey: values[8], priority: values[3], place, keyWeight: 1 }
    if (queue.hasKeyGroup(job.concurrencyKey)) keyGroups.moved(queue, job, { state, place }, null)
    if (state === 'dead' && failure !== null) failures.countDead(queue.number, failure, values[21] ?? 0, -1)
    if (isEnded(state)) retention.changed(queue.number)
    else if (values[32] !== null) queues.changing(queue).countMachine(standingOf(file, values[0]), -1)
    if (isLeased(state)) hints.look(queue)
  }
  if (isEnded(state) || key === null || rows.hasPredecessor(queue.type, key)) return
  const next = rows.holder(queue.type, key)
  const dueAfter = next?.rarely.dueAfter ?? null
  if (next !== undefined && dueAfter !== null && next.dueAt === null) unit.setDue(next, dueAfter)
}

function standingOf({ sql }: JobFile, seq: number): MachineStanding {
  const standing = sql.get('machine', seq)?.[12] ?? null
  return standing === null ? noNames : (unlessUnreadable(() => JSON.parse(standing) as MachineStanding) ?? noNames)
}

export const unreadable = ({ sql }: JobFile): string[] => sql.all('unreadable').map(([id]) => id)

/** An answer to a removal of jobs by their ids: those among them that were set aside are removed, too. */
export function discardAside(file: JobFile, answer: DiscardAnswer): DiscardAnswer {
  if (answer.notFound.length === 0) return answer
  const found = file.sql.all('aside', JSON.stringify(answer.notFound))
  if (found.length === 0) return answer
  const numbers = JSON.stringify(found.map(([seq]) => seq))
  file.sql.run('addAsideGone', file.seq, numbers)
  file.sql.run('removeMetaAside', numbers)
  file.sql.run('removeJobsAside', numbers)
  file.sql.run('removeLivesAside', numbers)
  file.sql.run('removeSteps', numbers)
  file.machines.remove(numbers)
  for (const [seq, , tags] of found) if (tags !== null) unlessUnreadable(() => file.sql.run('forgetTags', seq, tags))
  const gone = new Set(found.map(([, id]) => id))
  return {
    ...answer,
    discarded: [...answer.discarded, ...gone],
    notFound: answer.notFound.filter((id) => !gone.has(id)),
  }
}
