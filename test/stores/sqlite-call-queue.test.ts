/** The SQLite store as calls meet it: what is asked too late, and what other calls do to one. */
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock } from '../../src/core/clock.ts'
import type { Hint } from '../../src/store.ts'
import { idsOf, lease, newJob, put, putAndTake, take, workerInfo } from '../../src/store-testing/conformance/acts.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { movingClock } from './moving-clock.ts'
import { callCases } from './sqlite/call-cases.ts'

function pathOfNew(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return join(folder.path, 'jobs.db')
}

for (const [name, run] of Object.entries(callCases)) test(name, () => run(pathOfNew()))

test('a queue that another process pauses or resumes is heard of without asking', async () => {
  const path = pathOfNew()
  const [mine, yours] = [sqliteStore({ path }), sqliteStore({ path })]
  await mine.open({ clock: systemClock })
  await yours.open({ clock: systemClock })
  await put(mine, newJob('a'), newJob('b', { type: 'sms' }))
  const hints: Hint[] = []
  mine.watch((hint) => hints.push(hint))
  for (const paused of [true, false]) {
    hints.length = 0
    // Other transitions in the same look take nothing away.
    await Promise.all([yours.queue('mail', { paused }), put(yours, newJob(`c ${paused}`, { type: 'sms' }))])
    await expect.poll(() => hints.some(({ kind }) => kind === 'queue'), { interval: 1 }).toBe(true)
    expect(hints.filter(({ kind }) => kind === 'queue')).toEqual([{ kind: 'queue', type: 'mail', paused }])
    expect(hints.some((hint) => hint.kind === 'ready' && hint.type === 'mail')).toBe(!paused)
  }
  await yours.close()
  await mine.close()
})

test('after a write that failed, messages to running jobs are told of again', async () => {
  const path = pathOfNew()
  const [mine, yours] = [sqliteStore({ path }), sqliteStore({ path })]
  await mine.open({ clock: systemClock })
  await yours.open({ clock: systemClock })
  const job = await putAndTake(mine, 'a')
  const checkpoint = { number: 5, state: null, read: 0, note: '', takesCancel: false }
  expect(await mine.checkpoint([{ ...lease(job), checkpoint }])).toMatchObject([{ outcome: 'failed' }])
  await yours.send([{ id: 'a', message: { kind: 'event', event: 1 }, key: 'k', expect: null }])
  const hints: Hint[] = []
  mine.watch((hint) => hints.push(hint))
  await expect.poll(() => hints.some(({ kind }) => kind === 'messages'), { interval: 1 }).toBe(true)
  expect(hints).toContainEqual({ kind: 'messages', ids: ['a'] })
  await yours.close()
  await mine.close()
})

test('a call that is refused takes nothing of its neighbours back', async () => {
  const store = sqliteStore({ path: pathOfNew() })
  await store.open({ clock: { ...systemClock, monotonic: () => 0 } })
  const job = await putAndTake(store, 'a')
  const rest = (number: number) => {
    const checkpoint = { number, state: { at: number }, read: 0, note: '', takesCancel: false }
    return store.checkpoint([{ ...lease(job), checkpoint }])
  }
  const [first, wrong, second] = await Promise.allSettled([rest(1), rest(3), rest(2)])
  expect(first).toMatchObject({ status: 'fulfilled', value: [{ outcome: 'kept' }] })
  expect(wrong).toMatchObject({ status: 'fulfilled', value: [{ outcome: 'failed' }] })
  expect(second).toMatchObject({ status: 'fulfilled', value: [{ outcome: 'kept' }] })
  expect((await store.checkpoints('a')).map(({ number }) => number)).toEqual([1, 2])
  await store.close()
})

test('a worker that was lost long ago leaves the file when another comes', async () => {
  const clock = movingClock()
  const path = pathOfNew()
  const store = sqliteStore({ path })
  await store.open({ clock })
  const come = (id: string) => store.worker(id, workerInfo(id))
  await come('killed')
  await come('alive')
  await clock.advance(630_000)
  await store.extend({ worker: 'alive', leaseMs: 1_000, heartbeats: [] })
  expect(idsOf(await store.workers())).toEqual(['alive'])
  const inFile = (): unknown[] => {
    const db = new DatabaseSync(path, { readOnly: true })
    const rows = db.prepare('SELECT id FROM workers ORDER BY place').all()
    db.close()
    return rows.map(({ id }) => id)
  }
  expect(inFile()).toEqual(['killed', 'alive'])
  await come('new')
  expect(inFile()).toEqual(['alive', 'new'])
  await store.close()
})

test('what another connection has cancelled or paused since a claim is seen by the very next question', async () => {
  const path = pathOfNew()
  const [mine, other] = [sqliteStore({ path }), sqliteStore({ path })]
  await mine.open({ clock: systemClock })
  await other.open({ clock: systemClock })
  await put(mine, newJob('a'), newJob('b', { type: 'sms' }))
  const jobs = [...(await take(mine)), ...(await take(mine, { type: 'sms' }))]
  expect(mine.confirm?.(jobs)).toEqual([{ outcome: 'leased' }, { outcome: 'leased' }])
  await other.cancel([{ ids: ['a'], reason: 'enough', graceMs: 1 }])
  await other.queue('sms', { paused: true })
  expect(mine.confirm?.(jobs)).toEqual([{ outcome: 'cancelling', reason: 'enough' }, { outcome: 'paused' }])
  await mine.close()
  await other.close()
  expect(() => mine.confirm?.(jobs)).toThrow('not open')
})

test('a store whose file is in another thread does not offer a question that must be answered at once', () => {
  const store = sqliteStore({ path: pathOfNew(), thread: true })
  expect('confirm' in store).toBe(false)
})
