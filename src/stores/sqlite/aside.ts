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
import { recordOf } from './fields.ts'
import { settledOf } from './history.ts'
import { Row, unpacked } from './row.ts'
import { unpackedSteps } from './steps.ts'
import { forgetTags } from './tags.ts'
import type { FileUnit } from './unit.ts'

/** What a read makes; null if a text that is stored is no JSON, or something is missing. */
function unlessUnreadable<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (isUnreadable(error)) return null
    throw error
  }
}

const isState = (state: string): state is JobState => (jobStates as readonly string[]).includes(state)

/** The row of a job, whose type need not be known. */
export const rowFrom = (unit: FileUnit, values: RowValues): Row => new Row(values, '', unit.machines)

/** Can all be read that is stored of a job? */
export function isReadable(unit: FileUnit, row: Row): boolean {
  const read = unlessUnreadable(() => {
    recordOf(row, unit.machines.fieldsOf(row))
    settledOf(row)
    unpacked(row.options, {})
    unpackedSteps(unit.sql.all('stepsOf', row.seq))
    unit.machines.checkpoints(row)
    return true
  })
  return read === true && isState(row.state) && unit.sql.get('queueAt', row.queue) !== undefined
}

/**
 * Sets those of some jobs aside that cannot be read.
 * @param numbers those of their enqueues
 * @returns their ids
 */
export function setAside(unit: FileUnit, numbers: readonly number[]): string[] {
  unit.rows.write()
  return [...new Set(numbers)].flatMap((number) => {
    const values = unit.sql.get('bySeq', number)
    const row = values && rowFrom(unit, values)
    if (row === undefined || isReadable(unit, row)) return []
    const failure = unit.sql.get('failureOf', number)?.[0] ?? null
    move(unit, row)
    if (unit.sql.get('queueAt', row.queue) !== undefined) leave(unit, row, failure)
    return [row.id]
  })
}

/** Moves a row out of the table of jobs, and with that out of its indexes. */
export function move(unit: FileUnit, { seq, id }: Row): void {
  unit.sql.run('setAside', seq)
  unit.sql.run('remove', JSON.stringify([seq]))
  unit.rows.removed(id)
}

/** Takes a job out of what is counted of its queue, and lets those go on that wait for it. */
function leave(unit: FileUnit, row: Row, failure: string | null): void {
  const { queues, hints, keyGroups, failures, prunes } = unit
  const { state, finishedAt } = row
  const queue = queues.at(row.queue)
  if (isState(state)) {
    queues.count(queue, state, -1)
    if (queue.hasKeyGroup(row.concurrencyKey)) keyGroups.moved(queue, row, state, null)
    failures.countDead({ queue: row.queue, state, failure, finishedAt }, -1)
    if (isEnded(state)) prunes.changed(queue.number)
    else if (row.checkpointed !== null) queues.countMachine(queue, standingOf(unit, row), -1)
    if (isLeased(state)) hints.look(queue)
  }
  const isLast = !isEnded(state) && row.key !== null && !unit.hasPredecessor(queue.type, row.key)
  const next = isLast ? unit.successor(row) : null
  if (next !== null) unit.setDue(next.row, next.dueAt)
}

const nowhere: MachineStanding = { states: [], tags: [] }

function standingOf({ sql }: FileUnit, { seq }: Row): MachineStanding {
  const standing = sql.get('machine', seq)?.[12] ?? null
  return unlessUnreadable(() => unpacked(standing, nowhere)) ?? nowhere
}

export const unreadable = ({ sql }: FileUnit): string[] => sql.all('unreadable').map(([id]) => id)

/** An answer to a removal of jobs by their ids: those among them that were set aside are removed, too. */
export function discardAside(unit: FileUnit, answer: DiscardAnswer): DiscardAnswer {
  if (answer.notFound.length === 0) return answer
  const found = unit.sql.all('aside', JSON.stringify(answer.notFound))
  if (found.length === 0) return answer
  const numbers = JSON.stringify(found.map(([seq]) => seq))
  unit.sql.run('removeAside', numbers)
  unit.sql.run('removeSteps', numbers)
  unit.machines.remove(numbers)
  for (const [seq, , tags] of found) unlessUnreadable(() => forgetTags(unit.sql, { seq, tags }))
  const gone = new Set(found.map(([, id]) => id))
  return {
    ...answer,
    discarded: [...answer.discarded, ...gone],
    notFound: answer.notFound.filter((id) => !gone.has(id)),
  }
}
