/** How often an open file is looked at for what other processes do, and how soon they are heard of. In virtual time. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { VirtualClock } from 'jobchart/testing'
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock, type Clock } from '../../src/core/clock.ts'
import type { Hint, Store } from '../../src/store.ts'
import { ChangePoller, type LookResult } from '../../src/stores/sqlite/change-poller.ts'
import { newJob, put, workerInfo } from '../../src/store-testing/conformance/acts.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

function newPath(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return join(folder.path, 'jobs.db')
}

/** A store whose looks at the file are counted. */
async function counted(
  path: string,
): Promise<{ store: Store; clock: VirtualClock; hints: Hint[]; looks: () => number }> {
  let looks = 0
  const clock = new VirtualClock()
  const store = sqliteStore({
    path,
    onStatement: (sql, moment) => void (sql === 'PRAGMA data_version' && moment === 'before' && looks++),
  })
  await store.open({ clock })
  onTestFinished(() => store.close())
  const hints: Hint[] = []
  store.watch((hint) => hints.push(hint))
  return { store, clock, hints, looks: () => looks }
}

async function opened(path: string): Promise<Store> {
  const store = sqliteStore({ path })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

/** Seconds as an idle runtime spends them: a sweep in each, which finds nothing. */
async function idle(store: Store, clock: VirtualClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.advance('1s')
    await store.promote(100)
  }
}

test('an idle process looks at the file four times a second, and its own sweeps do not change that', async () => {
  const { store, clock, looks } = await counted(newPath())
  await put(store, newJob('a'))
  await idle(store, clock, 30)
  const before = looks()
  await idle(store, clock, 10)
  // The sweeps look, too: each begins with what the file says.
  expect(looks() - before).toBeLessThanOrEqual(10 * 4 + 10 + 1)
})

test('a heartbeat of another process is no reason to look more often', async () => {
  const path = newPath()
  const { store, clock, looks } = await counted(path)
  await put(store, newJob('a'))
  const other = await opened(path)
  await other.worker('w', workerInfo('w'))
  await idle(store, clock, 30)
  const before = looks()
  for (let i = 0; i < 10; i++) {
    await idle(store, clock, 1)
    await other.extend({ worker: 'w', leaseMs: 30_000, heartbeats: [] })
  }
  // Each of its writes is reported, and looked for until its commit is seen.
  expect(looks() - before).toBeLessThanOrEqual(10 * 4 + 10 + 10 * 50)
  await clock.advance('1s')
  const after = looks()
  await clock.advance('1s')
  expect(looks() - after).toBeLessThanOrEqual(5)
})

test('an idle process hears of a job of another one at once, not with the next look', async () => {
  const path = newPath()
  const { store, clock, hints, looks } = await counted(path)
  const other = await opened(path)
  await put(store, newJob('a'))
  await idle(store, clock, 30)
  hints.length = 0
  const before = looks()
  await put(other, newJob('b'))
  // No timer fires while virtual time stands still.
  await expect.poll(looks, { interval: 1 }).toBeGreaterThan(before)
  expect(hints).toContainEqual({ kind: 'ready', type: 'mail', atMost: 2 })
})

test('after news, and after a call that moves jobs, the looks are a millisecond apart again', async () => {
  const path = newPath()
  const { store, clock, looks } = await counted(path)
  await put(store, newJob('a'))
  await idle(store, clock, 30)
  await put(store, newJob('b'))
  const before = looks()
  await clock.advance(50)
  expect(looks() - before).toBeGreaterThan(40)
})

test('where writes are not reported, the file is looked at every 16 ms', async () => {
  const clock = new VirtualClock()
  let looks = 0
  const look = (): LookResult => (looks++, 'unchanged')
  const poller = new ChangePoller({ clock, log: `${newPath()}-wal`, look })
  poller.set(true)
  await clock.advance('10s')
  looks = 0
  await clock.advance('1s')
  expect(looks).toBeGreaterThanOrEqual(60)
  expect(looks).toBeLessThanOrEqual(63)
  poller.set(false)
  expect(clock.pending).toBe(0)
})

test('a transaction is as good as a look: none follows it within a millisecond', () => {
  let looks = 0
  let now = 0
  let fire = (): void => {}
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    timer: (run) => {
      fire = run
      return { cancel: () => {} }
    },
  }
  const poller = new ChangePoller({ clock, log: `${newPath()}-wal`, look: () => (looks++, 'unchanged') })
  poller.set(true)
  for (let i = 0; i < 10; i++) {
    now += 0.5
    poller.looked()
    now += 0.5
    fire()
  }
  expect(looks).toBe(0)
  now += 0.5
  fire()
  expect(looks).toBe(1)
  poller.set(false)
})
