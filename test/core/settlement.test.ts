/** Settlements: where the chart leads from running, as data. */
import { expect, test } from 'vitest'
import {
  completed,
  dead,
  mayRetry,
  released,
  retryAfter,
  snoozedFor,
  type LeaseRef,
} from '../../src/core/settlement.ts'

const held: LeaseRef = { id: 'a', token: 't', attempt: 1, maxAttempts: 2, generation: 1 }
const last: LeaseRef = { ...held, attempt: 2 }
const lease = { id: 'a', token: 't', attempt: 1 }
const boom = { name: 'Error', message: 'boom' }

test('each ending says who settles, and where the chart leads', () => {
  expect(completed(held, { ok: true })).toEqual({ ...lease, event: 'COMPLETE', to: 'done', output: { ok: true } })
  expect(completed(held, undefined)).toEqual({ ...lease, event: 'COMPLETE', to: 'done' })
  expect(retryAfter(held, boom, 5)).toEqual({ ...lease, event: 'FAIL', to: 'retrying', error: boom, delayMs: 5 })
  expect(dead(held, boom)).toEqual({ ...lease, event: 'FAIL', to: 'dead', error: boom, fatal: true })
  expect(snoozedFor(held, 5)).toEqual({ ...lease, event: 'SNOOZE', to: 'scheduled', delayMs: 5 })
  expect(released(held, 'shutdown')).toEqual({ ...lease, event: 'RELEASE', to: 'queued', reason: 'shutdown' })
})

test('a failure may be followed by another attempt while one is left', () => {
  expect([mayRetry(held), mayRetry(last)]).toEqual([true, false])
  expect(retryAfter(last, boom, 5).to).toBe('dead')
})
