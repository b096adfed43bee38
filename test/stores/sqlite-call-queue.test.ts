/** The SQLite store as calls meet it: what is asked too late, and what other calls do to one. */
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock } from '../../src/core/clock.ts'
import type { Hint } from '../../src/store.ts'
import { idsOf, lease, newJob, put, putAndTake, take } from '../../src/store-testing/conformance/acts.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { movingClock } from './moving-clock.ts'

function pathOfNew(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return join(folder.path, 'jobs.db')
}

const info = { name: 'eu-1', host: 'localhost', pid: 1, version: '1', slots: 1, types: ['mail'], startedAt: 0 }

test('what is asked once it closes is refused', async () => {
  const store = sqliteStore({ path: pathOfNew() })
  // No transaction lasts too long to take on all of a turn.
  await store.open({ clock: { ...systemClock, monotonic: () => 0 } })
  // An answer is on its way when the store is told to close; who gets it asks on.
  const late = put(store, newJob('a')).then(() => store.counts())
  const closing = store.close()
  const outcome = await late.catch((error: unknown) => error)
  expect(outcome).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('not open') })
  await closing
  await store.open({ clock: systemClock })
  expect((await store.counts()).queued).toBe(1)
  await store.close()
})

test('messages that another process sends are told to the one that runs the job, and to no other', async () => {
  const path = pathOfNew()
  const [mine, yours] = [sqliteStore({ path }), sqliteStore({ path })]
  await mine.open({ clock: systemClock })
  await yours.open({ clock: systemClock })
  const hints: Hint[] = []
  mine.watch((hint) => hints.push(hint))
  const mail = (): unknown[] => hints.flatMap((hint) => (hint.kind === 'messages' ? hint.ids : []))
  const send = (store: typeof mine, id: string, key: string) =>
    store.send([{ id, message: { kind: 'event', event: key }, key, expect: null }])
  await putAndTake(mine, 'a')
  await put(mine, newJob('b'))
  await send(yours, 'b', 'first')
  await send(yours, 'a', 'second')
  await vi.waitUntil(() => mail().length > 0, { interval: 1 })
  expect(mail()).toEqual(['a'])
  // Its own are told at once, and not again when somebody else writes.
  await send(mine, 'a', 'third')
  expect(mail()).toEqual(['a', 'a'])
  hints.length = 0
  await put(yours, newJob('c'))
  await vi.waitUntil(() => hints.length > 0, { interval: 1 })
  expect(mail()).toEqual([])
  // The next call hears of what was sent before it, if no look has.
  await send(yours, 'a', 'fourth')
  await mine.counts()
  expect(mail()).toEqual(['a'])
  await yours.close()
  await mine.close()
})

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
    await vi.waitUntil(() => hints.some(({ kind }) => kind === 'queue'), { interval: 1 })
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
  await vi.waitUntil(() => hints.some(({ kind }) => kind === 'messages'), { interval: 1 })
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

test('what a cancel by filter writes to a running job is known when its run ends', async () => {
  const store = sqliteStore({ path: pathOfNew() })
  await store.open({ clock: systemClock })
  const job = await putAndTake(store, 'a')
  const checkpoint = { number: 1, state: null, read: 0, note: '', takesCancel: true }
  await store.checkpoint([{ ...lease(job), checkpoint }])
  await store.cancel([{ selection: { filter: { type: 'mail' } }, reason: 'enough', graceMs: 0 }])
  // A sign of life writes what is known of the job: the cancel must be.
  const beat = { ...lease(job), checkin: { at: 1, value: 50 }, lastMessageNumber: 0 }
  expect(await store.extend({ worker: 'w1', leaseMs: 1_000, heartbeats: [beat] })).toMatchObject([
    { outcome: 'held', inbox: [{ number: 1, message: { kind: 'cancel', reason: 'enough' } }] },
  ])
  expect(await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done', cancelTaken: true }])).toMatchObject([
    { to: 'cancelled' },
  ])
  expect(await store.get(['a'])).toMatchObject([{ state: 'cancelled', cancelReason: 'enough' }])
  await store.close()
})

test('a worker that was lost long ago leaves the file when another comes', async () => {
  const clock = movingClock()
  const path = pathOfNew()
  const store = sqliteStore({ path })
  await store.open({ clock })
  const come = (id: string) => store.worker(id, { ...info, id })
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

test('a look at what others do that fails harms nobody, and the next one tells', async () => {
  const path = pathOfNew()
  let trouble = false
  let failed = 0
  const store = sqliteStore({
    path,
    onStatement(sql) {
      if (!trouble || sql !== 'PRAGMA data_version') return
      failed++
      throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 })
    },
  })
  await store.open({ clock: systemClock })
  const told = new Promise<Hint>((resolve) => {
    store.watch((hint) => {
      if (hint.kind === 'ready') resolve(hint)
    })
  })
  trouble = true
  await vi.waitUntil(() => failed > 3)
  trouble = false
  const other = sqliteStore({ path })
  await other.open({ clock: systemClock })
  await put(other, newJob('a'))
  expect(await told).toMatchObject({ kind: 'ready', type: 'mail' })
  await other.close()
  await store.close()
}, 10_000)

test('a step costs the same however many came before it: it writes its own result, and no other', async () => {
  const written: string[] = []
  const store = sqliteStore({
    path: pathOfNew(),
    onStatement: (sql, moment) =>
      void (moment === 'before' && /^(INSERT|UPDATE|DELETE)/.test(sql) && written.push(sql)),
  })
  await store.open({ clock: systemClock })
  const job = await putAndTake(store, 'a')
  const costs: number[] = []
  for (let n = 0; n < 50; n++) {
    written.length = 0
    await store.extend({
      worker: 'w1',
      leaseMs: 1_000,
      heartbeats: [{ ...lease(job), steps: { [`step ${n}`]: 'x'.repeat(n) } }],
    })
    costs.push(written.length)
    expect(written.filter((sql) => sql.includes('steps'))).toEqual([expect.stringContaining('INSERT INTO steps')])
    expect(written.join()).not.toContain('input = ?')
  }
  expect(new Set(costs).size).toBe(1)
  await store.close()
})

test('what another connection has cancelled or paused since a claim is seen by the very next question', async () => {
  const path = pathOfNew()
  const [mine, other] = [sqliteStore({ path }), sqliteStore({ path })]
  await mine.open({ clock: systemClock })
  await other.open({ clock: systemClock })
  await put(mine, newJob('a'), newJob('b', { type: 'sms' }))
  const jobs = [...(await take(mine)), ...(await take(mine, { type: 'sms' }))]
  expect(mine.confirm?.(jobs)).toEqual([{ outcome: 'held' }, { outcome: 'held' }])
  await other.cancel([{ selection: { ids: ['a'] }, reason: 'enough', graceMs: 1 }])
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
