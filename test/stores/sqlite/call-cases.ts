/**
 * The SQLite store as calls meet it: what is asked too late, and what calls of others do to one. Each on a new file.
 */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock } from '../../../src/core/clock.ts'
import type { Hint } from '../../../src/store.ts'
import { lease, newJob, put, putAndTake } from '../../../src/store-testing/conformance/acts.ts'

const waitMsMax = 20_000

/** @throws AssertionError if it does not become so */
async function until(what: string, isSo: () => boolean): Promise<void> {
  const end = performance.now() + waitMsMax
  while (!isSo()) {
    assert.ok(performance.now() < end, `${what}: it has not come to that in ${waitMsMax} ms`)
    await pause(1)
  }
}

/** Two stores on one file, in this process. */
async function both(path: string) {
  const [mine, yours] = [sqliteStore({ path }), sqliteStore({ path })]
  await mine.open({ clock: systemClock })
  await yours.open({ clock: systemClock })
  return { mine, yours }
}

export const callCases: Readonly<Record<string, (path: string) => Promise<void>>> = {
  async 'what is asked once it closes is refused'(path) {
    const store = sqliteStore({ path })
    // No transaction lasts too long to take on all of a turn.
    await store.open({ clock: { ...systemClock, monotonic: () => 0 } })
    // An answer is on its way when the store is told to close; who gets it asks on.
    const late = put(store, newJob('a')).then(() => store.counts())
    const closing = store.close()
    await assert.rejects(late, { code: 'STORE_UNAVAILABLE', message: /not open/ })
    await closing
    await store.open({ clock: systemClock })
    assert.equal((await store.counts()).queued, 1)
    await store.close()
  },

  async 'who opens a store while it closes can use it'(path) {
    const store = sqliteStore({ path })
    await store.open({ clock: systemClock })
    const last = put(store, newJob('a'))
    await Promise.all([store.close(), store.open({ clock: systemClock }), last])
    assert.equal((await store.counts()).queued, 1)
    await store.close()
    await assert.rejects(store.counts(), { code: 'STORE_UNAVAILABLE', message: /not open/ })
  },

  async 'messages that another process sends are told to the one that runs the job, and to no other'(path) {
    const { mine, yours } = await both(path)
    const hints: Hint[] = []
    mine.watch((hint) => hints.push(hint))
    const mail = (): unknown[] => hints.flatMap((hint) => (hint.kind === 'messages' ? hint.ids : []))
    const send = (store: typeof mine, id: string, key: string) =>
      store.send([{ id, message: { kind: 'event', event: key }, key, expect: null }])
    await putAndTake(mine, 'a')
    await put(mine, newJob('b'))
    await send(yours, 'b', 'first')
    await send(yours, 'a', 'second')
    await until('the message is told', () => mail().length > 0)
    assert.deepEqual(mail(), ['a'])
    // Its own are told at once, and not again when somebody else writes.
    await send(mine, 'a', 'third')
    assert.deepEqual(mail(), ['a', 'a'])
    hints.length = 0
    await put(yours, newJob('c'))
    await until('the insert is told', () => hints.length > 0)
    assert.deepEqual(mail(), [])
    // The next call hears of what was sent before it, if no look has.
    await send(yours, 'a', 'fourth')
    await mine.counts()
    assert.deepEqual(mail(), ['a'])
    await yours.close()
    await mine.close()
  },

  async 'what a cancel writes to a running job is known when its run ends'(path) {
    const store = sqliteStore({ path })
    await store.open({ clock: systemClock })
    const job = await putAndTake(store, 'a')
    const checkpoint = { number: 1, state: null, read: 0, note: '', takesCancel: true }
    await store.checkpoint([{ ...lease(job), checkpoint }])
    await store.cancel([{ ids: ['a'], reason: 'enough', graceMs: 0 }])
    // A heartbeat writes what is known of the job: the cancel must be.
    const beat = { ...lease(job), checkin: { at: 1, value: 50 }, lastMessageNumber: 0 }
    const [extended] = await store.extend({ worker: 'w1', leaseMs: 1_000, heartbeats: [beat] })
    assert.equal(extended?.outcome, 'extended')
    assert.deepEqual(
      extended.inbox?.map(({ number, message }) => [number, message]),
      [[1, { kind: 'cancel', reason: 'enough', generation: 1 }]],
    )
    const [settled] = await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done', cancelTaken: true }])
    assert.equal(settled?.to, 'cancelled')
    const [record] = await store.get(['a'])
    assert.deepEqual([record?.state, record?.cancelReason], ['cancelled', 'enough'])
    await store.close()
  },

  async 'a look at what others do that fails harms nobody, and the next one tells'(path) {
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
    const ready: string[] = []
    store.watch((hint) => void (hint.kind === 'ready' && ready.push(hint.type)))
    trouble = true
    await until('looks fail', () => failed > 3)
    trouble = false
    const other = sqliteStore({ path })
    await other.open({ clock: systemClock })
    await put(other, newJob('a'))
    await until('the insert is told', () => ready.length > 0)
    assert.deepEqual(ready, ['mail'])
    await other.close()
    await store.close()
  },
}
