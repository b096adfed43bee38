/** Mistakes that the unit of the core could make, which hold for every store. */
import { inGetter, inMethod, type Injection } from '../support/faults.ts'
import type { Mutant } from './hunt.ts'

const units = () => import('../../src/core/unit.ts')

const mutant = (name: string, noticedBy: string, fault: Injection): Mutant => ({
  name: `unit: ${name}`,
  noticedBy: `contract: ${noticedBy}`,
  fault,
})

export const unitMutants: readonly Mutant[] = [
  mutant(
    'ids without a job are not reported',
    'cancel: each id is reported: cancelled, cancelling, finished or not found',
    inMethod(units, 'Unit', 'findEach', (findEach) => (ids) => ({ ...findEach(ids), notFound: [] })),
  ),
  mutant(
    'an id that is named twice is found twice',
    'cancel: each id is reported: cancelled, cancelling, finished or not found',
    inMethod(units, 'Unit', 'findEach', (findEach) => (ids) => {
      const found = ids.map((id) => findEach([id]))
      return { rows: found.flatMap(({ rows }) => rows), notFound: found.flatMap(({ notFound }) => notFound) }
    }),
  ),
  mutant(
    'a batch has no next one',
    'bulk: an operation is done in batches, and keeps its progress with each',
    inMethod(units, 'Unit', 'select', (select) => (selection, states) => ({
      ...select(selection, states),
      next: null,
    })),
  ),
  mutant(
    'a batch starts at the first job',
    'bulk: jobs that were enqueued, or that have ended, after the start are not changed',
    inMethod(
      units,
      'Unit',
      'select',
      (select) =>
        ({ filter, limit = 100 }, states) =>
          select({ filter, limit }, states),
    ),
  ),
  mutant(
    'a job that waits for another one is due at once',
    'succession: the claim of a job frees a key held until the start, and the next job of the key waits for its end',
    inMethod(units, 'Unit', 'waitForPredecessor', () => () => {}),
  ),
  mutant(
    'a replaced input is not kept',
    'unique: replace sets the new input of a job that has not started, which keeps its place',
    inMethod(units, 'Unit', 'replaceInput', () => () => {}),
  ),
  mutant(
    'results of steps are not kept',
    'extend: the next attempt gets the results of completed steps',
    inMethod(units, 'Unit', 'keepSteps', () => () => {}),
  ),
  mutant(
    'what was read stays in the inbox',
    'messages: a checkpoint takes what it has read out of the inbox, and answers with the rest',
    inMethod(units, 'Unit', 'markRead', () => () => {}),
  ),
  mutant(
    'a message is not kept',
    'messages: messages are numbered in the order in which they come, whatever state their job is in',
    inMethod(units, 'Unit', 'addMessage', () => () => {}),
  ),
  mutant(
    'all messages are unread',
    'messages: a heartbeat brings the messages after the one it names, and none if it names none',
    inMethod(units, 'Unit', 'inbox', (inbox) => (row) => inbox(row, 0)),
  ),
  mutant(
    'a checkpoint is not kept',
    'machine: a checkpoint is kept, and the next attempt goes on from it',
    inMethod(units, 'Unit', 'addCheckpoint', () => () => {}),
  ),
  mutant(
    'a checkpoint says nothing about a cancel',
    'gentle cancel: a machine that handles a cancel gets a message first, and continues to run',
    inMethod(units, 'Unit', 'addCheckpoint', (add) => (row, checkpoint) => {
      add(row, { ...checkpoint, takesCancel: false })
    }),
  ),
  mutant(
    'states of machines are not indexed anew',
    'machine counts: a parked job is listed and counted by the states that a deployment gives it, and nothing else of it changes',
    inMethod(units, 'Unit', 'setStanding', () => () => {}),
  ),
  mutant(
    'ends of machines are not counted',
    'machine counts: machines that are done are counted by how they ended, also when their jobs are removed',
    inMethod(units, 'Unit', 'countOutcome', () => () => {}),
  ),
  mutant(
    'a removed job stays',
    'again: a discarded job does not exist any more, and its id is free',
    inMethod(units, 'Unit', 'remove', () => () => {}),
  ),
  mutant(
    'children are cancelled in any order',
    'family cancel: a cancel also cancels the children and their descendants: reported as transitions, not by ids',
    inMethod(units, 'Unit', 'children', (children) => (row) => children(row).toReversed()),
  ),
  mutant(
    'nothing is due next',
    'time: due jobs are promoted, earliest first, and never before their due time',
    inGetter(units, 'Unit', 'nextDueAt', () => null),
  ),
  mutant(
    'no lease runs out next',
    'time: a job whose lease has run out is queued again at its old place, the attempt spent',
    inGetter(units, 'Unit', 'nextExpiryAt', () => null),
  ),
]
