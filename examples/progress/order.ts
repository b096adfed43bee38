// The same in both processes: what an order goes through, and the file where orders are kept.
import { defineJob, type Store } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { fromPromise, setup } from 'xstate'

const machine = setup({
  actors: { charge: fromPromise(() => sleep(300)), pack: fromPromise(() => sleep(300)) },
}).createMachine({
  initial: 'charging',
  states: {
    charging: { invoke: { src: 'charge', onDone: 'packing' } },
    packing: { invoke: { src: 'pack', onDone: 'shipped' } },
    shipped: { type: 'final' },
  },
})

export const order = defineJob({ type: 'order', machine })

export const store = (): Store => sqliteStore({ path: process.argv[2] ?? 'orders.db' })
