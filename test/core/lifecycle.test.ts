/** The compiled chart against live XState actors of the same machine: they must be one and the same. */
import * as fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createActor, createMachine } from 'xstate'
import {
  jobCounting,
  jobGuards,
  jobMachine,
  type JobCounters,
  type JobMachineEvent,
} from '../../machines/job.machine.ts'
import {
  actorAt,
  allArrows,
  arrows,
  countersAfter,
  isEnded,
  isLeased,
  jobStates,
  nextArrow,
  statesTagged,
  type ArrowEvent,
  type JobState,
} from '../../src/core/lifecycle.ts'
import { isLong } from '../harness/long-form.ts'

const events: readonly JobMachineEvent[] = [
  ...(['DUE', 'CLAIM', 'COMPLETE', 'SNOOZE', 'RELEASE', 'EXPIRE', 'PARK', 'WAKE', 'CANCEL', 'RETRY'] as const).map(
    (type) => ({ type }),
  ),
  { type: 'FAIL' },
  { type: 'FAIL', fatal: true },
  { type: 'FAIL', fatal: false },
]

const arrowOf = (state: JobState, event: JobMachineEvent, counters: JobCounters) =>
  nextArrow(state, event.type, counters, event.type === 'FAIL' && event.fatal === true)

let sent = 0

/** Sends the chosen events to a live actor and to the table, from birth to the end and again from birth. */
function walk(choices: readonly number[], births: readonly JobState[], maxAttempts: number): void {
  let lives = 0
  const begin = () => {
    const state = births[lives++ % births.length] as JobState
    const counters: JobCounters = { attempt: 0, maxAttempts, generation: 1 }
    return { state, counters, actor: actorAt(state, counters) }
  }
  let { state, counters, actor } = begin()
  for (const choice of choices) {
    // Mostly an event that is accepted, for a walk of refusals leads nowhere.
    const accepted = events.filter((each) => arrowOf(state, each, counters) !== null)
    const among = choice % 4 === 0 || accepted.length === 0 ? events : accepted
    const event = among[Math.floor(choice / 4) % among.length] as JobMachineEvent
    const arrow = arrowOf(state, event, counters)
    expect(actor.getSnapshot().can(event), `${event.type} in ${state}`).toBe(arrow !== null)
    actor.send(event)
    sent++
    if (arrow !== null) {
      expect([arrow.event, arrow.from]).toEqual([event.type, state])
      counters = { ...countersAfter(arrow, counters) }
      state = arrow.to
    }
    expect(actor.getSnapshot().value).toBe(state)
    expect(actor.getSnapshot().context).toEqual(counters)
    if (actor.getSnapshot().status === 'done') {
      for (const each of events) expect(arrowOf(state, each, counters)).toBe(null)
      ;({ state, counters, actor } = begin())
    }
  }
}

const walks = isLong ? 400 : 60

test(`${walks * 250} random events lead the table and live actors through the same states and counters`, () => {
  const choices = fc.array(fc.nat(10_000), { minLength: 250, maxLength: 250 })
  const births = fc.shuffledSubarray([...statesTagged('birth')], { minLength: 1 })
  const property = fc.property(choices, births, fc.integer({ min: 1, max: 4 }), walk)
  fc.assert(property, { numRuns: walks })
  expect(sent).toBeGreaterThanOrEqual(walks * 250)
})

test('from every state, with any attempts spent, every event is accepted or refused alike', () => {
  for (const state of jobStates) {
    for (const attempt of [0, 1, 2, 3]) {
      const counters: JobCounters = { attempt, maxAttempts: 2, generation: 3 }
      for (const event of events) {
        const before = jobMachine.resolveState({ value: state, context: counters })
        const arrow = arrowOf(state, event, counters)
        expect(before.can(event), `${event.type} in ${state} after ${attempt}`).toBe(arrow !== null)
        if (arrow === null || isEnded(state)) continue
        const actor = actorAt(state, counters)
        actor.send(event)
        expect([actor.getSnapshot().value, actor.getSnapshot().context]).toEqual([
          arrow.to,
          countersAfter(arrow, counters),
        ])
      }
    }
  }
})

test('a new job is where the chart says it begins, with the counters of its input', () => {
  const snapshot = createActor(jobMachine, { input: { maxAttempts: 7 } })
    .start()
    .getSnapshot()
  expect([snapshot.value, snapshot.context]).toEqual(['queued', { attempt: 0, maxAttempts: 7, generation: 1 }])
  expect(statesTagged('birth').has(snapshot.value)).toBe(true)
})

test('states, tags and arrows are those of the chart', () => {
  const allTags = ['birth', 'live', 'backlog', 'timed', 'leased', 'ended'] as const
  expect(jobStates).toEqual(Object.keys(jobMachine.states))
  for (const state of jobStates) {
    const snapshot = jobMachine.resolveState({ value: state, context: { attempt: 1, maxAttempts: 3, generation: 1 } })
    for (const tag of allTags) expect(statesTagged(tag).has(state), `${tag} of ${state}`).toBe(snapshot.hasTag(tag))
    expect([isEnded(state), isLeased(state)]).toEqual([snapshot.hasTag('ended'), snapshot.hasTag('leased')])
    // A job is live or it has ended.
    expect(snapshot.hasTag('live')).toBe(!snapshot.hasTag('ended'))
  }
  const written = Object.values(jobMachine.states).flatMap((node) => [...node.transitions.values()].flat())
  expect(allArrows.length).toBe(written.length)
})

test('arrows of an event are given by the state they leave', () => {
  const leadsTo = (event: ArrowEvent) =>
    Object.fromEntries(Object.entries(arrows(event)).map(([from, each]) => [from, each.map(({ to }) => to)]))
  expect(leadsTo('CANCEL')).toEqual({
    scheduled: ['cancelled'],
    queued: ['cancelled'],
    running: ['cancelling'],
    retrying: ['cancelled'],
    waiting: ['cancelled'],
  })
  expect(leadsTo('EXPIRE')).toEqual({ running: ['queued', 'dead'], cancelling: ['cancelled'] })
  expect(leadsTo('RETRY')).toEqual({ dead: ['queued'], cancelled: ['queued'] })
})

test('out of cancelling every end of a run leads to cancelled, and nothing else leads anywhere', () => {
  const out = allArrows.filter(({ from }) => from === 'cancelling')
  expect(new Set(out.map(({ to }) => to))).toEqual(new Set(['cancelled']))
  const ends = allArrows.filter(({ from, event }) => from === 'running' && event !== 'CANCEL').map(({ event }) => event)
  expect(new Set(out.map(({ event }) => event))).toEqual(new Set(ends))
})

describe('a chart that the table cannot express is refused at load', () => {
  afterEach(() => {
    vi.doUnmock('../../machines/job.machine.ts')
    vi.resetModules()
  })

  const charts = {
    'a state within a state': [{ queued: { initial: 'inner', states: { inner: {} } } }, 'is not flat'],
    'an eventless transition': [{ queued: { always: 'done' }, done: {} }, 'eventless'],
    'a timer': [{ queued: { after: { 1_000: 'done' } }, done: {} }, 'a timer or an actor'],
    'an actor': [{ queued: { invoke: { src: 'fetch' } } }, 'a timer or an actor'],
    'an entry action': [{ queued: { entry: 'log' } }, 'entry or exit actions'],
    'an exit action': [{ queued: { exit: 'log' } }, 'entry or exit actions'],
    'a guard without a name': [
      { queued: { on: { CLAIM: { target: 'done', guard: () => true } } }, done: {} },
      'has no name',
    ],
    'a guard it does not know': [
      { queued: { on: { CLAIM: { target: 'done', guard: 'lucky' } } }, done: {} },
      'has no name',
    ],
    'an action it does not know': [
      { queued: { on: { CLAIM: { target: 'done', actions: 'log' } } }, done: {} },
      'unknown action',
    ],
    'two actions at once': [
      { queued: { on: { CLAIM: { target: 'done', actions: ['spendAttempt', 'forgetAttempts'] } } }, done: {} },
      'unknown action',
    ],
    'a transition without a target': [{ queued: { on: { CLAIM: { actions: 'spendAttempt' } } } }, 'no single target'],
  } as const

  for (const [what, [states, message]] of Object.entries(charts)) {
    test(what, async () => {
      const config = { id: 'job', initial: 'queued', states } as unknown as Parameters<typeof createMachine>[0]
      const broken = createMachine(config)
      vi.resetModules()
      vi.doMock('../../machines/job.machine.ts', () => ({ jobCounting, jobGuards, jobMachine: broken }))
      await expect(import('../../src/core/lifecycle.ts')).rejects.toThrow(message)
    })
  }
})
