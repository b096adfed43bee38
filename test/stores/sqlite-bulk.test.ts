/** A bulk operation on a file whose process is killed. */
import { once } from 'node:events'
import { join } from 'node:path'
import { createRuntime, defineJob } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { putDeadJobs } from '../support/dead-jobs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { movingClock } from './moving-clock.ts'
import { startChild } from '../harness/processes.ts'

test('a runtime goes on with a bulk retry of 1,000 jobs whose process was killed; each is retried once', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const clock = movingClock()
  const store = sqliteStore({ path: join(folder.path, 'jobs.db'), durability: 'normal' })
  await store.open({ clock })
  onTestFinished(() => store.close())
  await putDeadJobs(store, 1_000)

  const child = startChild(new URL('sqlite/bulk-child.ts', import.meta.url), join(folder.path, 'jobs.db'), '4').process
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
  expect(await store.bulk.list()).toMatchObject([{ state: 'running', counts: { retried: 400 } }])

  // The lease of the child is over.
  await clock.advance(60_000)
  const mail = defineJob({ type: 'mail', run: async () => null })
  const runtime = createRuntime({ jobs: [mail], store, clock, concurrency: 50 })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  await expect.poll(async () => (await store.bulk.list())[0]?.state).toBe('done')
  expect((await store.bulk.list())[0]?.counts).toEqual({ retried: 1_000 })
  expect(await runtime.drain({ timeout: '1m' })).toBe(true)
  const done = await runtime.list({ type: 'mail', state: 'done', fields: ['generation'], limit: 1_000 })
  expect(done.filter(({ generation }) => generation === 2)).toHaveLength(1_000)
})
