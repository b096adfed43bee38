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

const lease: LeaseRef = { id: 'a', token: 't', attempt: 1, maxAttempts: 2, generation: 1 }
const last: LeaseRef = { ...lease, attempt: 2 }
const ids = { id: 'a', token: 't', attempt: 1 }
const boom = { name: 'Error', message: 'boom' }

test('each ending says who settles, and where the chart leads', () => {
  expect(completed(lease, { ok: true })).toEqual({ ...ids, event: 'COMPLETE', to: 'done', output: { ok: true } })
  expect(completed(lease, undefined)).toEqual({ ...ids, event: 'COMPLETE', to: 'done' })
  expect(retryAfter(lease, boom, 5)).toEqual({ ...ids, event: 'FAIL', to: 'retrying', error: boom, delayMs: 5 })
  expect(dead(lease, boom)).toEqual({ ...ids, event: 'FAIL', to: 'dead', error: boom, fatal: true })
  expect(snoozedFor(lease, 5)).toEqual({ ...ids, event: 'SNOOZE', to: 'scheduled', delayMs: 5 })
  expect(released(lease, 'shutdown')).toEqual({ ...ids, event: 'RELEASE', to: 'queued', reason: 'shutdown' })
})

test('a failure may be followed by another attempt while one is left', () => {
  expect([mayRetry(lease), mayRetry(last)]).toEqual([true, false])
  expect(retryAfter(last, boom, 5).to).toBe('dead')
})
