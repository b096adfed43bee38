/** The memory store against the contract. */
import { test } from 'vitest'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { handClock } from './hand-clock.ts'

storeConformance({
  name: 'memory',
  test,
  async create() {
    const clock = handClock()
    const store = memoryStore()
    await store.open({ clock })
    return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
  },
})
