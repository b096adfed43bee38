/** For each promise a good story that is clean, and bad ones that are caught. */
import { expect, test } from 'vitest'
import { invariants } from 'jobchart/store-testing'
import { badStories, forget, keep, overlapping, simple, twoAttempts, unanswer, uncall } from './history-bad-stories.ts'
import { badHookStories } from './history-hook-stories.ts'
import { badMachineStories, machineStory } from './history-machine-stories.ts'
import { prune } from '../../src/store-testing/conformance/acts.ts'
import { broken, check, drop, leaseMs, rest, Story } from './history-story.ts'

/** A story of everything: retries, releases, rescues, cancels, keys, a pause, a prune. */
async function goodStory(): Promise<Story> {
  const story = new Story()
  await story.enqueue('a')
  await story.run()
  await story.enqueue('flaky')
  await story.settle((await story.claim())[0], 'RELEASE')
  await story.settle((await story.claim())[0], 'FAIL')
  await story.store.promote(10)
  const [slow] = await story.claim()
  await story.extend(slow)
  await story.pass(leaseMs)
  await story.store.rescue(10)
  // Its worker comes back from the dead.
  await story.settle(slow)
  await story.run()
  await story.enqueue('never')
  await story.cancel('never')
  await story.enqueue('stopped')
  const [stopped] = await story.claim()
  await story.cancel('stopped')
  await story.settle(stopped)
  await story.retry('stopped')
  await story.run()
  await story.enqueue('k1', { key: 'k' })
  await story.enqueue('k2', { key: 'k' })
  const [k1] = await story.claim()
  await story.enqueue('k3', { key: 'k', onConflict: 'supersede' })
  await story.settle(k1)
  await story.run()
  await story.enqueue('k4', { key: 'k' })
  await story.run()
  await story.pause(true)
  await story.enqueue('patient')
  await story.claim()
  await story.pause(false)
  await story.run()
  await prune(story.store, { done: keep, dead: keep, cancelled: keep }, 10)
  return story
}

test('a good story is clean, and its figures say how much happened', async () => {
  const verdict = check(await (await goodStory()).end())
  expect(verdict.violations).toEqual([])
  expect(verdict.figures).toMatchObject({ jobs: 8, attempts: 11, rescues: 1, lostSettles: 1, unknown: 0 })
})

test('a key that is free at the start, and a job that follows another one, are no violations', async () => {
  const story = new Story()
  await story.enqueue('a', { key: 'k', until: 'start' })
  const [a] = await story.claim()
  await story.enqueue('b', { key: 'k' })
  await story.settle(a)
  const [b] = await story.claim()
  await story.enqueue('c', { key: 'k', onConflict: 'follow' })
  await story.enqueue('d', { key: 'k', onConflict: 'follow' })
  await story.settle(b)
  await story.run()
  const verdict = check(await story.end())
  expect(verdict.violations).toEqual([])
  expect(verdict.figures).toMatchObject({ jobs: 3, attempts: 3 })
})

test('a job with a call in a time that the server has lost is not judged, nor what is bound to it; all others are', async () => {
  const story = new Story()
  await story.enqueue('before')
  await story.enqueue('holder', { key: 'k' })
  await story.pass(100)
  const from = story.clock.now()
  await story.enqueue('lost')
  await story.cancel('holder')
  const to = story.clock.now()
  await story.pass(100)
  await story.enqueue('after', { key: 'k' })
  while ((await story.store.counts()).queued > 0) await story.run()
  const end = await story.end()
  drop(end, 'lost')
  forget(end, 'holder', 'CANCEL')
  const losses = [{ from, to }]
  expect(broken(end)).toContain('I2')
  expect(check({ ...end, losses }).violations).toEqual([])
  // The jobs of the key k are bound to each other.
  expect(check({ ...end, losses }).figures.leftOut).toBe(3)
  drop(end, 'before')
  expect(check({ ...end, losses }).violations).toHaveLength(1)
})

test('a pause that the server has lost lets jobs start', async () => {
  const story = new Story()
  await story.enqueue('a')
  await story.pass(100)
  const from = story.clock.now()
  await story.pause(true)
  const to = story.clock.now()
  await story.pass(100)
  await story.bare.queue('job', { paused: false })
  await story.run()
  const end = await story.end()
  expect(broken(end)).toEqual(['I10'])
  expect(broken({ ...end, losses: [{ from, to }] })).toEqual([])
})

test('the lines of processes may come in any order', async () => {
  const end = await (await goodStory()).end()
  const byHalf = [...end.lines.slice(20), ...end.lines.slice(0, 20)]
  expect(check({ ...end, lines: byHalf }).violations).toEqual([])
})

test.each([...badStories, ...badMachineStories, ...badHookStories])(
  '$what',
  async ({ caught, tell = simple, bend }) => {
    const story = new Story()
    await tell(story)
    const end = await story.end()
    // The story itself is good, but for one that is bad without being bent.
    if (bend !== undefined) expect(check(end).violations).toEqual([])
    bend?.(end)
    const { violations } = check(end)
    expect(broken(end), JSON.stringify(violations, null, 2)).toEqual(caught)
    for (const { message } of violations) expect(message).not.toMatch(/undefined|\[object/)
  },
)

test('every promise that is checked has a bad story', () => {
  const caught = new Set([...badStories, ...badMachineStories, ...badHookStories].flatMap((story) => story.caught))
  expect([...caught].toSorted()).toEqual(Object.keys(invariants).toSorted())
})

test('starts within the window are clean, and so are steps that another job or an earlier generation has stored', async () => {
  const story = new Story()
  await story.enqueue('a')
  const [a] = await story.claim()
  await story.cancel('a')
  await story.begin(a)
  await story.settle(a, 'RELEASE')
  await story.retry('a')
  const [again] = await story.claim()
  await story.begin(again)
  await story.step(again, 'charge')
  await story.settle(again, 'FAIL')
  await story.store.promote(10)
  const [third] = await story.claim()
  await story.begin(third)
  await story.settle(third, 'FAIL')
  await story.store.promote(10)
  await story.settle((await story.claim())[0], 'FAIL')
  await story.retry('a')
  const [anew] = await story.claim()
  await story.step(anew, 'charge')
  await story.settle(anew)
  await story.enqueue('b')
  const [b] = await story.claim()
  await story.step(b, 'charge')
  await story.settle(b)
  const { violations, figures } = check({ ...(await story.end()), startMs: 50 })
  expect(violations).toEqual([])
  expect(figures).toMatchObject({ runs: 3, steps: 3 })
})

test('a handler that started long before its job was cancelled or its queue paused is clean', async () => {
  const story = new Story()
  await story.enqueue('a')
  await story.enqueue('b')
  const [a, b] = await story.claim(2)
  await story.begin(a)
  await story.begin(b)
  await story.pass(500)
  await story.cancel('a')
  await story.pause(true)
  await story.pass(300)
  await story.settle(a)
  await story.settle(b)
  expect(check({ ...(await story.end()), startMs: 10 }).violations).toEqual([])
})

test('limits that are kept are clean', async () => {
  const story = new Story()
  await overlapping(story)
  const limits = { job: { concurrency: 2, perKey: 2, rate: { limit: 2, perMs: 1_000 } } }
  expect(check({ ...(await story.end()), limits }).violations).toEqual([])
})

test('a lease that may have been extended without an answer is not taken back late', async () => {
  const story = new Story()
  await story.enqueue('a')
  const [job] = await story.claim()
  await story.pass(leaseMs / 2)
  await story.extend(job)
  await story.pass(leaseMs)
  await story.store.rescue(10)
  await story.run()
  const end = { ...(await story.end()), rescueMs: 100 }
  expect(check(end).violations).toEqual([])
  unanswer(end, 'extend', 0)
  expect(check(end).violations).toEqual([])
})

test('what was not answered may have happened, or not', async () => {
  for (const happened of [true, false]) {
    const story = new Story()
    await simple(story)
    await story.enqueue('maybe')
    await story.cancel('maybe')
    const end = await story.end()
    uncall(end, 'cancel', 0)
    unanswer(end, 'insert', 1)
    if (!happened) drop(end, 'maybe')
    expect(check(end).violations).toEqual([])
    expect(check(end).figures.unknown).toBe(1)
  }
})

test('what a claim that was not answered has leased may be released by its token', async () => {
  const story = new Story()
  await story.enqueue('a')
  await story.settle((await story.claim())[0], 'RELEASE')
  await story.run()
  const end = await story.end()
  unanswer(end, 'claim', 0)
  expect(check(end).violations).toEqual([])
})

test('a claim that was not answered is an attempt all the same', async () => {
  const story = new Story()
  await twoAttempts(story)
  const end = await story.end()
  unanswer(end, 'claim', 0)
  expect(check(end).violations).toEqual([])
  uncall(end, 'rescue', 0)
  forget(end, 'a', 'EXPIRE')
  expect(broken(end)).toContain('I2')
})

test('pruned and discarded jobs are not missed', async () => {
  const story = new Story()
  for (const id of ['a', 'b', 'c']) {
    await story.enqueue(id)
    await story.run()
  }
  await story.store.discard(['a'])
  await prune(story.store, { done: { ageMs: 1e9, count: 1 }, dead: keep, cancelled: keep }, 10)
  const end = await story.end()
  expect(end.final.records.map(({ id }) => id)).toEqual(['c'])
  expect(check(end).violations).toEqual([])
})

test('of many violations of one promise all are counted and some kept', async () => {
  const story = new Story()
  for (let n = 0; n < 50; n++) await story.enqueue(`j${n}`)
  const { violations, counts } = check(await story.end())
  expect(counts).toEqual({ I6: 50 })
  expect(violations).toHaveLength(20)
})

test('a good story of machines is clean', async () => {
  const story = new Story()
  await machineStory(story)
  // A job that is written to is no machine, but its messages are numbered all the same.
  await story.enqueue('plain')
  await story.send('plain', 'l1')
  await story.run()
  await story.enqueue('fork', { checkpoint: 'of another' })
  const [fork] = await story.claim()
  await story.settle(fork, 'COMPLETE', rest(2))
  const verdict = check(await story.end())
  expect(verdict.violations).toEqual([])
  expect(verdict.figures).toMatchObject({ jobs: 3, attempts: 6 })
})

test('a machine that an event ends before it reads the next one is clean', async () => {
  const story = new Story()
  await story.enqueue('a')
  await story.send('a', 'l1', 'l2')
  await story.settle((await story.claim())[0], 'COMPLETE', rest(1, 1))
  expect(check(await story.end()).violations).toEqual([])
})

test('a machine that had ended, and only executes what its last checkpoint left, reads nothing', async () => {
  const story = new Story()
  await story.enqueue('a')
  const [first] = await story.claim()
  await story.checkpoint(first, { ...rest(1), state: { snapshot: { status: 'done' } } })
  await story.send('a', 'l1')
  await story.crash()
  await story.settle((await story.claim())[0], 'COMPLETE', rest(2))
  expect(check(await story.end()).violations).toEqual([])
})

test('a machine that was retried, from its start or not, is clean', async () => {
  const story = new Story()
  for (const [id, fromStart] of Object.entries({ again: false, anew: true })) {
    await story.enqueue(id, { maxAttempts: 1 })
    await story.send(id, 'l1', 'l2', 'l3')
    const [job] = await story.claim()
    await story.checkpoint(job, rest(1))
    await story.settle(job, 'FAIL', rest(2, 1))
    await story.store.retry([id], fromStart)
    await story.send(id, 'l4')
    const [second] = await story.claim()
    await story.settle(second, 'COMPLETE', fromStart ? rest(1, 4) : rest(3, 4))
  }
  const end = await story.end()
  expect(check(end).violations).toEqual([])
  // Nobody knows whether the retry was: only what cannot be in either case is wrong.
  unanswer(end, 'retry', 1)
  expect(check(end).violations).toEqual([])
})

test('a machine that was sent its cancel may go on, and end in any way', async () => {
  for (const [event, taken] of [
    ['COMPLETE', true],
    ['COMPLETE', false],
    ['FAIL', false],
  ] as const) {
    const story = new Story()
    await story.enqueue('a', { maxAttempts: 1 })
    await story.settle((await story.claim())[0], 'PARK', rest(1, 0, true))
    await story.cancel('a')
    await story.settle((await story.claim())[0], 'PARK', rest(2, 1, true))
    await story.send('a', 'l1')
    await story.settle((await story.claim())[0], event, rest(3, 2), taken)
    expect(check(await story.end()).violations).toEqual([])
  }
})

test('children that are cancelled with their parent were cancelled', async () => {
  const story = new Story()
  await story.enqueue('p')
  await story.enqueue('c', { parent: { id: 'p', checkins: false } })
  await story.cancel('p')
  expect(check(await story.end()).violations).toEqual([])
})

test('a checkpoint that was not answered may be written, or not', async () => {
  for (const written of [true, false]) {
    const story = new Story()
    await story.enqueue('a')
    await story.send('a', 'l1', 'l2')
    const [first] = await story.claim()
    await story.checkpoint(first, rest(1, 1))
    if (written) await story.checkpoint(first, rest(2, 2))
    await story.crash()
    const [second] = await story.claim()
    await story.settle(second, 'COMPLETE', rest(written ? 3 : 2, 2))
    const end = await story.end()
    if (written) unanswer(end, 'checkpoint', 1)
    expect(check(end).violations).toEqual([])
    // What the log does not tell any more is not known, and not held against anybody.
    end.final.transitions = end.final.transitions?.slice(2) ?? []
    expect(check(end).violations).toEqual([])
  }
})

test('a machine whose input was replaced started over, nobody knows when', async () => {
  const story = new Story()
  await story.enqueue('a', { key: 'k' })
  await story.settle((await story.claim())[0], 'RELEASE', rest(1))
  await story.enqueue('b', { key: 'k', onConflict: 'replace' })
  await story.settle((await story.claim())[0], 'COMPLETE', rest(1))
  expect(check(await story.end()).violations).toEqual([])
})

test('steps of a job whose input may have been replaced may run again', async () => {
  const story = new Story()
  await story.enqueue('a', { key: 'k' })
  const [first] = await story.claim()
  await story.step(first, 'charge')
  await story.settle(first, 'RELEASE')
  await story.pass(10)
  await story.enqueue('b', { key: 'k', onConflict: 'replace' })
  const [second] = await story.claim()
  await story.step(second, 'charge')
  await story.settle(second, 'COMPLETE')
  const end = await story.end()
  expect(check(end).violations).toEqual([])
  unanswer(end, 'insert', 1)
  expect(check(end).violations).toEqual([])
})
