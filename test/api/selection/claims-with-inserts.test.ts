/** On a store that groups calls, an idle worker claims in the transaction that inserts. */
import { join } from 'node:path'
import { defineJob } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { createTestRuntime } from 'jobchart/testing'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const job = defineJob<number, void>({ type: 'job', run: async () => {} })

/** A runtime on a file, and how many transactions that write and how many claims there are meanwhile. */
async function watched() {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  let commits = 0
  let claims = 0
  const inner = sqliteStore({
    path: join(folder.path, 'jobs.db'),
    onStatement: (sql, moment) => void (sql === 'BEGIN IMMEDIATE' && moment === 'before' && commits++),
  })
  const store = {
    ...inner,
    claim: (...args: Parameters<typeof inner.claim>) => {
      claims++
      return inner.claim(...args)
    },
  }
  // In virtual time, so that no transaction is cut short because it takes long.
  const { runtime } = await createTestRuntime({ jobs: [job], store, logger: {} })
  onTestFinished(async () => void (await runtime.stop()))
  await runtime.drain()
  return {
    runtime,
    during: async (run: () => Promise<unknown>) => {
      const before = { commits, claims }
      await run()
      return { commits: commits - before.commits, claims: claims - before.claims }
    },
  }
}

test('an enqueue and the claim of its job are one transaction, the end is another', async () => {
  const { runtime, during } = await watched()
  const rounds = 5
  const counted = await during(async () => {
    for (let n = 0; n < rounds; n++) await (await runtime.enqueue(job, n)).result()
  })
  expect(counted).toEqual({ commits: 2 * rounds, claims: rounds })
})

test('the jobs of all enqueues of a turn are claimed at once, as far as there are slots', async () => {
  const { runtime, during } = await watched()
  const counted = await during(async () => {
    const enqueued = await Promise.all(Array.from({ length: 8 }, (_, n) => runtime.enqueue(job, n)))
    await Promise.all(enqueued.map((each) => each.result()))
  })
  expect(counted).toEqual({ commits: 2, claims: 1 })
})

test('inserts of which a claim finds nothing are not followed by claims', async () => {
  const { runtime, during } = await watched()
  await runtime.queue('job').pause()
  const paused = await during(async () => {
    for (let n = 0; n < 10; n++) await runtime.enqueue(job, n)
  })
  expect(paused).toEqual({ commits: 10, claims: 1 })
  const delayed = await during(async () => {
    for (let n = 0; n < 10; n++) await runtime.enqueue(job, n, { delay: '1h' })
  })
  expect(delayed).toEqual({ commits: 10, claims: 0 })
})

test('after a claim that found a job, claims follow inserts again', async () => {
  const { runtime, during } = await watched()
  await runtime.queue('job').pause()
  const waiting = await runtime.enqueue(job, 1)
  await runtime.queue('job').resume()
  await waiting.result()
  const counted = await during(async () => (await runtime.enqueue(job, 2)).result())
  expect(counted).toEqual({ commits: 2, claims: 1 })
})
