/** What machine jobs promise, looked for in all that is known of one of them. */
import type { JobRecord } from 'jobchart'
import { caps } from '../../../src/core/caps.ts'
import type { Evidence, Stand } from './evidence.ts'
import { kinds } from './jobs.ts'
import { ticksMax, type Fired, type Memory, type Result } from './parts.ts'

export const machinePromises = {
  messages: 'each event once, in the order in which they were sent; none lost',
  stands: 'checkpoints follow each other, are there if acknowledged, and go on from what was',
  children: 'each child is enqueued once, and its end is heard once',
  timers: 'no timer fires early, or twice; timers and messages come in the order of their times',
  effects: 'what was decided is done; what was kept as done is not done again',
  cancels: 'a cancel that is handled is compensated, and ends as cancelled',
  checkpointed: 'dead at exactly maxAttempts without a checkpoint',
} as const

export type MachinePromise = keyof typeof machinePromises

export type Tell = (promise: MachinePromise, message: string) => void

/** How early a timer may seem to fire: it is set a moment before the machine looks at the clock. */
const earlyMs = 2

export function checkMachine(evidence: Evidence, tell: Tell): void {
  const { record, task } = evidence
  if (record === null) return
  const memory = evidence.stands.at(-1)?.memory ?? null
  checkTold(evidence, record, memory, tell)
  checkStands(evidence, record, tell)
  if (memory !== null) {
    checkTimers(memory, record, tell)
    checkChildren(evidence, memory, record, tell)
    if (task.kind === 'impatient') checkPatience(evidence, memory, record, tell)
    checkEffects(evidence, memory, record, tell)
  }
  checkCancel(evidence, record, memory, tell)
  if (record.state === 'dead') checkSpared(evidence, record, tell)
}

function checkTold({ task, kept }: Evidence, { state }: JobRecord, memory: Memory | null, tell: Tell): void {
  for (const [key, times] of kept) if (times > 1) tell('messages', `message ${key} was taken as new ${times} times`)
  if (memory === null) return
  const numbers = task.gapsMs.length - 1
  const innerTold = resultsOf(memory, 'inner').map(({ output }) => (output as Pick<Memory, 'told'>).told)
  for (const told of [memory.told, ...innerTold]) {
    const isInOrder = told.every((n, i) => n === i + 1)
    const isWhole = state !== 'done' || told.length === numbers
    if (!isInOrder || !isWhole)
      tell('messages', `${state}, it was told ${numbers} numbers and has heard ${told.join(' ')}`)
  }
  const { cheers } = memory
  if (new Set(cheers).size < cheers.length) tell('messages', `it was cheered at twice: ${cheers.join(' ')}`)
}

function checkStands({ stands, acknowledged }: Evidence, { checkpoint }: JobRecord, tell: Tell): void {
  for (const [i, stand] of stands.entries()) {
    const before = stands[i - 1]
    if (before === undefined) {
      if (stands.length < caps.checkpoints && stand.number !== 1) tell('stands', `the first is number ${stand.number}`)
      continue
    }
    if (stand.number !== before.number + 1) tell('stands', `after ${before.number} comes ${stand.number}`)
    if (stand.seq <= before.seq || stand.at < before.at) tell('stands', `${stand.number} is older than the one before`)
    for (const key of ['told', 'cheers', 'fired', 'results'] as const) {
      if (!isPrefix(before.memory[key], stand.memory[key]))
        tell('stands', `${stand.number} (${stand.note}) has lost ${key}`)
    }
  }
  if ((checkpoint?.number ?? 0) !== (stands.at(-1)?.number ?? 0)) tell('stands', 'the last is not that of the record')
  const first = stands[0]?.seq ?? Infinity
  const kept = new Map(stands.map(({ seq, number }) => [seq, number]))
  for (const { seq, number } of acknowledged) {
    // The oldest are dropped.
    if (seq >= first || stands.length < caps.checkpoints) {
      if (kept.get(seq) !== number) tell('stands', `${number} was acknowledged as ${seq} and is not there`)
    }
  }
}

const isPrefix = (before: readonly unknown[], after: readonly unknown[]): boolean =>
  before.length <= after.length && before.every((each, i) => JSON.stringify(each) === JSON.stringify(after[i]))

/** All timers that have fired, of inner machines as well. */
export const firedOf = (memory: Memory): Fired[] => [
  ...memory.fired,
  ...resultsOf(memory, 'inner').flatMap(({ output }) => (output as Pick<Memory, 'fired'>).fired),
]

function checkTimers(memory: Memory, { type, state }: JobRecord, tell: Tell): void {
  const fired = firedOf(memory)
  for (const { name, setAt, delayMs, at } of fired) {
    if (at < setAt + delayMs - earlyMs) tell('timers', `${name} fired after ${at - setAt} ms of ${delayMs}`)
  }
  const names = fired.map(({ name }) => name)
  if (new Set(names).size < names.length) tell('timers', `fired twice: ${names.join(' ')}`)
  if (type !== 'machine-regions' || state !== 'done') return
  if (names.join(' ') !== 'one two') tell('timers', `only these fired: ${names.join(' ')}`)
  if (memory.ticks !== ticksMax) tell('timers', `${memory.ticks} ticks`)
}

const resultsOf = ({ results }: Memory, from: string): Result[] => results.filter((result) => result.from === from)

function checkChildren({ task, children }: Evidence, memory: Memory, { state }: JobRecord, tell: Tell): void {
  const { legs } = kinds[task.kind]
  if (children.length > legs) tell('children', `${children.length} children of ${legs} legs`)
  for (let number = 0; number < legs; number++) {
    const results = resultsOf(memory, `leg-${number}`)
    if (results.length > 1) tell('children', `leg ${number} ended ${results.length} times`)
    if (state === 'done' && results.length === 0 && task.kind !== 'impatient')
      tell('children', `leg ${number} is missing`)
    const [result] = results
    const input = task.input.legs[number]
    if (result === undefined || input === undefined) continue
    // Of equal legs any will do.
    const child = children.find((each) => JSON.stringify(each.input) === JSON.stringify(input))
    const said = result.error === undefined ? 'done' : 'dead'
    const are = children.map((each) => `${each.id} ${each.state}`).join(', ')
    if (child === undefined) tell('children', `leg ${number} ended, and is not among ${are}`)
    else if (child.state !== said) tell('children', `leg ${number} was told to be ${said}; there are ${are}`)
    else if (said === 'done' && result.output !== input.ms)
      tell('children', `leg ${number} gave ${String(result.output)}`)
  }
  if (state !== 'done' || children.length === legs) return
  // Its patience may end before the child is enqueued, which waits for a checkpoint: then it never is.
  if (task.kind === 'impatient' && memory.fired.length > 0) return
  tell('children', `${children.length} children of ${legs} legs`)
}

/** What happens first is heard first, whenever the machine wakes up; a child that is left alone is cancelled. */
function checkPatience(
  { children, stands, leaseMs }: Evidence,
  { fired, set, delays }: Memory,
  { history }: JobRecord,
  tell: Tell,
): void {
  const [child] = children
  const leftAt = stands.find(({ memory }) => memory.fired.length > 0)?.at
  if (child === undefined || child.finishedAt === null) return
  const lateMs = child.finishedAt - ((set['patience'] ?? 0) + delays[0])
  const hasLeft = fired.length > 0
  if (hasLeft && child.state !== 'cancelled' && lateMs < -leaseMs) {
    tell('timers', `its patience was at an end ${-lateMs} ms after its child, and came first`)
  }
  const wasHeard = stands.some(({ memory: { results } }) => results.length > 0)
  if (wasHeard && lateMs > leaseMs)
    tell('timers', `its patience was at an end ${lateMs} ms before its child, and came last`)
  const begun = child.history.findLast(({ event }) => event === 'CLAIM')?.at ?? 0
  if (leftAt === undefined || child.state === 'cancelled') return
  // An attempt of the machine that dies or loses its lease before it has cancelled the child leaves that to the next
  // attempt, which may not have begun before the child.
  const claims = history.filter(({ event, at }) => event === 'CLAIM' && at < begun).map(({ at }) => at)
  const since = Math.max(leftAt, ...claims)
  if (history.some(({ event, at }) => event === 'EXPIRE' && at > since && at <= begun)) return
  const sinceMs = begun - since
  if (sinceMs > leaseMs) tell('children', `a child was begun ${sinceMs} ms after it was left alone`)
}

/** Work by the names of its actors: the same after a crash, and over when a checkpoint has its result. */
function checkEffects({ lines, stands }: Evidence, memory: Memory, { id, state }: JobRecord, tell: Tell): void {
  for (const { from, output } of memory.results) {
    if (!['packs', 'a', 'b', 'c', 'reserves'].includes(from)) continue
    const key = String(output)
    if (!key.startsWith(`${id}/`) || !key.endsWith('/1')) tell('effects', `${from} was done as ${key}`)
    const kept = stands.find(({ memory: { results } }) => results.some((result) => result.from === from)) as Stand
    const ofWork = lines.filter((line) => line.key === key)
    if (!ofWork.some(({ kind }) => kind === 'end')) tell('effects', `${from} is kept as done and was not`)
    const late = ofWork.find(({ kind, at }) => kind === 'begin' && at > kept.at)
    if (late !== undefined) tell('effects', `${from} was begun again ${late.at - kept.at} ms after it was kept as done`)
  }
  for (const { key } of lines) {
    if (key !== id && !key.endsWith('/1')) tell('effects', `${key} was begun, which was never left`)
  }
  const ends = lines.filter(({ kind, what }) => kind === 'note' && what === 'END').length
  if (state === 'done' && ends === 0) tell('effects', 'it has ended without its action')
}

function checkCancel(
  { task, stands, cancels, lines }: Evidence,
  record: JobRecord,
  memory: Memory | null,
  tell: Tell,
): void {
  const { state, history } = record
  if (state === 'cancelled' && task.cancelAfter === null) return tell('cancels', 'nobody has cancelled it')
  if (task.kind !== 'compensating' || memory === null) return
  const undone = lines.some(({ kind, what }) => kind === 'end' && what === 'undoes')
  if (memory.compensated && !undone) tell('cancels', 'it says that it was undone, and nobody did it')
  if (memory.compensated && state !== 'cancelled') tell('cancels', `it was undone, and is ${state}`)
  // Who asks twice does not want to wait.
  if (state !== 'cancelled' || memory.compensated || cancels > 1) return
  const cancelSeq = history.findLast(({ event }) => event === 'CANCEL')?.seq ?? 0
  const first = stands[0]
  if (first !== undefined && first.seq < cancelSeq) tell('cancels', 'it was cancelled without being undone')
}

/** Goes its attempts again: a checkpoint spares those before it. */
function checkSpared({ task, stands }: Evidence, { attempt, maxAttempts, history }: JobRecord, tell: Tell): void {
  if (history.length >= caps.history) return
  const transitions = history.map(({ seq, attempt: number }) => ({ seq, number }))
  const marks = stands.map(({ seq }) => ({ seq, number: null }))
  let [now, checkpointed] = [0, 0]
  for (const { number } of [...transitions, ...marks].toSorted((a, b) => a.seq - b.seq)) {
    if (number === null) checkpointed = now - 1
    else now = number
    if (now === 0) checkpointed = 0
  }
  const { maxAttempts: base } = kinds[task.kind].retry
  const isExact = attempt === maxAttempts && maxAttempts === base + checkpointed
  if (!isExact)
    tell('checkpointed', `dead after ${attempt} of ${maxAttempts} attempts: ${base}, and ${checkpointed} checkpointed`)
}
