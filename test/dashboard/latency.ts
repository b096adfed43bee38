/**
 * What happens is shown within half a second, in this process and in another one. Each time is the median of several.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createClient, type Store } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { redisStore } from 'jobchart/redis'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, onTestFinished } from 'vitest'
import { forkProgram } from '../harness/processes.ts'
import type { RedisServer } from '../support/redis-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const limitMs = 500
export const rounds = 5

/** The median counts. */
export function expectSoon(lateMs: readonly number[]): void {
  expect(lateMs.toSorted((a, b) => a - b)[Math.floor(lateMs.length / 2)], lateMs.join(', ')).toBeLessThan(limitMs)
}

/** A store of this process, and what another process needs to open it. */
export interface Place {
  readonly store: Store
  readonly args: readonly string[]
}

export function onSqlite(): Place {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const path = join(folder.path, 'jobs.db')
  return { store: sqliteStore({ path }), args: ['sqlite', path] }
}

export function onRedis({ url }: RedisServer): Place {
  const prefix = randomUUID()
  return { store: redisStore({ url, prefix }), args: ['redis', url, prefix] }
}

/** A dashboard of this process, on the job `reporting-1` that runs in another. */
export async function watching({ store, args }: Place) {
  const client = createClient({ store })
  await client.counts()
  const other = forkProgram(new URL('reporting-process.ts', import.meta.url), args)
  onTestFinished(async () => {
    const exit = once(other, 'exit')
    other.disconnect()
    await exit
    await client.close()
  })
  await expect.poll(async () => (await client.counts()).running, { interval: 20 }).toBe(1)
  return { dashboard: createDashboard({ client }), tell: (what: 'checkin' | 'log') => void other.send(what) }
}
