/** Jobs that other jobs have invoked: what their parents hear of them, and who they are. */
import { caps } from '../../job/caps.ts'
import type { Letter } from '../../job/machine.ts'
import type { Json } from '../../job/payload.ts'
import type { Move, NewJob } from '../../store.ts'
import type { Books } from './books.ts'
import { Machine, post } from './machine.ts'
import type { Row } from './row.ts'

/** Enters a new row as a child of its parent, which need not be there. */
export function adopt(books: Books, row: Row, parent: NonNullable<NewJob['parent']>): void {
  row.machine = new Machine(parent)
  const siblings = books.children.get(parent.id)
  if (siblings === undefined) books.children.set(parent.id, new Set([row]))
  else siblings.add(row)
}

/** The live children of a row, in the order in which they are to be cancelled. */
export function liveChildren(books: Books, row: Row): Row[] {
  const children = [...(books.children.get(row.id) ?? [])].filter((child) => !child.phase.ended)
  return children.toSorted((a, b) => b.priority - a.priority || a.seq - b.seq)
}

/** Tells the parent of a row that has just ended; the WAKE of the parent, if it was waiting. */
export function tellEnd(books: Books, row: Row, now: number): Move | null {
  if (row.machine === null || !row.phase.ended) return null
  const parent = parentOf(books, row)
  return parent === null ? null : post(books, parent, endOf(row), now)
}

function endOf({ id, phase, run, past }: Row): Letter {
  const kind = 'ended'
  if (phase.name === 'done') {
    const output = run?.output
    return { kind, child: id, state: 'done', ...(output !== undefined && { output }) }
  }
  if (phase.name === 'dead') {
    const error = past?.error ?? null
    return { kind, child: id, state: 'dead', ...(error !== null && { error }) }
  }
  const reason = past?.cancel?.reason ?? null
  return { kind, child: id, state: 'cancelled', ...(reason !== null && { reason }) }
}

/** Tells the parent of a check-in, if it wants to hear of them and is not swamped. */
export function tellCheckin(books: Books, row: Row, value: Json, now: number): Move | null {
  if (row.machine?.parent?.checkins !== true) return null
  const parent = parentOf(books, row)
  if (parent === null || (parent.machine?.inbox.length ?? 0) >= caps.inbox) return null
  return post(books, parent, { kind: 'checkin', child: row.id, value }, now)
}

function parentOf(books: Books, { machine }: Row): Row | null {
  const id = machine?.parent?.id
  const parent = id === undefined ? undefined : books.rows.get(id)
  return parent === undefined || parent.phase.ended ? null : parent
}
