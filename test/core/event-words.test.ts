import { expect, test } from 'vitest'
import { actorOf, eventInWords, noteInWords } from '../../src/core/event-words.ts'

test.each([
  ['APPROVE', 'APPROVE'],
  ['payment.done', 'payment.done'],
  ['xstate.init', 'start'],
  ['xstate.stop', 'stop'],
  ['xstate.done.actor.charge', 'charge done'],
  ['xstate.error.actor.charge', 'charge failed'],
  ['xstate.snapshot.charge', 'charge changed'],
  ['xstate.done.actor.0.order.paying', 'work of paying done'],
  ['xstate.error.actor.1.paying', 'work of paying failed'],
  ['xstate.done.actor.image.3', 'image.3 done'],
  ['xstate.after.5000.order.paying', 'after 5 s'],
  ['xstate.after.90000.order', 'after 1 min 30 s'],
  ['xstate.after.graceTime.order.paying', 'after graceTime'],
  ['xstate.done.state.order.packing', 'packing done'],
  ['xstate.route.to.x', 'route.to.x'],
  ['job.cancel', 'cancel'],
  ['jobchart.attempt.failed', 'attempt failed'],
  ['toString', 'toString'],
])('%s is %s', (type, words) => {
  expect(eventInWords(type)).toBe(words)
})

test.each([
  ['APPROVE → shipping', 'APPROVE → shipping'],
  ['xstate.init → asked', 'start → asked'],
  ['xstate.done.actor.a → (x.y, z), xstate.error.actor.b → w', 'a done → (x.y, z), b failed → w'],
  ['charge: attempt 2 failed, xstate.after.5000.m.s → s', 'charge: attempt 2 failed, after 5 s → s'],
  ['job.cancel → ending', 'cancel → ending'],
  ['', ''],
])('the note %s is %s', (note, words) => {
  expect(noteInWords(note)).toBe(words)
})

test('an event of an actor names it', () => {
  expect(['xstate.done.actor.a.b', 'xstate.snapshot.c', 'APPROVE'].map(actorOf)).toEqual(['a.b', 'c', null])
})
