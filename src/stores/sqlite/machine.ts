/**
 * Checkpoints: where machines stand. A job has a row in `machines` as soon as there is something to say there; its own row
 * tells so (`spared` is not null), and costs nothing where there is not.
 */
import { caps } from '../../job/caps.ts'
import type { CheckpointEntry, NewCheckpoint } from '../../job/machine.ts'
import type { Json } from '../../job/payload.ts'
import type { CheckpointAnswer, CheckpointRequest } from '../../store.ts'
import type { Books } from './books.ts'
import { Contradiction } from './errors.ts'
import type { PackedJob } from './insert.ts'
import { mailOf, type Kept, type PackedMail } from './kept.ts'
import { toldOf, type Row } from './row.ts'

/** The columns of `machines`. */
export interface Machine {
  /** The number of the checkpoint it stands at, and its seq: 0 and null before the first. */
  number: number
  checkpoint: number | null
  takesCancel: boolean
  /** The numbers of the last letter that came, and of the last that left the inbox. */
  letters: number
  read: number
  readonly parent: string | null
  readonly checkins: boolean
  /** The keys of the letters sent last, as JSON. */
  keys: string | null
}

export type MachineValues = [
  number: number,
  checkpoint: number | null,
  takesCancel: number,
  letters: number,
  read: number,
  parent: string | null,
  checkins: number,
  keys: string | null,
]

/** What the file says of a job's machine; if it says nothing, what there is to begin with. */
export function machineOf(books: Books, row: Row): Machine {
  const values = books.sql.get('machine', row.seq)
  if (values === undefined) return newMachine(null)
  const [number, checkpoint, takesCancel, letters, read, parent, checkins, keys] = values
  return {
    number,
    checkpoint,
    takesCancel: takesCancel === 1,
    letters,
    read,
    parent,
    checkins: checkins === 1,
    keys,
  }
}

const newMachine = (parent: PackedJob['parent']): Machine => ({
  number: 0,
  checkpoint: null,
  takesCancel: false,
  letters: 0,
  read: 0,
  parent: parent?.id ?? null,
  checkins: parent?.checkins ?? false,
  keys: null,
})

export function writeMachine({ sql }: Books, seq: number, machine: Machine): void {
  const { number, checkpoint, takesCancel, letters, read, parent, checkins, keys } = machine
  sql.run('writeMachine', seq, number, checkpoint, takesCancel ? 1 : 0, letters, read, parent, checkins ? 1 : 0, keys)
}

/** Notes in a job's own row that there is more, and how many of its attempts do not count. */
export function spare(books: Books, row: Row, attempts: number): void {
  if (row.spared === attempts) return
  row.spared = attempts
  books.sql.run('spare', attempts, row.seq)
}

/** What is to be kept of a new job besides its row. */
export function enterMachine(books: Books, seq: number, { parent, checkpoint }: PackedJob): void {
  const machine = newMachine(parent)
  if (checkpoint !== null) {
    machine.number = 1
    machine.checkpoint = seq
    books.sql.run('addCheckpoint', seq, seq, 1, books.now, 'fork', checkpoint)
  }
  writeMachine(books, seq, machine)
  books.sql.run('spare', 0, seq)
}

/** Removes all that is kept of jobs besides their rows. @param numbers those of the jobs, as JSON */
export function removeMachines({ sql }: Books, numbers: string): void {
  sql.run('removeMachines', numbers)
  sql.run('removeWays', numbers)
  sql.run('removeInboxes', numbers)
}

/** Forgets where a machine stood and what it was told. Its letters are numbered on, so that no number comes twice. */
export function startOver(books: Books, row: Row): void {
  if (row.spared === null) return
  const machine = machineOf(books, row)
  books.sql.run('removeCheckpoints', row.seq, machine.number)
  books.sql.run('removeLetters', row.seq, machine.letters)
  writeMachine(books, row.seq, {
    ...machine,
    number: 0,
    checkpoint: null,
    takesCancel: false,
    read: machine.letters,
  })
}

export function checkpoint(books: Books, { id, checkpoint: next, ...speaker }: CheckpointRequest): CheckpointAnswer {
  const row = books.rows.of(id)
  if (row?.isHeldBy(speaker) !== true) return { outcome: 'lost', seq: 0, at: 0, maxAttempts: 0, inbox: [] }
  const machine = rest(books, row, next)
  const [, at] = currentOf(books, row, machine)
  const inbox = mailOf(inboxOf(books, row, machine))
  const told = { seq: machine.checkpoint ?? 0, at, maxAttempts: row.maxAttempts, inbox }
  const mark = toldOf(row)
  return mark === null ? { outcome: 'kept', ...told } : { outcome: 'cancelling', ...told, ...mark }
}

/** Writes a checkpoint of a held job, unless it has been written already. @throws TypeError if it is neither the current nor the next */
export function rest(books: Books, row: Row, next: NewCheckpoint): Machine {
  const { sql } = books
  const machine = machineOf(books, row)
  const { number, state, note } = next
  if (number === machine.number && machine.checkpoint !== null) return machine
  if (number !== machine.number + 1) {
    throw new TypeError(`job ${row.id}: checkpoint ${number} does not follow on ${machine.number}`)
  }
  machine.number = number
  machine.checkpoint = books.rest(row, note)
  machine.takesCancel = next.takesCancel
  const read = Math.min(next.read, machine.letters)
  if (read > machine.read) sql.run('removeLetters', row.seq, (machine.read = read))
  sql.run('addCheckpoint', machine.checkpoint, row.seq, number, books.now, note, JSON.stringify(state))
  if (number > caps.checkpoints) sql.run('removeCheckpoints', row.seq, number - caps.checkpoints)
  writeMachine(books, row.seq, machine)
  spare(books, row, row.attempt - 1)
  return machine
}

function currentOf(books: Books, row: Row, { checkpoint }: Machine): [state: string, at: number] {
  const found = checkpoint === null ? undefined : books.sql.get('checkpointAt', checkpoint)
  if (found === undefined) throw new Contradiction(`the file has no checkpoint ${checkpoint} of job ${row.id}`)
  return found
}

/** The letters after one, by default all that have not been read. */
export const inboxOf = ({ sql }: Books, row: Row, { letters, read }: Machine, after = read): PackedMail[] =>
  letters > after ? sql.all('lettersAfter', row.seq, after) : []

export function keptOf(books: Books, row: Row): Kept | null {
  if (row.spared === null) return null
  const machine = machineOf(books, row)
  const { number, checkpoint, letters, parent, checkins } = machine
  return {
    checkpoint: checkpoint === null ? null : [number, currentOf(books, row, machine)[0]],
    inbox: inboxOf(books, row, machine),
    letters,
    parent: parent === null ? null : { id: parent, checkins },
  }
}

export function checkpoints(books: Books, id: string): CheckpointEntry[] {
  const row = books.rows.of(id)
  if (row === undefined || row.spared === null) return []
  return books.sql.all('checkpointsOf', row.seq).map(([number, state, seq, at, note]) => {
    return { number, state: JSON.parse(state) as Json, seq, at, note }
  })
}
