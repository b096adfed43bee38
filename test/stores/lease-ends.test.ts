/** Leases that run out: a rescue of a few does not look at all that are open. */
import { memoryStore } from 'jobchart'
import { expect, test, vi } from 'vitest'
import { idsOf, lease, newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import type { Store } from '../../src/store.ts'
import { fileStore } from '../support/file-store.ts'
import { movingClock } from './moving-clock.ts'

const stores: [name: string, make: () => Store][] = [
  ['memory', memoryStore],
  ['sqlite', fileStore],
]

const leaseMs = 1_000

test.each(stores)(
  'the leases that run out first are rescued first, and few are sorted for that, %s',
  async (_, make) => {
    const [store, clock] = [make(), movingClock(1_000_000)]
    await store.open({ clock })
    const jobs = Array.from({ length: 1_000 }, (_, i) => newJob(`${i}`))
    await put(store, ...jobs)
    for (let i = 0; i < 100; i++) {
      const [first] = await take(store, { max: 10, leaseMs, token: `${i}` })
      if (first === undefined) throw new Error('a job was to be claimed')
      await clock.advance(1)
      // One of each ten is extended, and so runs out after the nine that were claimed with it.
      await store.extend({ worker: 'w1', leaseMs, heartbeats: [lease(first)] })
    }
    expect((await store.rescue(100)).nextAt).toBe(1_000_000 + leaseMs)
    await clock.advance(2 * leaseMs)
    const sorts = vi.spyOn(Array.prototype, 'toSorted')
    const { transitions, more, nextAt } = await store.rescue(20)
    const sorted = sorts.mock.contexts.map((each) => (each as unknown[]).length)
    sorts.mockRestore()
    const earlier = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(String)
    const then = ['0', ...earlier.map((id) => `1${id}`)]
    expect(idsOf(transitions)).toEqual([...earlier, ...then, '10'])
    expect([more, nextAt]).toEqual([true, 1_000_000 + leaseMs + 2])
    expect(Math.max(...sorted)).toBeLessThan(60)
    await store.close()
  },
)
