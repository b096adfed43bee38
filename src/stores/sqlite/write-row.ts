/** Writes what has changed of a row: of most jobs it is one statement. */
import { caps } from '../../core/caps.ts'
import { jsonOf, Packed, type Cell } from '../../core/cell.ts'
import { JobMachine, part, type Additions, type JobRow, type RowChange } from '../../core/job-row.ts'
import type { MachineNameKind } from '../../core/machine-tally.ts'
import { isSame, machineValues, noNames } from './machines.ts'
import type { PlainEnds } from './plain-ends.ts'
import { dueColumn, heldKeyColumn, leftKeyColumn, optionsText, textOrNull, type Row } from './row.ts'
import { settledText } from './settled.ts'
import { claimable } from './state-names.ts'
import type { Statements } from './statements.ts'

/** Parts that are columns of `jobs`; of the tables of machines; the others are columns of `lives`. */
const ofJobs = part.input | part.terms | part.attempts | part.onDead
const ofMachines = part.checkpoint | part.machine
const ofLives = ~(ofJobs | ofMachines)

/** Writes a row, but neither its lease nor its place among those that wait. */
export function writeRow(sql: Statements, plainEnds: PlainEnds, row: Row, was: RowChange): void {
  const { parts, added } = was
  if ((parts & ofJobs) !== 0) writeJob(sql, row)
  if (was.stateIndex < 0 ? needsLife(row) : isOfLife(row, was)) writeLife(sql, plainEnds, row, was)
  if (row.machineCell !== null && (was.stateIndex < 0 || (parts & ofMachines) !== 0)) writeMachine(sql, row, was)
  if (added !== null) writeAdditions(sql, row, added)
  if (row.hasReadMachine) dropRead(sql, row, was)
}

/** Does its enqueue not tell all of a new row? */
export const needsLife = (row: Row): boolean => row.machineCell !== null || row.key !== null || row.state !== claimable

/** Has something changed that is neither in its job nor in its claim? */
function isOfLife(row: Row, was: RowChange): boolean {
  const parts = was.parts & ofLives
  // A message was sent to a plain job.
  if (row.machineCell !== null && row.storedCheckpointed === null) return true
  if (parts === 0) return was.added !== null && was.added.historyUntil !== null
  // What a CLAIM changes, and when the lease ends, its claim tells.
  if (!row.isLeased) return true
  if (parts === part.wakeAt) return false
  return (parts & ~(part.transition | part.wakeAt)) !== 0 || !isClaim(row, was)
}

/** Is a CLAIM all that it has done since it was written? */
const isClaim = ({ last }: JobRow, { state, lastSeq }: RowChange): boolean =>
  state === claimable && last?.arrow.event === 'CLAIM' && (last.before === null || last.before.seq <= lastSeq)

function writeLife(sql: Statements, plainEnds: PlainEnds, row: Row, was: RowChange): void {
  const { seq, queue, state, lastSeq, lastRun: run } = row
  if (row.hasLife && isMove(row, was)) return writeMove(sql, row)
  const claim = row.hasLife ? null : plainClaim(row, was)
  row.hasLife = true
  if (claim !== null) return plainEnds.add(row, claim)
  const { rare } = row
  if (rare !== null) {
    // Values become texts: they may be those of a caller, who may change them.
    rare.error = packed(rare.error)
    rare.errors = packed(rare.errors)
    rare.checkin = packed(rare.checkin)
    rare.logs = packed(rare.logs)
    rare.cancelMark = packed(rare.cancelMark)
  }
  const { error, errors, checkin, logs, cancelMark, dueAfter, failure } = row.rarely
  sql.run(
    'writeLife',
    seq,
    queue.number,
    state,
    row.history,
    lastSeq,
    run.token,
    run.worker,
    row.startedAt,
    row.finishedAt,
    jsonOf(run.output),
    row.place,
    row.attempt,
    row.generation,
    dueColumn(row),
    heldKeyColumn(row),
    leftKeyColumn(row),
    dueAfter,
    textOrNull(error),
    textOrNull(errors),
    textOrNull(checkin),
    textOrNull(logs),
    textOrNull(cancelMark),
    settledText(run.settled),
    (row.storedCheckpointed = checkpointedOf(row)),
    failure,
  )
}

/** What `writeMove` writes, and what is written elsewhere. */
const ofMoves = part.transition | part.wakeAt | part.output | part.settled | ofMachines

/** Has a live job with a row made transitions, and nothing else? */
const isMove = (row: Row, was: RowChange): boolean =>
  (was.parts & ~ofMoves) === 0 &&
  was.stateIndex >= 0 &&
  row.rare === null &&
  row.key === null &&
  was.ended === null &&
  (was.added === null || was.added.historyUntil === null)

function writeMove(sql: Statements, row: Row): void {
  const { seq, state, lastSeq, lastRun: run, place, attempt, generation } = row
  sql.run(
    'writeMove',
    state,
    row.history,
    lastSeq,
    run.token,
    run.worker,
    row.startedAt,
    row.finishedAt,
    jsonOf(run.output),
    place,
    attempt,
    generation,
    dueColumn(row),
    settledText(run.settled),
    (row.storedCheckpointed = checkpointedOf(row)),
    seq,
  )
}

/** The number of the CLAIM of a job that has then completed, and of which there is nothing else to tell; else null. */
function plainClaim(row: Row, { added }: RowChange): number | null {
  const { last, rare, machineCell, key, run } = row
  if (
    last === null ||
    last.arrow.event !== 'COMPLETE' ||
    last.reason !== null ||
    (added !== null && added.historyUntil !== null)
  )
    return null
  const { before } = last
  const isFirst = before !== null && before.arrow.event === 'CLAIM' && before.before === null
  const hasMore = rare !== null || machineCell !== null || key !== null
  return isFirst && !hasMore && row.isEnded && row.state === 'done' && run?.settled === null ? before.seq : null
}

const checkpointedOf = ({ machineCell, storedCheckpointed }: Row): number | null =>
  machineCell instanceof JobMachine ? machineCell.checkpointedAttempts : storedCheckpointed

function writeJob(sql: Statements, row: Row): void {
  const { terms, seq } = row
  row.input = packed(row.input)
  const [tags, meta] = [textOrNull(terms.tags), textOrNull(terms.meta)]
  sql.run('writeJob', terms.attempts, jsonOf(row.input), tags, meta, optionsText(row), seq)
  if (meta !== row.storedMeta) {
    if (row.storedMeta !== null) sql.run('forgetMeta', seq, row.storedMeta)
    if (meta !== null) sql.run('addMeta', seq, meta)
    row.storedMeta = meta
  }
  if (tags === row.storedTags) return
  if (row.storedTags !== null) sql.run('forgetTags', seq, row.storedTags)
  if (tags !== null) sql.run('addTags', seq, tags)
  row.storedTags = tags
}

function packed<T>(cell: Cell<T>): Cell<T> {
  if (cell instanceof Packed || cell === null || cell === undefined) return cell
  if (Array.isArray(cell) && cell.length === 0) return cell
  return new Packed<T>(jsonOf(cell) as string)
}

// ── machines ───────────────────────────────────────────────────────────────────────────────────────────────────────

function writeMachine(sql: Statements, row: Row, was: RowChange): void {
  const { seq } = row
  const machine = row.machine as JobMachine
  const values = machineValues(machine)
  if (was.machine !== null && (was.parts & part.machine) === 0) {
    sql.run('writeCheckpoint', values[0], values[1], values[2], values[4], values[12], values[13], seq)
  } else sql.run('writeMachine', seq, ...values)
  const attempts = machine.checkpointedAttempts
  if (row.storedCheckpointed !== attempts) {
    sql.run('writeCheckpointed', attempts, seq)
    row.storedCheckpointed = attempts
  }
  const { states, tags } = was.machine ?? noNames
  if (states !== machine.states) changeNames(sql, seq, 'state', states, machine.states)
  if (tags !== machine.tags) changeNames(sql, seq, 'tag', tags, machine.tags)
}

/** Writes the names that differ only: a step of a machine with parallel states leaves most of them. */
function changeNames(
  sql: Statements,
  seq: number,
  kind: MachineNameKind,
  before: readonly string[],
  after: readonly string[],
): void {
  const entered = after.filter((name) => !before.includes(name))
  for (const name of before) {
    if (after.includes(name)) continue
    // One statement for a state that is left and one that is entered instead.
    const next = entered.pop()
    if (next === undefined) sql.run('forgetName', kind, name, seq)
    else sql.run('changeName', next, kind, name, seq)
  }
  for (const name of entered) sql.run('addName', kind, name, seq)
}

/** Writes what was added to the lists of a job, and removes from them what is to be removed. */
function writeAdditions(sql: Statements, row: Row, added: Additions): void {
  const { seq } = row
  const { messages, checkpoints, forgetsCheckpoints, steps, forgetsSteps } = added
  for (const { number, at, message } of messages) sql.run('addMessage', seq, number, at, JSON.stringify(message))
  if (forgetsCheckpoints) sql.run('removeCheckpoints', seq, Number.MAX_SAFE_INTEGER)
  for (const { number, state, seq: entry, at, note } of checkpoints) {
    sql.run('addCheckpoint', entry, seq, number, at, note, jsonOf(state))
    if (number > caps.checkpoints) sql.run('removeCheckpoints', seq, number - caps.checkpoints)
  }
  // A job that was never claimed has no steps.
  if (forgetsSteps && row.startedAt !== null) sql.run('forgetSteps', seq)
  const forgotten: string[] = []
  for (const [name, result] of steps) {
    if (result === null) forgotten.push(name)
    else sql.run('saveStep', seq, name, JSON.stringify(result))
  }
  if (forgotten.length > 0) sql.run('forgetNamedSteps', seq, JSON.stringify(forgotten))
}

/** Removes the messages that the machine has read, except the deferred ones. */
function dropRead(sql: Statements, { seq, machine }: Row, was: RowChange): void {
  if (machine === null) return
  const { lastRead, deferred } = machine
  if (lastRead === (was.machine?.lastRead ?? 0) && isSame(deferred, was.machine?.deferred ?? [])) return
  if (deferred.length === 0) sql.run('removeMessages', seq, lastRead)
  else sql.run('removeOtherMessages', seq, lastRead, JSON.stringify(deferred))
}

// ── new rows ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Adds the row of a new job. Most have nothing but an input, and a null that is bound costs as much as a value. */
export function addRow(sql: Statements, row: Row): boolean {
  const { seq, id, queue, priority, terms, enqueuedAt, key, concurrencyKey } = row
  const plain = [seq, id, queue.number, priority, terms.attempts, enqueuedAt, jsonOf(row.input)]
  const [tags, meta, options] = [textOrNull(terms.tags), textOrNull(terms.meta), optionsText(row)]
  const isPlain = key === null && concurrencyKey === null && tags === null && meta === null && options === null
  if (isPlain) return sql.changes('addPlain', ...plain)
  if (!sql.changes('add', ...plain, key, concurrencyKey, tags, meta, options)) return false
  row.storedTags = tags
  row.storedMeta = meta
  if (tags !== null) sql.run('addTags', seq, tags)
  if (meta !== null) sql.run('addMeta', seq, meta)
  return true
}
