/**
 * What must hold between jobs and what is kept of them elsewhere: machines, checkpoints, messages, steps, and their
 * entries in the log.
 */
import type { DatabaseSync } from 'node:sqlite'
import { caps } from '../../../src/core/caps.ts'
import type { HistoryEntry } from '../../../src/core/record.ts'
import { MachineTally } from '../../../src/core/machine-tally.ts'
import type { MachineCounts } from '../../../src/core/figures.ts'
import { statesTagged } from '../../../src/core/lifecycle.ts'
import type { StoredJob } from './stored-job.ts'

const leased = statesTagged('leased')
const ended = statesTagged('ended')

/**
 * Tells what is wrong.
 * @param checkpoints the entries of the log, by the ids of jobs; those before `oldest` are gone
 */
export function checkMachines(
  db: DatabaseSync,
  rows: readonly StoredJob[],
  checkpoints: ReadonlyMap<string, readonly HistoryEntry[]>,
  oldest: number,
  say: (complaint: string) => void,
): void {
  const machines = new Map(
    db
      .prepare('SELECT * FROM machines')
      .all()
      .map((machine) => [Number(machine['job']), machine]),
  )
  const known = new Set(rows.map(({ seq }) => seq))
  for (const { job } of db.prepare('SELECT DISTINCT job FROM steps').all()) {
    if (!known.has(Number(job))) say(`steps of job ${String(job)} are kept, and the job is gone`)
  }
  for (const { job } of db.prepare('SELECT DISTINCT job FROM machine_names').all()) {
    if (!known.has(Number(job))) say(`the names of the states of job ${String(job)} are kept, and the job is gone`)
  }
  checkCounts(db, rows, machines, say)
  for (const row of rows) {
    const machine = machines.get(row.seq)
    const tell = (complaint: string): void => say(`job ${row.id}: ${complaint}`)
    if ((machine !== undefined) !== (row.checkpointed !== null))
      tell('its row and the machines do not agree that it has one')
    if (
      row.checkpointed !== null &&
      (row.checkpointed < 0 || row.checkpointed > row.attempt - Number(leased.has(row.state)))
    ) {
      tell(`${row.checkpointed} of ${row.attempt} attempts led to a checkpoint`)
    }
    if (machine === undefined) continue
    checkWay(db, row, machine, checkpoints.get(row.id) ?? [], oldest, tell)
    checkInbox(db, row, machine, tell)
    checkNames(db, row, machine, tell)
  }
}

/** Jobs that have not ended are counted by where they stand. */
function checkCounts(
  db: DatabaseSync,
  rows: readonly StoredJob[],
  machines: ReadonlyMap<number, Values>,
  say: (complaint: string) => void,
): void {
  const expected = new Map<string, number>()
  for (const { seq, queue, state } of rows) {
    if (ended.has(state)) continue
    for (const name of namesOf(machines.get(seq))) {
      const key = `${queue} ${name}`
      expected.set(key, (expected.get(key) ?? 0) + 1)
    }
  }
  for (const { queue, machines: text } of db.prepare('SELECT queue, machines FROM queues').all()) {
    for (const [kind, name, count] of new MachineTally(JSON.parse(String(text)) as Partial<MachineCounts>).entries()) {
      // Ends of machines are counted for ever.
      if (kind === 'outcome') continue
      const key = `${String(queue)} ${kind} ${name}`
      const jobs = expected.get(key) ?? 0
      expected.delete(key)
      if (count !== jobs) say(`queue ${key}: ${jobs} jobs, counted ${count}`)
    }
  }
  for (const [key, jobs] of expected) say(`queue ${key}: ${jobs} jobs, not counted`)
}

/** The states and tags of a machine, each with its kind. */
function namesOf(machine: Values | undefined): string[] {
  const standing = machine?.['standing']
  const { states = [], tags = [] } = JSON.parse(typeof standing === 'string' ? standing : '{}') as Record<
    string,
    string[]
  >
  return [...states.map((name) => `state ${name}`), ...tags.map((name) => `tag ${name}`)].toSorted()
}

/** It is found by where it stands, and by nothing else. */
function checkNames(db: DatabaseSync, row: StoredJob, machine: Values, tell: (complaint: string) => void): void {
  const found = db.prepare('SELECT kind, name FROM machine_names WHERE job = ? ORDER BY kind, name').all(row.seq)
  const expected = namesOf(machine)
  const names = found.map(({ kind, name }) => `${String(kind)} ${String(name)}`)
  if (names.join() !== expected.join()) tell(`it stands at ${expected.join()}, and is found by ${names.join()}`)
}

type Values = Readonly<Record<string, unknown>>

/** The last of its checkpoints is where it stands; none is missing, and each is in the log. */
function checkWay(
  db: DatabaseSync,
  row: StoredJob,
  machine: Values,
  logged: readonly HistoryEntry[],
  oldest: number,
  tell: (complaint: string) => void,
): void {
  const way = db.prepare('SELECT * FROM checkpoints WHERE job = ? ORDER BY number').all(row.seq)
  const { number, checkpoint, takes_cancel: takesCancel } = machine
  const last = way.at(-1)
  if ((last?.['number'] ?? 0) !== number || (last?.['seq'] ?? null) !== checkpoint) {
    tell(`it stands at checkpoint ${String(number)} (${String(checkpoint)}), not at the last it has come to`)
  }
  if (way.length !== Math.min(Number(number), caps.checkpoints)) tell(`${way.length} checkpoints of ${String(number)}`)
  if (takesCancel === 1 && last === undefined) tell('it takes a cancel nowhere')
  for (const [i, entry] of way.entries()) {
    const before = way[i - 1]
    const seq = Number(entry['seq'])
    if (
      before !== undefined &&
      (Number(before['number']) !== Number(entry['number']) - 1 || Number(before['seq']) >= seq)
    ) {
      tell(`checkpoint ${String(entry['number'])} follows ${String(before['number'])}`)
    }
    const isFork =
      seq === row.seq && entry['number'] === 1 && entry['note'] === 'fork' && entry['at'] === row.enqueuedAt
    const isLogged = logged.some((each) => each.seq === seq && each.at === entry['at'] && each.reason === entry['note'])
    if (!isFork && !isLogged && seq >= oldest) tell(`checkpoint ${String(entry['number'])} is not in the log`)
  }
}

/** Its messages are those from the first it has not read to the last it was sent; with any it does not wait. */
function checkInbox(db: DatabaseSync, row: StoredJob, machine: Values, tell: (complaint: string) => void): void {
  const { last_message: messages, last_read: read, keys } = machine
  const numbers = db.prepare('SELECT number FROM messages WHERE job = ? ORDER BY number').all(row.seq)
  const expected = Array.from({ length: Number(messages) - Number(read) }, (_, i) => Number(read) + 1 + i)
  if (JSON.stringify(numbers.map(({ number }) => number)) !== JSON.stringify(expected)) {
    tell(`${numbers.length} messages, with ${String(read)} of ${String(messages)} read`)
  }
  if (row.state === 'waiting' && numbers.length > 0) tell('it waits, with messages that it has not read')
  const known = typeof keys === 'string' ? (JSON.parse(keys) as string[]) : []
  if (known.length > caps.messageKeys || new Set(known).size < known.length) tell(`keys ${known.join()}`)
}
