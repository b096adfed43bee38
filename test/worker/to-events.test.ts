import { map } from 'rxjs'
import { test } from 'vitest'
import { completed } from '../../src/core/settlement.ts'
import { toEvents } from '../../src/worker/to-events.ts'
import { marbles, quiet, settled, workerParts } from '../support/marbles.ts'

const { runOf } = workerParts()
const runs = [runOf('a'), runOf('b'), runOf('c')]
const settlements = runs.map(({ claimed }) => completed(claimed, undefined))
const woken = { ...settled, id: 'p', type: 'parent', event: 'WAKE', from: 'waiting', to: 'queued' } as const
const answers = [settled, { ...settled, outcome: 'lost' } as const, { ...settled, woken }]

const eventsFor = (listened: readonly string[], expected: string): void =>
  marbles(({ hot, expectObservable }) => {
    const hub = { hasListeners: listened.length > 0, hasListener: (id: string) => listened.includes(id) }
    const events = hot('-s', { s: { runs, settlements, answers } }).pipe(
      toEvents({ worker: 'w', hub, logger: quiet }),
      map(({ id, event, to }) => `${id} ${event} ${to}`),
    )
    expectObservable(events).toBe(expected, { a: 'a COMPLETE done', p: 'p WAKE queued', c: 'c COMPLETE done' })
  })

test('written ends are events in their order, each after the wake that it caused; a lost one is none', () =>
  eventsFor(['a', 'b', 'c'], '-(apc)'))

test('no event is made of a job that nobody listens to, and none at all without listeners', () => {
  eventsFor(['c'], '-(pc)')
  eventsFor([], '')
})
