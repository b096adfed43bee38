/** What a job with a machine, or with a parent, is beyond a plain one: its checkpoints and its letters. */
import { caps } from '../../job/caps.ts'
import type { CheckpointEntry, Letter, Mail, NewCheckpoint, Parent } from '../../job/machine.ts'
import type { CheckpointAnswer, CheckpointRequest, Move, SendAnswer, SendRequest } from '../../store.ts'
import type { Books } from './books.ts'
import { checkpointEntry, mailOf, moveOf } from './records.ts'
import { keep, type Row } from './row.ts'

/** Hangs on the row of such a job as soon as there is something to keep. */
export class Machine {
  readonly parent: Parent | null
  /** The last of them is where the machine stands. */
  checkpoints: CheckpointEntry[] = []
  takesCancel = false
  inbox: Mail[] = []
  /** The number of the last letter. */
  letters = 0
  /** Of the letters sent last. */
  keys: string[] = []
  /** Attempts of this generation that led to a checkpoint: they do not count. */
  spared = 0
  /** What the last settlement woke, for whoever settles again. */
  woken: Move | null = null

  constructor(parent: Parent | null) {
    this.parent = parent
  }

  get current(): CheckpointEntry | undefined {
    return this.checkpoints.at(-1)
  }

  /** The letters after the one of this number. */
  mailAfter(number: number): Mail[] {
    return this.inbox.filter((mail) => mail.number > number).map(mailOf)
  }

  /** Forgets where it stood, and what it was told. Letters are numbered on, so that no number comes twice. */
  startOver(): void {
    this.checkpoints = []
    this.takesCancel = false
    this.inbox = []
  }
}

export const machineOf = (row: Row): Machine => (row.machine ??= new Machine(null))

export function checkpoint(books: Books, { id, checkpoint: at, ...speaker }: CheckpointRequest, now: number) {
  const row = books.inHand(id)
  return row === undefined || row.heldBy(speaker) === null ? lost : kept(row, rest(books, row, at, now))
}

const lost: CheckpointAnswer = { outcome: 'lost', seq: 0, at: 0, maxAttempts: 0, inbox: [] }

function kept(row: Row, { seq, at }: CheckpointEntry): CheckpointAnswer {
  const { maxAttempts, mark } = row
  const inbox = machineOf(row).mailAfter(0)
  if (mark === null) return { outcome: 'kept', seq, at, maxAttempts, inbox }
  return { outcome: 'cancelling', seq, at, maxAttempts, inbox, ...mark }
}

/** Writes a checkpoint of a held row, unless it has been written already. */
export function rest(books: Books, row: Row, next: NewCheckpoint, now: number): CheckpointEntry {
  const machine = machineOf(row)
  if (machine.current?.number === next.number) return machine.current
  mustFollow(row, next)
  const { number, state, read, note } = next
  const entry = { number, state, seq: books.rest(row, note, now), at: now, note }
  keep(machine.checkpoints, [entry], caps.checkpoints)
  machine.takesCancel = next.takesCancel
  machine.inbox = machine.inbox.filter((mail) => mail.number > read)
  machine.spared = row.attempt - 1
  return entry
}

/** @throws TypeError if a checkpoint is neither the current one nor the next */
export function mustFollow(row: Row, { number }: NewCheckpoint): void {
  const current = row.machine?.current?.number ?? 0
  if (number === current + 1 || (number === current && current > 0)) return
  throw new TypeError(`job ${row.id}: checkpoint ${number} does not follow on ${current}`)
}

/** Starts a new row from the checkpoint of another job. */
export function fork(row: Row, state: CheckpointEntry['state']): void {
  keep(machineOf(row).checkpoints, [{ number: 1, state, seq: row.seq, at: row.came.at, note: 'fork' }], 1)
}

export function send(books: Books, request: SendRequest, now: number): SendAnswer {
  const row = books.rows.get(request.id)
  if (row === undefined) return { outcome: 'notFound', state: null }
  const refused = refusal(row, request)
  if (refused !== null) return { outcome: refused, state: row.phase.name }
  keep(machineOf(row).keys, [request.key], caps.letterKeys)
  const move = post(books, row, request.letter, now)
  return { outcome: 'kept', state: row.phase.name, ...(move !== null && { move }) }
}

function refusal({ phase, machine }: Row, { key, expect }: SendRequest): SendAnswer['outcome'] | null {
  if (machine?.keys.includes(key) === true) return 'duplicate'
  if (phase.ended) return 'ended'
  const number = machine?.current?.number ?? 0
  if (expect !== null && (expect.checkpoint !== number || expect.mail !== (machine?.letters ?? 0))) return 'changed'
  return machine !== null && machine.inbox.length >= caps.inbox ? 'full' : null
}

/** Puts a letter into the inbox of a live row, and wakes it if it waits. */
export function post(books: Books, row: Row, letter: Letter, now: number): Move | null {
  const machine = machineOf(row)
  machine.inbox.push({ number: ++machine.letters, at: now, letter })
  if (row.phase.held) books.hints.mail(row.id)
  return wake(books, row, now)
}

/** Wakes a row that waits while there are letters for it. */
export function wake(books: Books, row: Row, now: number): Move | null {
  if (row.phase.whenDue !== 'WAKE' || row.machine === null || row.machine.inbox.length === 0) return null
  books.move(row, 'WAKE', now)
  return moveOf(row)
}

export const checkpointsOf = (row: Row | undefined): CheckpointEntry[] =>
  row?.machine?.checkpoints.map(checkpointEntry) ?? []
