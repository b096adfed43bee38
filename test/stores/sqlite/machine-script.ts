/**
 * The part of the script that machines play: checkpoints, messages, children, cancels that are messages, and their
 * ends.
 */
import type { NewCheckpoint } from '../../../src/core/machine-record.ts'
import type { NewJob, SendRequest } from '../../../src/store.ts'
import { newJob } from '../../../src/store-testing/conformance/acts.ts'
import { boom, cancel, claim, inserts, put, settle, settles, step, together, type Ask, type Step } from './steps.ts'

const order = (id: string, fields: Partial<NewJob> = {}): NewJob => newJob(id, { ...fields, type: 'order' })
const child = (id: string, parent: string, fields: Partial<NewJob> = {}): NewJob =>
  newJob(id, { type: 'part', parent: { id: parent, checkins: id === 'c1' }, ...fields })

const at = (number: number, read = 0, takesCancel = false): NewCheckpoint => {
  return { number, state: { value: `state ${number}` }, read, note: `to ${number}`, takesCancel }
}

const rest =
  (id: string, token: string, attempt: number, checkpoint: NewCheckpoint): Ask =>
  async (store) =>
    store.checkpoint([{ id, attempt, token, checkpoint }])
const rests = (name: string, ...asks: readonly Ask[]): Step => ({
  ...step(name, together(...asks)),
  again: 'same answer',
})

const days = { ageMs: 1e9, count: 100 }

const message = (id: string, key: string, expect: SendRequest['expect'] = null) => {
  return { id, message: { kind: 'event', event: { type: key } }, key, expect } as const
}
const sends = (name: string, ...messages: readonly ReturnType<typeof message>[]): Step => ({
  ...step(name, async (store) => store.send(messages)),
  again: 'no effect',
})

const resting: readonly Step[] = [
  inserts(
    'machines',
    put([order('m1', { maxAttempts: 2 }), order('m2', { checkpoint: { value: 'forked' } }), order('m3')]),
  ),
  step('a claim of machines', claim('u1', 'order', 10)),
  rests('first checkpoints', rest('m1', 'u1', 1, at(1)), rest('m2', 'u1', 1, at(2))),
  sends(
    'messages',
    message('m1', 'a'),
    message('m1', 'a'),
    message('m1', 'b', { checkpoint: 1, lastMessageNumber: 1 }),
    message('m3', 'a'),
  ),
  inserts(
    'children',
    put([child('c1', 'm1'), child('c2', 'm1', { maxAttempts: 1 }), child('c3', 'm2'), child('c4', 'c3')]),
    put([child('c5', 'm1', { type: 'rest' })]),
  ),
  rests('a checkpoint, with what it has read', rest('m1', 'u1', 1, at(2, 1))),
  step('a heartbeat that asks for messages', (store) => {
    return store.extend({
      worker: 'w1',
      leaseMs: 60_000,
      heartbeats: [{ id: 'm1', attempt: 1, token: 'u1', lastMessageNumber: 1 }],
    })
  }),
  settles(
    'one parks with a message, one without, one sleeps',
    { id: 'm1', token: 'u1', event: 'PARK', to: 'waiting', checkpoint: at(3, 1) },
    { id: 'm2', token: 'u1', event: 'PARK', to: 'waiting', checkpoint: at(3, 0, true), delayMs: 900_000 },
    { id: 'm3', token: 'u1', event: 'SNOOZE', to: 'scheduled', delayMs: 900_000 },
  ),
  step('the first goes on', claim('u2', 'order', 10)),
  step('its lease runs out', async (store) => store.rescue(10), 20_000),
  step('a second attempt', claim('u3', 'order', 10)),
  rests('comes further than the first', rest('m1', 'u3', 2, at(4, 2))),
  settles('and waits', { id: 'm1', attempt: 2, token: 'u3', event: 'PARK', to: 'waiting', delayMs: 900_000 }),
]

const families: readonly Step[] = [
  step('children begin', claim('v1', 'part', 10)),
  step('one tells how far it is', (store) => {
    const beat = { id: 'c1', attempt: 1, token: 'v1', checkin: { at: 1, value: 50 } }
    return store.extend({ worker: 'w1', leaseMs: 10_000, heartbeats: [beat] })
  }),
  step('its parent hears of it', claim('u4', 'order', 1)),
  settles('and waits on', { id: 'm1', token: 'u4', event: 'PARK', to: 'waiting', checkpoint: at(5, 3) }),
  settles('a child ends', {
    id: 'c1',
    token: 'v1',
    event: 'COMPLETE',
    to: 'done',
    output: 7,
    checkin: { at: 2, value: 99 },
  }),
  step('its parent hears of that', claim('u5', 'order', 1)),
  settles('and waits for the other', { id: 'm1', token: 'u5', event: 'PARK', to: 'waiting', checkpoint: at(6, 5) }),
  step('which dies with its worker', async (store) => store.rescue(1), 20_000),
  step('a cancel of machines', cancel('enough', 'm2', 'm1')),
  step('which one of them takes', claim('u6', 'order', 1)),
  settles('as an event', {
    id: 'm2',
    token: 'u6',
    event: 'COMPLETE',
    to: 'done',
    output: 1,
    cancelTaken: true,
    checkpoint: at(4, 1),
  }),
  step(
    'the others go',
    together(cancel('now', 'm2', 'm1', 'm3'), async (store) => store.rescue(10)),
    40_000,
  ),
  step('one begins anew', async (store) => store.retry(['m1'], true)),
  step('the others where they were', async (store) => store.retry(['m2', 'm3', 'c1', 'c2'])),
  step('messages to all', async (store) =>
    store.send([message('m1', 'a'), message('m2', 'z'), message('nobody', 'a')]),
  ),
]

const keys: readonly Step[] = [
  inserts('a machine with a key', put([order('m4', { key: 'o' }), child('c6', 'm4', { type: 'rest' })])),
  step('begins', claim('u7', 'order', 10)),
  rests('and rests', rest('m4', 'u7', 1, at(1))),
  settles('and fails', {
    id: 'm4',
    token: 'u7',
    event: 'FAIL',
    to: 'retrying',
    error: boom,
    delayMs: 500,
    checkpoint: at(2),
  }),
  sends('a message to it', message('m4', 'a')),
  inserts('it begins anew', put([order('m5', { key: 'o', input: 'new', onConflict: 'replace' })])),
  inserts('another takes its place', put([order('m6', { key: 'o', onConflict: 'supersede', checkpoint: 1 })])),
  step('some that have ended go', (store) => store.discard(['c1', 'm4', 'c6'])),
  step(
    'and the rest ends',
    together(cancel('stop', 'm1', 'm2', 'm6'), settle({ id: 'm1', token: 'u7', event: 'PARK', to: 'waiting' })),
  ),
  step(
    'the oldest go',
    together(
      (store) =>
        store.retain({ types: new Map(), others: { done: days, dead: days, cancelled: { ...days, count: 1 } } }),
      (store) => store.prune(10),
    ),
  ),
]

export const machines: readonly Step[] = [...resting, ...families, ...keys]
