/** Jobs that other jobs have invoked: what their parents hear of them, and who they are. */
import type { ErrorRecord } from '../../job/failure.ts'
import type { CheckIn } from '../../job/job.ts'
import { isEnded } from '../../job/lifecycle.ts'
import type { Letter } from '../../job/machine.ts'
import type { Json } from '../../job/payload.ts'
import type { Move } from '../../store.ts'
import type { Books } from './books.ts'
import { isFull, post } from './letters.ts'
import { machineOf } from './machine.ts'
import { unpacked, type CancelMark, type Row } from './row.ts'

/** Does any job have a parent? Most files know of none, and then nobody is asked for its children. */
export const hasFamilies = ({ sql }: Books): boolean => sql.get('anyChild') !== undefined

/** The live children of a job, in the order in which they are to be cancelled. */
export const childrenOf = ({ sql }: Books, { id }: Row): string[] => sql.all('childrenOf', id).map(([child]) => child)

/** Tells the parent of a job that has just ended; the WAKE of the parent, if it was waiting. */
export function tellEnd(books: Books, row: Row): Move | null {
  if (row.spared === null || !isEnded(row.state)) return null
  const parent = parentOf(books, machineOf(books, row).parent)
  return parent === null ? null : post(books, parent, machineOf(books, parent), endOf(row))
}

function endOf({ id, state, output, error, cancel }: Row): Letter {
  const ended = { kind: 'ended', child: id } as const
  if (state === 'done') return { ...ended, state, ...(output !== null && { output: JSON.parse(output) as Json }) }
  if (state === 'dead') return { ...ended, state, ...(error !== null && { error: JSON.parse(error) as ErrorRecord }) }
  const reason = unpacked<CancelMark | null>(cancel, null)?.reason ?? null
  return { ...ended, state: 'cancelled', ...(reason !== null && { reason }) }
}

/** Tells the parent of a check-in, if it wants to hear of them and is not swamped. */
export function tellCheckin(books: Books, row: Row, checkin: CheckIn | undefined): Move | null {
  if (row.spared === null || checkin === undefined) return null
  const { parent: id, checkins } = machineOf(books, row)
  const parent = checkins ? parentOf(books, id) : null
  if (parent === null) return null
  const machine = machineOf(books, parent)
  if (isFull(machine)) return null
  return post(books, parent, machine, { kind: 'checkin', child: row.id, value: checkin.value })
}

/** The job of that id, if it is there to hear. */
function parentOf(books: Books, id: string | null): Row | null {
  const parent = id === null ? undefined : books.rows.of(id)
  return parent === undefined || isEnded(parent.state) ? null : parent
}
