/**
 * Everything that can be asked of a store, in an order that never changes: ids, tokens and times are written down, so
 * that two runs leave the same file behind, and one that was cut short can be gone on with by somebody who knows
 * nothing of it.
 *
 * What a step asks is asked in one turn, and so is one transaction.
 */
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock, type Clock } from '../../../src/core/clock.ts'
import type { NewJob, Store } from '../../../src/store.ts'
import { changeMatching, newJob, workerInfo } from '../../../src/store-testing/conformance/acts.ts'
import { machines } from './machine-script.ts'
import { schedules } from './schedule-script.ts'
import { boom, cancel, claim, inserts, put, settle, settles, step, together, type Step } from './steps.ts'

const worker = workerInfo('w1')

const mail = (id: string, fields: Partial<NewJob> = {}): NewJob => newJob(id, fields)
const sms = (id: string, fields: Partial<NewJob> = {}): NewJob => newJob(id, { ...fields, type: 'sms' })

const days = { ageMs: 1e9, count: 100 }
const keepAll = { done: days, dead: days, cancelled: days }

const arrivals: readonly Step[] = [
  step('a worker', (store) => store.worker('w1', worker)),
  inserts(
    'some jobs',
    put([mail('a', { concurrencyKey: 'x' }), mail('b', { concurrencyKey: 'x', priority: 5 }), mail('c')]),
  ),
  inserts('keys', put([mail('k1', { key: 'k', input: 'old' }), sms('k2', { key: 'k' }), mail('l', { key: 'l' })])),
  inserts(
    'taken keys',
    put([mail('k3', { key: 'k' })]),
    put([mail('k4', { key: 'k', input: 'new', onConflict: 'replace' })]),
  ),
  inserts('a supersede', put([mail('l2', { key: 'l', onConflict: 'supersede', concurrencyKey: 'y' })])),
  inserts('no room', put([sms('n1'), sms('n2', { key: 'n' })], 7), put([sms('n3')], 8)),
  inserts('an id of another type', put([sms('o1', { concurrencyKey: 'z' }), sms('a'), sms('o2')])),
  inserts('delays', put([mail('d1', { delayMs: 1_000 }), sms('d2', { delayMs: 2_000, concurrencyKey: 'z' })])),
]

const runs: readonly Step[] = [
  step('a claim under a cap per key', claim('t1', 'mail', 10, { perKey: 1 })),
  step('a claim of a capped type', claim('t2', 'sms', 5, { concurrency: 1 })),
  step('a heartbeat', (store) => {
    const logs = [{ at: 1, attempt: 1, message: 'half way' }]
    const beat = { id: 'b', attempt: 1, token: 't1', checkin: { at: 1, value: 50 }, logs, steps: { charge: 1 } }
    return store.extend({ worker: 'w1', leaseMs: 60_000, heartbeats: [beat, { id: 'c', attempt: 1, token: 'stolen' }] })
  }),
  settles('a success', { id: 'c', token: 't1', event: 'COMPLETE', to: 'done', output: { ok: true } }),
  settles('a failure', { id: 'b', token: 't1', event: 'FAIL', to: 'retrying', error: boom, delayMs: 500 }),
  step('a cancel of one that runs', cancel('enough', 'k1', 'nobody')),
  settles('and its end', { id: 'k1', token: 't1', event: 'FAIL', to: 'retrying', error: boom, delayMs: 500 }),
  settles('an end for good', { id: 'k2', token: 't2', event: 'FAIL', fatal: true, to: 'dead', error: boom }),
  step('a supersede of one that runs', put([mail('l3', { key: 'l', onConflict: 'supersede', maxAttempts: 1 })])),
  settles('which goes on for a while', { id: 'l2', token: 't1', event: 'RELEASE', to: 'queued' }),
  step('what is due', (store) => Promise.resolve(store.promote(10)), 1_000),
  step('a claim with a rate', claim('t3', 'sms', 5, { rate: { limit: 1, perMs: 60_000 } }), 1_000),
  step('what is due later', (store) => Promise.resolve(store.promote(10))),
  step('the rate again', claim('t4', 'sms', 5, { rate: { limit: 2, perMs: 60_000 } })),
  settles(
    'snooze and park',
    { id: 'd2', token: 't4', event: 'SNOOZE', to: 'scheduled', delayMs: 300 },
    { id: 'n3', token: 't3', event: 'PARK', to: 'waiting', delayMs: 200 },
  ),
]

const administration: readonly Step[] = [
  step('a wake-up', (store) => Promise.resolve(store.promote(10)), 1_000),
  step('a pause', (store) => store.queue('mail', { paused: true })),
  step('a claim while paused', claim('t5', 'mail', 10)),
  step('the pause ends', (store) => store.queue('mail', { paused: false })),
  step('another worker claims', claim('t6', 'mail', 2, {}, 'w2')),
  step('its leases run out', (store) => Promise.resolve(store.rescue(10)), 20_000),
  step('a third one claims', claim('t7', 'mail', 1, {}, 'w3')),
  settles('and gives it back', {
    id: 'b',
    attempt: 3,
    token: 't7',
    event: 'RELEASE',
    to: 'queued',
    reason: 'shutdown',
  }),
  step(
    'a whole turn',
    together(
      put([mail('p', { concurrencyKey: 'x', key: 'p' })]),
      claim('t8', 'mail', 10),
      settle(
        { id: 'p', token: 't8', event: 'COMPLETE', to: 'done' },
        { id: 'd1', token: 't8', event: 'PARK', to: 'waiting' },
      ),
      cancel('too late', 'p', 'd1', 'n3'),
      put([mail('q'), mail('a', { type: 'fax' })]),
      put([mail('r', { key: 'p' })]),
    ),
  ),
  step('retries', (store) => Promise.resolve(store.retry(['k2', 'k1', 'c', 'l']))),
  step('a cancel by filter', async (store) => changeMatching(store, 'cancel', { concurrencyKey: 'x' })),
  step(
    'the oldest ones go',
    together(
      (store) =>
        store.retain({
          types: new Map([['mail', { done: { ...days, count: 1 }, dead: days, cancelled: days }]]),
          others: keepAll,
        }),
      (store) => store.prune(10),
    ),
  ),
  step('a discard', (store) => store.discard(['d1', 'l', 'q'])),
  inserts('its id comes back', put([sms('d1', { concurrencyKey: 'y' })])),
  step('the worker leaves', (store) => store.worker('w1', null)),
  step('all leases run out', (store) => Promise.resolve(store.rescue(100)), 100_000),
]

const fax = (id: string, fields: Partial<NewJob>): NewJob => newJob(id, { ...fields, type: 'fax' })

const succession: readonly Step[] = [
  inserts('a key until the start', put([fax('s1', { key: 's', until: 'start' }), fax('s2', { key: 'u' })])),
  step('its start', claim('t9', 'fax', 2)),
  inserts(
    'what comes of the keys then',
    put([fax('s3', { key: 's', delayMs: 500 }), fax('s4', { key: 'u', onConflict: 'follow' })]),
  ),
  inserts('another input for it', put([fax('s5', { key: 'u', onConflict: 'follow', delayMs: 700 })])),
  settles('one is to be retried', { id: 's1', token: 't9', event: 'FAIL', to: 'retrying', error: boom, delayMs: 900 }),
  step('and cancelled', cancel('enough', 's1')),
  settles('the other one ends', { id: 's2', token: 't9', event: 'COMPLETE', to: 'done' }),
]

const deaths: readonly Step[] = [
  inserts('jobs with one attempt', put([fax('h1', { maxAttempts: 1, tags: ['red'] }), fax('h2', { maxAttempts: 1 })])),
  step('a claim that names their hook', claim('t10', 'fax', 10, { onDead: 'fax:dead' })),
  settles('a death', { id: 'h1', token: 't10', event: 'FAIL', to: 'dead', error: boom }),
  step('a death by a lost lease', (store) => Promise.resolve(store.rescue(10)), 20_000),
  step('their hooks', claim('t11', 'fax:dead', 10)),
  settles('the end of a hook', { id: 'h1/dead/1', token: 't11', event: 'COMPLETE', to: 'done' }),
]

export const script: readonly Step[] = [
  ...arrivals,
  ...runs,
  ...administration,
  ...machines,
  ...succession,
  ...schedules,
  ...deaths,
]

/** When the script begins, ms since the epoch. */
export const beginning = 1_700_000_000_000

/** When a step is asked. */
export const timeOf = (index: number): number =>
  script.slice(0, index + 1).reduce((time, { later }) => time + later, beginning)

export interface Player {
  readonly store: Store
  /** Asks one step, at its time. */
  readonly play: (index: number) => Promise<unknown>
}

/** Plays the script, or a part of it, on a file. */
export async function playerOn(path: string, onStatement?: () => void): Promise<Player> {
  let time = beginning
  // Time stands still within a step, so that no transaction lasts too long to take on all of a turn.
  const clock: Clock = { ...systemClock, now: () => time, monotonic: () => 0 }
  const store = sqliteStore({ path, durability: 'normal', ...(onStatement && { onStatement }) })
  await store.open({ clock })
  return {
    store,
    async play(index) {
      time = timeOf(index)
      return (await script[index]?.ask(store)) ?? null
    },
  }
}
