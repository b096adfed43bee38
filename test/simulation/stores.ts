/** The stores that can be put into a simulation. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, type Store } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'

/** An empty store for one life. It takes its clock from its first `open`. */
export interface MadeStore {
  readonly store: Store
  /** Does a call take effect when it is made, or some time before it is answered? */
  readonly atOnce: boolean
  /** Called after its last `close`. */
  readonly dispose: () => void
}

export type StoreFactory = () => MadeStore

const memory: StoreFactory = () => ({ store: memoryStore(), atOnce: true, dispose: () => {} })

const sqlite: StoreFactory = () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobchart-'))
  const store = sqliteStore({ path: join(folder, 'jobs.db'), durability: 'normal' })
  return { store, atOnce: false, dispose: () => rmSync(folder, { recursive: true }) }
}

export const stores: Readonly<Record<string, StoreFactory>> = { memory, sqlite }
