/** A store that somebody else has written, of documents behind an asynchronous interface, against the contract. */
import { remoteStore } from 'jobchart/store'
import { test } from 'vitest'
import { storeConformance } from '../../../src/store-testing/conformance/index.ts'
import { movingClock } from '../moving-clock.ts'
import { MapPort, SharedMap } from './map-port.ts'

storeConformance({
  name: 'documents in a map',
  test,
  async create() {
    const clock = movingClock()
    const store = remoteStore(new MapPort(new SharedMap(), clock))
    await store.open({ clock })
    return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
  },
  random: { sequences: 20 },
})
