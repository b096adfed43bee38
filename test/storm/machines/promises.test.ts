/** Each promise of machines can be broken, and is then found broken: evidence in order, with one thing put wrong. */
import type { JobRecord } from 'jobchart'
import { expect, test } from 'vitest'
import type { Evidence, Stand } from './evidence.ts'
import type { LedgerLine } from './ledger.ts'
import { memoryOf, type MachineInput, type Memory } from './parts.ts'
import type { MachineTask } from './plan.ts'
import { checkMachine } from './promises.ts'

const input: MachineInput = {
  delays: [100, 100],
  legs: [
    { ms: 20, dies: false },
    { ms: 30, dies: true },
  ],
}

const task: MachineTask = {
  id: 'm1',
  kind: 'fan-2',
  input,
  gapsMs: [0, 0, 0],
  twice: new Set(),
  cancelAfter: null,
  cheers: null,
}

const stand = (number: number, memory: Partial<Memory>): Stand => {
  return { number, seq: number * 10, at: 1_000 + number, note: '', memory: { ...memoryOf(input), ...memory } }
}

const legs = [
  { from: 'leg-0', output: 20 },
  { from: 'leg-1', error: 'this leg dies' },
]

const ledgerLine = (kind: LedgerLine['kind'], key: string, what: string, at: number): LedgerLine => ({
  kind,
  key,
  what,
  at,
})

/** What the checks look at of a record. */
const record = (changes: Partial<JobRecord>): JobRecord => {
  const seen = { id: 'm1', type: 'machine-fan-2', state: 'done', history: [], errors: [], attempt: 1, maxAttempts: 6 }
  return { ...seen, checkpoint: { number: 2, state: null }, ...changes } as unknown as JobRecord
}

const sound: Evidence = {
  task,
  record: record({}),
  stands: [stand(1, { told: [1] }), stand(2, { told: [1, 2], results: legs })],
  children: [
    record({ id: 'c0', state: 'done', input: { ms: 20, dies: false } }),
    record({ id: 'c1', state: 'dead', input: { ms: 30, dies: true } }),
  ],
  lines: [ledgerLine('note', 'm1', 'END', 1_003)],
  leaseMs: 1_000,
  kept: new Map([['1', 1]]),
  acknowledged: [{ number: 1, seq: 10 }],
  cancels: 0,
}

function broken(changes: Partial<Evidence>): string[] {
  const found: string[] = []
  checkMachine({ ...sound, ...changes }, (promise) => found.push(promise))
  return [...new Set(found)]
}

const last = (memory: Partial<Memory>): Partial<Evidence> => {
  return { stands: [stand(1, { told: [1] }), stand(2, { told: [1, 2], results: legs, ...memory })] }
}

const worked = (...lines: LedgerLine[]): Partial<Evidence> => {
  const done = { told: [1, 2], results: [{ from: 'packs', output: 'm1/0.packs/1' }] }
  const nested = { ...task, kind: 'nested', input: { ...input, legs: [] } } as const
  return {
    task: nested,
    children: [],
    lines: [...sound.lines, ...lines],
    stands: [stand(1, { told: [1] }), stand(2, done)],
  }
}

const begun = ledgerLine('begin', 'm1/0.packs/1', 'packs', 1_000)
const ended = ledgerLine('end', 'm1/0.packs/1', 'packs', 1_001)

const undoing = (changes: Partial<Evidence>): Partial<Evidence> => {
  const history = [{ event: 'CANCEL', seq: 15, at: 1_002, attempt: 1, from: 'running', to: 'cancelling' }]
  return {
    task: { ...task, kind: 'compensating', cancelAfter: 1 },
    children: [],
    lines: [],
    cancels: 1,
    stands: [stand(1, {}), stand(2, { told: [1] })],
    record: record({ state: 'cancelled', history: history as JobRecord['history'] }),
    ...changes,
  }
}

/** Its patience ended at 1,100; its child at a time, after an attempt that began at another. */
const impatient = (memory: Partial<Memory>, finishedAt: number, begunAt: number): Partial<Evidence> => ({
  task: { ...task, kind: 'impatient' },
  stands: [stand(1, {}), stand(2, { told: [1, 2], set: { patience: 1_000 }, ...memory })],
  children: [
    record({
      id: 'c0',
      state: 'done',
      input: { ms: 20, dies: false },
      finishedAt,
      history: [{ event: 'CLAIM', seq: 5, at: begunAt, attempt: 1, from: 'queued', to: 'running' }],
    }),
  ],
})

const claimedAt = (at: number) => ({ event: 'CLAIM', seq: 3, at, attempt: 2, from: 'queued', to: 'running' }) as const
const expiredAt = (at: number) => ({ event: 'EXPIRE', seq: 4, at, attempt: 2, from: 'running', to: 'queued' }) as const

const patience = { fired: [{ name: 'patience', setAt: 1_000, delayMs: 100, at: 1_100 }] }

const dead = (maxAttempts: number, attempt: number): Partial<Evidence> => ({
  stands: [stand(1, {})],
  record: record({
    state: 'dead',
    checkpoint: { number: 1, state: null },
    attempt,
    maxAttempts,
    history: [
      { event: 'CLAIM', seq: 5, at: 1_000, attempt: 1, from: 'queued', to: 'running' },
      { event: 'CLAIM', seq: 8, at: 1_000, attempt: 2, from: 'queued', to: 'running' },
    ],
  }),
})

test('what is in order is found in order', () => {
  expect(broken({})).toEqual([])
  expect(broken(worked(begun, ended))).toEqual([])
  expect(broken(undoing({ cancels: 2 }))).toEqual([])
  expect(broken(dead(7, 7))).toEqual([])
  expect(broken(impatient(patience, 1_200, 1_050))).toEqual([])
  // The next attempt of the machine cancels what the one before it has left alone.
  expect(broken({ ...impatient(patience, 2_300, 2_200), record: record({ history: [claimedAt(1_300)] }) })).toEqual([])
  const expired = record({ history: [claimedAt(1_000), expiredAt(2_200)] })
  expect(broken({ ...impatient(patience, 2_300, 2_250), record: expired })).toEqual([])
  expect(broken(impatient({ results: legs.slice(0, 1) }, 1_050, 1_020))).toEqual([])
})

test.each<[promise: string, what: string, Partial<Evidence>]>([
  ['messages', 'an event is lost', last({ told: [1] })],
  ['messages', 'an event is applied twice', last({ told: [1, 2, 2] })],
  ['messages', 'events are out of order', last({ told: [1, 3, 2] })],
  ['messages', 'a message is taken as new twice', { kept: new Map([['1', 2]]) }],
  ['messages', 'a cheer is heard twice', last({ cheers: [7, 7] })],
  ['stands', 'a checkpoint is missing', { stands: [stand(1, {}), stand(3, { told: [1, 2], results: legs })] }],
  ['stands', 'what was told is forgotten', { stands: [stand(1, { told: [1, 2, 3] }), ...sound.stands.slice(1)] }],
  ['stands', 'one was acknowledged and is not there', { acknowledged: [{ number: 2, seq: 15 }] }],
  ['stands', 'the record has another one', { record: record({ checkpoint: { number: 3, state: null } }) }],
  ['children', 'a child is enqueued twice', { children: [...sound.children, ...sound.children.slice(0, 1)] }],
  ['children', 'an end is heard twice', last({ results: [...legs, ...legs] })],
  ['children', 'an end is not heard', last({ results: legs.slice(0, 1) })],
  ['children', 'another end is heard', last({ results: [{ from: 'leg-0', error: 'dead' }, ...legs.slice(1)] })],
  ['children', 'another output is heard', last({ results: [{ from: 'leg-0', output: 21 }, ...legs.slice(1)] })],
  ['timers', 'one fires early', last({ fired: [{ name: 'one', setAt: 0, delayMs: 100, at: 90 }] })],
  ['timers', 'one fires twice', last({ fired: [1, 2].map((at) => ({ name: 'one', setAt: 0, delayMs: 0, at })) })],
  ['timers', 'one does not fire', { record: record({ type: 'machine-regions' }) }],
  ['timers', 'one comes before an older message', impatient(patience, 50, 20)],
  ['timers', 'one comes after a younger message', impatient({ results: legs.slice(0, 1) }, 2_200, 1_000)],
  ['children', 'one is left alone and not cancelled', impatient(patience, 2_300, 2_200)],
  [
    'children',
    'one is begun long after the next attempt',
    { ...impatient(patience, 2_500, 2_400), record: record({ history: [claimedAt(1_300)] }) },
  ],
  ['effects', 'an action is not done', { lines: [] }],
  ['effects', 'work is kept as done that was not', worked(begun)],
  ['effects', 'work is begun again when it is kept', worked(begun, ended, { ...begun, at: 1_003 })],
  ['effects', 'work has another name after a crash', worked(begun, ended, { ...begun, key: 'm1/0.packs/2' })],
  ['cancels', 'nobody has cancelled it', { record: record({ state: 'cancelled' }) }],
  ['cancels', 'it is not compensated', undoing({})],
  ['cancels', 'it says that it is, and nobody did it', undoing({ stands: [stand(2, { compensated: true })] })],
  ['checkpointed', 'it dies too early', dead(6, 6)],
  ['checkpointed', 'it dies too late', dead(8, 8)],
])('%s are broken if %s', (promise, _what, changes) => {
  expect(broken(changes)).toContain(promise)
})
