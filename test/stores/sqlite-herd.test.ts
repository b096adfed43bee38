/** Many timers that are due at once in a file: waking and claiming them takes statements for all, not for each. */
import { join } from 'node:path'
import { createRuntime, defineJob } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { VirtualClock } from 'jobchart/testing'
import { expect, onTestFinished, test } from 'vitest'
import { setup } from 'xstate'
import { systemClock } from '../../src/core/clock.ts'
import { compiledArrow } from '../../src/core/compiled-arrows.ts'
import { RowTransition, Tick } from '../../src/core/job-row.ts'
import { born, historyOf, lastAt, withTransition } from '../../src/stores/sqlite/history.ts'
import { newJob, put } from '../../src/store-testing/conformance/acts.ts'
import { stopInTime } from '../support/leaks.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const sleeper = defineJob({
  type: 'sleeper',
  machine: setup({}).createMachine({
    initial: 'asleep',
    states: { asleep: { after: { 60_000: 'awake' } }, awake: { type: 'final' } },
  }),
})

test('a machine that its timer wakes takes five statements of its own, and its neighbours none', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const statements = new Map<string, number>()
  const store = sqliteStore({
    path: join(folder.path, 'jobs.db'),
    onStatement: (sql, moment) => void (moment === 'before' && statements.set(sql, (statements.get(sql) ?? 0) + 1)),
  })
  const clock = new VirtualClock()
  const machines = 200
  const runtime = createRuntime({ jobs: [sleeper], store, clock, concurrency: machines })
  await runtime.start()
  await runtime.enqueueMany(
    sleeper,
    Array.from({ length: machines }, () => undefined),
  )
  await clock.advance('55s')
  expect(await runtime.counts()).toMatchObject({ waiting: machines })
  statements.clear()
  await clock.advance('10s')
  expect(await runtime.counts()).toMatchObject({ waiting: 0, done: machines })
  await stopInTime(runtime, clock)
  const ofEach = [...statements]
    .filter(([sql, count]) => count >= machines && !sql.startsWith('PRAGMA'))
    .map(([sql, count]) => [sql, count / machines] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  expect(ofEach).toEqual([
    // The last checkpoint, and what it says of the machine and of its state.
    [expect.stringMatching(/^INSERT INTO checkpoints /), 1],
    [expect.stringMatching(/^UPDATE OR REPLACE machine_names /), 1],
    // The WAKE, and the CLAIM with the end.
    [expect.stringMatching(/^UPDATE lives /), 2],
    [expect.stringMatching(/^UPDATE machines /), 1],
  ])
})

test('the time of the last transition is found at the end of a history, whatever its reason says', () => {
  const row = { seq: 7, enqueuedAt: 1_000, worker: 'w' }
  let text = born('queued')
  expect(lastAt(row, text)).toBe(1_000)
  let at = 1_000
  for (const reason of [null, 'no', '[9,9,"CLAIM","running",1]', ',[8,1,2]', null]) {
    at += 10
    const arrow = compiledArrow('queued', 'CANCEL', { attempt: 1, maxAttempts: 3, generation: 1 })
    if (arrow === null) throw new Error('the chart has no such arrow')
    text = withTransition(row, text, new RowTransition(arrow, at, new Tick(at), 1, null, reason, null))
    expect(lastAt(row, text), text).toBe(at)
    expect(historyOf(row, text).at(-1)?.at, text).toBe(at)
  }
})

test('calls of one turn are added to a transaction for 1 ms, and on a slow disk for as long as a commit takes', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  let now = 0
  let commits = 0
  const commitMs = 5
  const store = sqliteStore({
    path: join(folder.path, 'jobs.db'),
    onStatement: (sql, moment) => {
      if (moment === 'before') return
      if (sql === 'COMMIT') [commits, now] = [commits + 1, now + commitMs]
      else if (sql.startsWith('INSERT INTO jobs ')) now += 2
    },
  })
  await store.open({ clock: { ...systemClock, monotonic: () => now } })
  commits = 0
  // Of the first turn no commit is known yet: after 2 ms its first call is committed alone.
  await Promise.all([put(store, newJob('a')), put(store, newJob('b'))])
  expect(commits).toBe(2)
  await Promise.all([put(store, newJob('c')), put(store, newJob('d'))])
  expect(commits).toBe(3)
  await store.close()
})
