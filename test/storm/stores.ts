/** The stores that a storm may be let loose on: each made anew by every process, on one folder that all share. */
import { join } from 'node:path'
import type { Store } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'

export type MakeStore = (folder: string) => Store

const sqlite: MakeStore = (folder) => sqliteStore({ path: join(folder, 'jobs.db') })

/** A store that now and then acknowledges the ends of jobs, and has written nothing. */
const forgetful: MakeStore = (folder) => {
  const store = sqlite(folder)
  let calls = 0
  let invented = 1e12 + process.pid * 1e6
  return {
    ...store,
    async settle(settlements) {
      if (++calls % 20 !== 0) return store.settle(settlements)
      const at = store.now()
      return settlements.map(({ attempt, to }) => {
        return { outcome: 'settled', seq: ++invented, at, from: 'running', to, attempt, dueAt: null }
      })
    },
  }
}

/** A store that lends for a shorter time than it says. */
const impatient: MakeStore = (folder) => {
  const store = sqlite(folder)
  return { ...store, claim: (request) => store.claim({ ...request, leaseMs: Math.ceil(request.leaseMs / 20) }) }
}

export const stores: Readonly<Record<string, MakeStore>> = { sqlite }
/** Stores that break promises, for the proof that broken promises are noticed. */
export const brokenStores: Readonly<Record<string, MakeStore>> = { forgetful, impatient }

/** The store of that name. @throws TypeError if there is none */
export function storeNamed(name: string): MakeStore {
  const make = stores[name] ?? brokenStores[name]
  if (make === undefined) throw new TypeError(`no store is named ${name}`)
  return make
}
