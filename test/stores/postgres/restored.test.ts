/** A schema that is dropped and restored from a dump, beside processes that stay connected. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { postgresStore } from 'jobchart/postgres'
import { expect, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { lease, newJob, put, putAndTake, take } from '../../../src/store-testing/conformance/acts.ts'
import type { ClaimedJob, Hint, Store } from '../../../src/store.ts'
import { programs } from '../../support/postgres-process.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const server = postgresOfFile()

async function opened(schema: string): Promise<Store> {
  const store = postgresStore({ url: server().url, schema })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

/** @returns restores it, in one transaction */
function dumped(schema: string): () => void {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const file = join(folder.path, 'dump')
  const run = (program: string, ...args: readonly string[]): unknown =>
    execFileSync(join(programs ?? '', program), [`--dbname=${server().url}`, ...args])
  run('pg_dump', `--schema=${schema}`, '--format=custom', `--file=${file}`)
  return () => run('pg_restore', '--clean', '--single-transaction', file)
}

const end = (job: ClaimedJob) => ({ ...lease(job), event: 'COMPLETE', to: 'done' }) as const

test('a schema that is restored beside a process is noticed by it: counts, claims and the log are those of the dump', async () => {
  const store = await opened('clean')
  await put(store, newJob('kept', { key: 'k' }), newJob('plain'))
  const restore = dumped('clean')
  const jobs = await take(store, { max: 2, token: 'before' })
  await put(store, ...Array.from({ length: 20 }, (_, n) => newJob(`gone ${n}`)))
  expect(await store.counts()).toMatchObject({ queued: 20, running: 2 })
  const { next } = await store.transitions(null, 1_000)
  const hints: Hint[] = []
  onTestFinished(store.watch((hint) => hints.push(hint)))
  restore()

  // Somebody else claims the same jobs, which come to the same revisions.
  await take(await opened('clean'), { max: 2, token: 'another' })
  expect((await store.settle(jobs.map(end))).map(({ outcome }) => outcome)).toEqual(['lost', 'lost'])
  expect(await store.counts()).toMatchObject({ queued: 0, running: 2, done: 0 })
  expect(await store.transitions(next, 1_000)).toMatchObject({ lost: true })
  await expect.poll(() => hints.find(({ kind }) => kind === 'rollback')).toMatchObject({ left: 4 })
  expect((await putAndTake(store, 'new')).id).toBe('new')
})

test('a process that only reads notices a restored schema by its counts', async () => {
  const store = await opened('read')
  await put(store, newJob('a'))
  const restore = dumped('read')
  const reader = await opened('read')
  await put(store, newJob('b'), newJob('c'))
  expect((await reader.counts()).queued).toBe(3)
  restore()
  expect((await reader.counts()).queued).toBe(1)
  expect((await store.counts()).queued).toBe(1)
})
