/** A store that somebody else has written, of documents behind an asynchronous interface, against the contract. */
import { JobchartError, remoteStore } from 'jobchart/store'
import { expect, test } from 'vitest'
import { storeConformance } from '../../../src/store-testing/conformance/index.ts'
import { movingClock } from '../moving-clock.ts'
import { remoteCases } from './cases.ts'
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

for (const [name, run] of Object.entries(remoteCases)) test(name, run)

test('a port is opened by the first who opens the store, and closed with the last one', async () => {
  const calls: string[] = []
  class Counting extends MapPort {
    override open(): void {
      calls.push('open')
      if (calls.length === 1) throw new JobchartError('STORE_UNAVAILABLE', 'not yet', { hint: 'Try again.' })
    }

    override close(): void {
      calls.push('close')
    }
  }
  const clock = movingClock()
  const store = remoteStore(new Counting(new SharedMap(), clock))
  await expect(store.open({ clock })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await Promise.all([store.open({ clock }), store.open({ clock })])
  await store.close()
  expect(calls).toEqual(['open', 'open'])
  await store.close()
  await store.close()
  expect(calls).toEqual(['open', 'open', 'close'])
})
