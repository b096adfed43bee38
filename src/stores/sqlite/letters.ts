/** Letters: what is put into the inboxes of jobs, and how other processes hear of it. */
import { caps } from '../../job/caps.ts'
import { isEnded, isHeld, arrows } from '../../job/lifecycle.ts'
import type { Letter } from '../../job/machine.ts'
import type { Move, SendAnswer, SendRequest } from '../../store.ts'
import type { Books } from './books.ts'
import type { Hints } from './hints.ts'
import { machineOf, spare, writeMachine, type Machine } from './machine.ts'
import { extended, unpacked, type Row } from './row.ts'
import type { Statements } from './statements.ts'

const waiting = new Set(Object.keys(arrows('WAKE')))

export function send(books: Books, { id, letter, key, expect }: SendRequest): SendAnswer {
  const row = books.rows.of(id)
  if (row === undefined) return { outcome: 'notFound', state: null }
  const machine = machineOf(books, row)
  const refused = refusal(row, machine, { key, expect })
  if (refused !== null) return { outcome: refused, state: row.state }
  machine.keys = extended(machine.keys, [key], caps.letterKeys)
  const move = post(books, row, machine, letter)
  return { outcome: 'kept', state: row.state, ...(move !== null && { move }) }
}

function refusal(row: Row, machine: Machine, { key, expect }: Pick<SendRequest, 'key' | 'expect'>) {
  if (unpacked<string[]>(machine.keys, []).includes(key)) return 'duplicate'
  if (isEnded(row.state)) return 'ended'
  if (expect !== null && (expect.checkpoint !== machine.number || expect.mail !== machine.letters)) return 'changed'
  return isFull(machine) ? 'full' : null
}

/** Letters are read in the order of their numbers, which have no gaps. */
export const isFull = ({ letters, read }: Machine): boolean => letters - read >= caps.inbox

/** Puts a letter into the inbox of a live job, and wakes the job if it waits. */
export function post(books: Books, row: Row, machine: Machine, letter: Letter): Move | null {
  machine.letters++
  books.sql.run('addLetter', row.seq, machine.letters, books.now, JSON.stringify(letter))
  writeMachine(books, row.seq, machine)
  spare(books, row, row.spared ?? 0)
  books.mail.posted()
  if (isHeld(row.state)) books.hints.mailed(row.id)
  return wake(books, row, machine)
}

/** Wakes a job that waits while there are letters for it. */
export function wake(books: Books, row: Row, { letters, read }: Machine): Move | null {
  return waiting.has(row.state) && letters > read ? books.told(row, books.move(row, 'WAKE')) : null
}

/** Which letters this process knows of: of others to running jobs it tells. */
export class Mail {
  private readonly sql: Statements
  private readonly hints: Hints
  /** The place of the last letter that it knows of; null = of none. */
  private seen: number | null = null
  private wrote = false

  constructor(sql: Statements, hints: Hints) {
    this.sql = sql
    this.hints = hints
  }

  posted(): void {
    this.wrote = true
  }

  /** Another process has written: has it put letters into the inboxes of running jobs? */
  catchUp(): void {
    if (this.seen === null) {
      for (const [id] of this.sql.all('heldWithLetters')) this.hints.mailed(id)
      this.seen = this.last()
      return
    }
    for (const [place, id] of this.sql.all('lettersSince', this.seen)) {
      if (id !== null) this.hints.mailed(id)
      this.seen = place
    }
  }

  /** At the end of a transaction: its own letters are no news. */
  finish(): void {
    if (this.wrote && this.seen !== null) this.seen = this.last()
    this.wrote = false
  }

  /** What is known has been rolled back. */
  forget(): void {
    this.seen = null
    this.wrote = false
  }

  private last(): number {
    return this.sql.get('lastLetter')?.[0] ?? 0
  }
}
