import { expect, test } from 'vitest'
import { actorOf, eventInWords, noteEntries, noteInWords, checkpointNote } from '../../src/core/event-words.ts'

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
  ['', 'state saved'],
  // Notes of older checkpoints were cut anywhere.
  ['xstate.done.actor.a → x, xstate.done.ac…', 'a done → x, and more'],
  ['GO → (a.b, c), xsta…', 'GO → (a.b, c), and more'],
  ['GO → (a.b, c), STOP → (a.b, …', 'GO → (a.b, c), and more'],
  ['xstate.done.actor.a → (x.y, z…', 'a done → (x.y, z…'],
])('the note %s is %s', (note, words) => {
  expect(noteInWords(note)).toBe(words)
})

test('an event of an actor names it', () => {
  expect(['xstate.done.actor.a.b', 'xstate.snapshot.c', 'APPROVE'].map(actorOf)).toEqual(['a.b', 'c', null])
})

test('a long note is cut after a whole entry, and tells how many are left out', () => {
  const rows = Array.from({ length: 50 }, (_, row) => `xstate.done.actor.row-${row} → importing`)
  const note = checkpointNote(rows)
  expect(note.length).toBeLessThanOrEqual(200)
  expect(note).toBe(`${rows.slice(0, 4).join(', ')}, and 46 more`)
  expect(noteInWords(note)).toMatch(/^row-0 done → importing, .* row-3 done → importing, and 46 more$/)
  expect(checkpointNote(rows.slice(0, 3))).toBe(rows.slice(0, 3).join(', '))
})

test('one entry that is too long is cut itself', () => {
  const states = Array.from({ length: 40 }, (_, at) => `region${at}.on`).join(', ')
  const entry = `xstate.done.actor.a → (${states})`
  const note = checkpointNote([entry, 'GO → x'])
  expect(note.length).toBeLessThanOrEqual(200)
  expect(note).toMatch(/…, and 1 more$/)
  expect(noteInWords(note)).toMatch(/^a done → \(region0\.on, /)
})

test('entries of a note are split outside of parentheses', () => {
  expect(noteEntries('A → (x.y, z), charge: attempt 2, B → w')).toEqual(['A → (x.y, z)', 'charge: attempt 2', 'B → w'])
  expect(noteEntries('')).toEqual([])
})
