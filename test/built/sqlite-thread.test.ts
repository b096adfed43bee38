/** The SQLite store in a thread of its own: what crosses to it and back, and what happens when it dies. */
import { Worker } from 'node:worker_threads'
import { createRuntime, defineJob, JobchartError } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { ask, newJob, put } from '../../src/store-testing/conformance/acts.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

function fileIn(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return `${folder.path}/jobs.db`
}

test('errors come back as they were thrown: class, code, hint and cause', async () => {
  const store = sqliteStore({ path: fileIn(), thread: true })
  await store.open({ clock: systemClock })
  const refused = await store.list({ after: 'nobody' }).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(JobchartError)
  expect(refused).toMatchObject({ code: 'INVALID_OPTION', hint: expect.stringContaining('next') })
  await store.close()
  const closed = sqliteStore({ path: '/no/such/folder/jobs.db', thread: true })
  await expect(closed.open({ clock: systemClock })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test('a thread that dies takes its calls with it, and the next call starts another that goes on', async () => {
  const workers: Worker[] = []
  const ref = vi.spyOn(Worker.prototype, 'ref').mockImplementation(function (this: Worker) {
    if (!workers.includes(this)) workers.push(this)
  })
  onTestFinished(() => ref.mockRestore())
  const path = fileIn()
  const store = sqliteStore({ path, thread: true })
  await store.open({ clock: systemClock })
  const hints: string[] = []
  store.watch(({ kind }) => hints.push(kind))
  await put(store, newJob('a'))
  const lost = store.counts().catch((error: unknown) => error)
  await new Promise<void>((resolve) => setImmediate(resolve))
  await workers[0]?.terminate()
  // It had done its work before it died, or not: never something else.
  const answer = await lost
  if (answer instanceof Error) expect(answer).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  else expect(answer).toMatchObject({ queued: 1 })
  expect((await ask(store)).jobs.map(({ id }) => id)).toEqual(['a'])
  expect(workers).toHaveLength(2)
  // The new thread hears of others, too.
  hints.length = 0
  const other = sqliteStore({ path })
  await other.open({ clock: systemClock })
  await put(other, newJob('b'))
  await expect.poll(() => hints).toContain('ready')
  await other.close()
  await store.close()
})

test('a runtime in a thread does its jobs and leaves nothing that keeps the process', async () => {
  const path = fileIn()
  const job = defineJob<number, number>({ type: 'double', run: async (n) => 2 * n })
  const runtime = createRuntime({ jobs: [job], store: sqliteStore({ path, thread: true }) })
  await runtime.start()
  expect(await Promise.all([1, 2, 3].map((n) => runtime.run(job, n)))).toEqual([2, 4, 6])
  expect(await runtime.stop()).toMatchObject({ completed: true })
})

test('what is asked while it closes is answered or refused', async () => {
  const store = sqliteStore({ path: fileIn(), thread: true })
  await store.open({ clock: systemClock })
  // An answer is on its way when the store is told to close; who gets it asks on.
  const late = put(store, newJob('a')).then(() => store.counts())
  const closing = store.close()
  const outcome = await late.catch((error: unknown) => error)
  if (outcome instanceof Error) expect(outcome).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  else expect(outcome).toMatchObject({ queued: 1 })
  await closing
  await store.open({ clock: systemClock })
  expect((await store.counts()).queued).toBe(1)
  await store.close()
})
