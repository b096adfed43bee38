/** Writes what has changed of a row, as statements of `texts.ts` with their values: of most jobs it is one. */
import { caps } from '../../core/caps.ts'
import { jsonOf, Packed, type Cell } from '../../core/cell.ts'
import { part, type Additions, type JobMachine, type JobRow, type RowChange } from '../../core/job-row.ts'
import { claimable } from '../../core/compiled-arrows.ts'
import type { MachineNameKind, MachineStanding } from '../../core/machine-tally.ts'
import type { SqlValue } from './dialect.ts'
import { machineValues } from './machine.ts'
import { dueColumn, heldKeyColumn, leaseColumn, optionsText, textOrNull, type Row } from './row.ts'
import { settledText } from './settled.ts'
import type { RowStatement } from './texts.ts'

/** Takes statements: it runs them at once, or keeps them until they are sent. */
interface Sink {
  run(name: RowStatement, ...values: SqlValue[]): void
}

/** Parts that are in the statements of transitions; a claim changes one of them. */
const ofTransitions = part.transition | part.output | part.settled | part.key | part.wakeAt
const notOfClaims = ofTransitions & ~part.transition
const data = part.input | part.terms | part.cancelMark | part.checkin | part.logs
const ofMachines = part.checkpoint | part.machine

export function writeRow(sink: Sink, row: Row, was: RowChange): void {
  const { parts, added } = was
  if ((parts & ~ofTransitions) !== 0) writeData(sink, row, parts)
  if (row.machineCell !== null && (was.stateIndex < 0 || (parts & ofMachines) !== 0)) writeMachine(sink, row, was)
  if ((parts & ofTransitions) === part.wakeAt && row.isLeased) sink.run('writeLease', row.wakeAt, row.seq)
  else if ((parts & ofTransitions) !== 0 || (added !== null && added.historyUntil !== null)) {
    writeTransition(sink, row, was)
  }
  if (added !== null) writeAdditions(sink, row, added)
  if (row.machineCell !== null) dropRead(sink, row, was)
}

function writeTransition(sink: Sink, row: Row, was: RowChange): void {
  const { parts } = was
  const { history, lastRun: run } = row
  if (hasOneTransition(row, was)) {
    const isClaim = row.isLeased && was.state !== null && claimable.has(was.state)
    if (isClaim && (parts & notOfClaims) === 0) {
      const { state, attempt, wakeAt, lastSeq, seq } = row
      return sink.run('writeClaim', state, attempt, wakeAt, run.token, run.worker, row.startedAt, lastSeq, history, seq)
    }
    if (was.wasLeased && row.isEnded) {
      const { state, attempt, finishedAt, lastSeq, seq } = row
      const [output, settled] = [jsonOf(run.output), settledText(run.settled)]
      return sink.run('writeEnd', state, attempt, run.token, finishedAt, lastSeq, output, settled, history, seq)
    }
  }
  sink.run(
    'writeTransition',
    row.state,
    row.place,
    row.attempt,
    row.generation,
    dueColumn(row),
    leaseColumn(row),
    run.token,
    run.worker,
    row.startedAt,
    row.finishedAt,
    row.lastSeq,
    heldKeyColumn(row),
    row.rarely.dueAfter,
    jsonOf(run.output),
    settledText(run.settled),
    history,
    row.seq,
  )
}

/** Has it made one transition since it was written? */
const hasOneTransition = ({ last }: JobRow, { lastSeq }: RowChange): boolean =>
  last !== null && last.seq > lastSeq && (last.before === null || last.before.seq <= lastSeq)

/** Values become texts: they may be those of a caller, who may change them. */
function writeData(sink: Sink, row: Row, parts: number): void {
  const { terms, rare, seq } = row
  if ((parts & part.errors) !== 0 && rare !== null) {
    rare.error = packed(rare.error)
    rare.errors = packed(rare.errors)
    sink.run('writeErrors', textOrNull(rare.error), textOrNull(rare.errors), rare.failure, seq)
  }
  if ((parts & part.attempts) !== 0) sink.run('writeMaxAttempts', terms.attempts, seq)
  if ((parts & part.onDead) !== 0) sink.run('writeOptions', optionsText(row), seq)
  if ((parts & data) === 0) return
  row.input = packed(row.input)
  if (rare !== null) {
    rare.checkin = packed(rare.checkin)
    rare.logs = packed(rare.logs)
    rare.cancelMark = packed(rare.cancelMark)
  }
  const { checkin, logs, cancelMark } = row.rarely
  const tags = textOrNull(terms.tags)
  const texts = [textOrNull(terms.meta), textOrNull(checkin), textOrNull(logs), textOrNull(cancelMark)]
  sink.run('writeData', jsonOf(row.input), tags, ...texts, seq)
  if (tags === row.storedTags) return
  if (row.storedTags !== null) sink.run('forgetTags', seq, row.storedTags)
  if (tags !== null) sink.run('addTags', seq, tags)
  row.storedTags = tags
}

function packed<T>(cell: Cell<T>): Cell<T> {
  if (cell instanceof Packed || cell === null || cell === undefined) return cell
  if (Array.isArray(cell) && cell.length === 0) return cell
  return new Packed<T>(jsonOf(cell) as string)
}

// ── machines ───────────────────────────────────────────────────────────────────────────────────────────────────────

const noNames: MachineStanding = { states: [], tags: [] }

function writeMachine(sink: Sink, row: Row, was: RowChange): void {
  const { seq } = row
  const machine = row.machine as JobMachine
  const values = machineValues(machine)
  if (was.machine !== null && (was.parts & part.machine) === 0) {
    sink.run('writeCheckpoint', values[0], values[1], values[2], values[4], values[12], values[13], seq)
  } else sink.run('writeMachine', seq, ...values)
  const attempts = machine.checkpointedAttempts
  if (row.storedCheckpointed !== attempts) {
    sink.run('writeCheckpointed', attempts, seq)
    row.storedCheckpointed = attempts
  }
  const { states, tags } = was.machine ?? noNames
  if (states !== machine.states) changeNames(sink, seq, 'state', states, machine.states)
  if (tags !== machine.tags) changeNames(sink, seq, 'tag', tags, machine.tags)
}

/** Writes the names that differ only: a step of a machine with parallel states leaves most of them. */
function changeNames(
  sink: Sink,
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
    if (next === undefined) sink.run('forgetName', kind, name, seq)
    else sink.run('changeName', next, kind, name, seq)
  }
  for (const name of entered) sink.run('addName', kind, name, seq)
}

/** Writes what was added to the lists of a job, and removes from them what is to be removed. */
function writeAdditions(sink: Sink, row: Row, added: Additions): void {
  const { seq } = row
  const { messages, checkpoints, forgetsCheckpoints, steps, forgetsSteps } = added
  for (const { number, at, message } of messages) sink.run('addMessage', seq, number, at, JSON.stringify(message))
  if (forgetsCheckpoints) sink.run('removeCheckpoints', seq, Number.MAX_SAFE_INTEGER)
  for (const { number, state, seq: entry, at, note } of checkpoints) {
    sink.run('addCheckpoint', entry, seq, number, at, note, jsonOf(state))
    if (number > caps.checkpoints) sink.run('removeCheckpoints', seq, number - caps.checkpoints)
  }
  // A job that was never claimed has no steps.
  if (forgetsSteps && row.startedAt !== null) sink.run('forgetSteps', seq)
  const forgotten: string[] = []
  for (const [name, result] of steps) {
    if (result === null) forgotten.push(name)
    else sink.run('saveStep', seq, name, JSON.stringify(result))
  }
  if (forgotten.length > 0) sink.run('forgetNamedSteps', seq, JSON.stringify(forgotten))
}

/** Removes the messages that the machine has read, except the deferred ones. */
function dropRead(sink: Sink, { seq, machine }: Row, was: RowChange): void {
  if (machine === null) return
  const { lastRead, deferred } = machine
  if (lastRead === (was.machine?.lastRead ?? 0) && isSame(deferred, was.machine?.deferred ?? [])) return
  if (deferred.length === 0) sink.run('removeMessages', seq, lastRead)
  else sink.run('removeOtherMessages', seq, lastRead, JSON.stringify(deferred))
}

export const isSame = <T>(a: readonly T[], b: readonly T[]): boolean =>
  a === b || (a.length === b.length && a.every((item, i) => item === b[i]))

// ── new rows ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** The values of `addPlain`; null for a row that has more, which `valuesOfNew` has. */
export function valuesOfPlain(row: Row): readonly SqlValue[] | null {
  const { seq, id, queue, priority, terms, key, concurrencyKey, machineCell } = row
  const hasKeys = key !== null || concurrencyKey !== null
  const isTimed = dueColumn(row) !== null
  if (hasKeys || isTimed || machineCell !== null || textOrNull(terms.tags) !== null || terms.meta !== null) return null
  if (optionsText(row) !== null) return null
  const { state, enqueuedAt, history } = row
  return [seq, id, queue.number, state, priority, terms.attempts, enqueuedAt, history, jsonOf(row.input)]
}

/** The values of `add`. */
export function valuesOfNew(row: Row): readonly SqlValue[] {
  const { seq, id, queue, state, priority, terms, enqueuedAt, history, key, concurrencyKey } = row
  row.storedTags = textOrNull(terms.tags)
  row.storedCheckpointed = row.isMachine ? 0 : null
  const plain = [seq, id, queue.number, state, priority, terms.attempts, enqueuedAt, history, jsonOf(row.input)]
  const more = [dueColumn(row), key, concurrencyKey, row.storedTags, textOrNull(terms.meta), optionsText(row)]
  return [...plain, ...more, row.storedCheckpointed]
}
