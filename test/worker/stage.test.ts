import { expect, test, vi } from 'vitest'
import { stage } from '../../src/worker/stage.ts'
import { marbles, quiet } from '../support/marbles.ts'

test('a value whose handler throws harms no other, and its fault is logged', () => {
  const error = vi.fn()
  marbles(({ hot, expectObservable, flush }) => {
    const stream = hot('-abc').pipe(
      stage<string, string>({ ...quiet, error }, (out) => (value) => {
        if (value === 'b') throw new Error('bad')
        out.next(value)
      }),
    )
    expectObservable(stream).toBe('-a-c')
    flush()
  })
  expect(error.mock.calls).toEqual([[expect.any(String), { error: new Error('bad') }]])
})

test('errors and the end of the stream pass', () =>
  marbles(({ hot, expectObservable }) => {
    const passes = stage<string, string>(quiet, (out) => (value) => out.next(value))
    expectObservable(hot('-a|').pipe(passes)).toBe('-a|')
    expectObservable(hot('-a#').pipe(passes)).toBe('-a#')
  }))
