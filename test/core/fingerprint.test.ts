/** Which errors are of one group: those that differ in what varies from job to job, and in nothing else. */
import { expect, test } from 'vitest'
import { recordError } from '../../src/core/failure.ts'
import { failureOf, messagePattern } from '../../src/core/fingerprint.ts'

test('numbers, ids, addresses and quoted text of a message are left out', () => {
  const patterns = {
    'user 17 of 1,204 after 3.25 s': 'user … of …,… after … s',
    'no user "ada" in `users`': 'no user … in …',
    "Cannot read properties of undefined (reading 'name')": 'Cannot read properties of undefined (reading …)',
    "it isn't there, and wasn't": "it isn't there, and wasn't",
    'job 4e8b9d1c-0c1f-4f0e-9a53-1c2d3e4f5a6b is gone': 'job … is gone',
    'key V1StGXR8_Z5jdHi6B is taken': 'key … is taken',
    'attempt 2 of job P7e-w6kXWy-lt9Cmto2-A (send) is over': 'attempt … of job … (send) is over',
    'job P-cQfGxlS_WyaBeDw--rA/dead/1 is gone': 'job …/dead/… is gone',
    'Transaction-Isolation of at-most-once-delivery': 'Transaction-Isolation of at-most-once-delivery',
    'connect ECONNREFUSED 127.0.0.1:6379': 'connect ECONNREFUSED …:…',
    'GET https://example.com/orders/17?x=1 answered 503': 'GET … answered 503',
    'Request failed with status code 404': 'Request failed with status code 404',
    'HTTP 500: order 500 is lost': 'HTTP 500: order … is lost',
    'HTTP/1.1 502 Bad Gateway': 'HTTP/… 502 Bad Gateway',
    '404 Not Found': '404 Not Found',
    '550 mailbox 4711 unavailable': '550 mailbox … unavailable',
    'user 404 of 500 was not found after 300 ms': 'user … of … was not found after … ms',
    '4042 rows': '… rows',
    'error 17': 'error …',
    'mailbox ada.lovelace@example.com is full': 'mailbox … is full',
    'at 0xDEADBEEF': 'at …',
    'no answer for cus_9Qa4x of sku-48813': 'no answer for cus_… of sku-…',
    'order ord_7 and ord-b2 are locked': 'order ord_… and ord-… are locked',
    'commit 1f3a9c is not in 9ab0f1c2': 'commit … is not in …',
    'token V1StG8r2 has expired': 'token … has expired',
    'decade, feedface and facade are words': 'decade, feedface and facade are words',
    'not-found: read-only, at-most-once': 'not-found: read-only, at-most-once',
    'the lease ran out: its worker died': 'the lease ran out: its worker died',
    '': '',
  }
  for (const [message, pattern] of Object.entries(patterns)) expect(messagePattern(message), message).toBe(pattern)
})

test('a pattern is not changed by being one', () => {
  for (const message of ['user "ada" 17', "of 'x' 1.2.3", 'https://a.b/c d@e.f 0xff']) {
    expect(messagePattern(messagePattern(message))).toBe(messagePattern(message))
  }
})

test('of a long message the beginning counts, and it takes no time', () => {
  const long = `${'"'.repeat(5_000)}${'a'.repeat(100_000)}@`
  const began = performance.now()
  expect(messagePattern(long).length).toBeLessThanOrEqual(300)
  for (const bad of ["'".repeat(300), 'a@'.repeat(150), 'a.'.repeat(150), `a${'+'.repeat(299)}`, '0'.repeat(300)])
    messagePattern(bad)
  expect(performance.now() - began).toBeLessThan(50)
})

test('errors of other classes, codes and statuses are of other groups', () => {
  class CardDeclined extends Error {}
  const http = (status: number) =>
    Object.assign(new Error('refused'), { code: 'ERR_BAD_REQUEST', response: { status } })
  const of = (thrown: unknown) => failureOf(recordError(thrown))
  expect(of(new CardDeclined('no'))).toMatchObject({ name: 'CardDeclined' })
  expect(of(new CardDeclined('no')).fingerprint).not.toBe(of(new Error('no')).fingerprint)
  expect(of(http(404))).toMatchObject({ code: 'ERR_BAD_REQUEST 404' })
  expect(of(http(404)).fingerprint).not.toBe(of(http(500)).fingerprint)
  expect(of(Object.assign(new Error('no'), { status: 503 }))).toMatchObject({ code: '503' })
  expect(of(Object.assign(new Error('no'), { statusCode: '418' }))).toMatchObject({ code: '418' })
  for (const status of [17, 'gone', 4040, null]) {
    expect(of(Object.assign(new Error('no'), { status })).code).toBe(null)
  }
})

test('a fingerprint is that of name, code and pattern', () => {
  const error = { name: 'Error', message: 'no user 17', code: 'E_USER' }
  const { fingerprint, ...failure } = failureOf(error)
  expect(failure).toEqual({ name: 'Error', code: 'E_USER', message: 'no user …' })
  expect(fingerprint).toMatch(/^[\w-]{16}$/)
  expect(failureOf({ ...error, message: 'no user 4711' }).fingerprint).toBe(fingerprint)
  for (const other of [{ name: 'TypeError' }, { code: 'E_OTHER' }, { message: 'no users 17' }]) {
    expect(failureOf({ ...error, ...other }).fingerprint).not.toBe(fingerprint)
  }
  expect(failureOf({ name: 'Error', message: '' }).code).toBe(null)
})
