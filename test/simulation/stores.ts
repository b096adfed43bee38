/** The stores that can be put into a simulation. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, type Store } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { postgresInVirtualTime } from './postgres-store.ts'
import { redisInVirtualTime } from './redis-store.ts'

/** An empty store for one life. It takes its clock from its first `open`. */
export interface MadeStore {
  readonly store: Store
  /** Does a call take effect when it is made, or some time before it is answered? */
  readonly atOnce: boolean
  /** Of a store that answers in real time: resolves when nothing is on its way to it. */
  readonly settled?: () => Promise<void>
  /** Called after its last `close`. */
  readonly dispose: () => void | Promise<void>
}

export type StoreFactory = () => MadeStore

const memory: StoreFactory = () => ({ store: memoryStore(), atOnce: true, dispose: () => {} })

const sqlite: StoreFactory = () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobchart-'))
  const store = sqliteStore({ path: join(folder, 'jobs.db'), durability: 'normal' })
  return { store, atOnce: false, dispose: () => rmSync(folder, { recursive: true }) }
}

const redis: StoreFactory = () => ({
  ...redisInVirtualTime(process.env['JOBCHART_REDIS_URL'] ?? 'redis://127.0.0.1:6379'),
  atOnce: false,
})

const postgres: StoreFactory = () => ({
  ...postgresInVirtualTime(process.env['JOBCHART_POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test'),
  atOnce: false,
})

export const stores: Readonly<Record<string, StoreFactory>> = { memory, sqlite, redis, postgres }
