/** The store of the example, against the contract: one store, two stores on one server, and a server that fails. */
import { storeConformance } from 'jobchart/store-testing'
import { test } from 'vitest'
import { KeyValueServer } from '../../examples/store/server.ts'
import { keyValueStore } from '../../examples/store/store.ts'
import { movingClock } from '../stores/moving-clock.ts'

storeConformance({
  name: 'the store of the example',
  test,
  random: { sequences: 20 },
  async create() {
    const clock = movingClock()
    const store = keyValueStore(new KeyValueServer(() => clock.now()))
    await store.open({ clock })
    return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
  },
})
