/** A cancel of a large family at work: its jobs end meanwhile. */
import { remoteStore, type Commit, type Loaded, type Store, type Wanted } from 'jobchart/store'
import { expect, test } from 'vitest'
import { cancel, lease, newJob, put, take } from '../../../src/store-testing/conformance/acts.ts'
import { movingClock } from '../moving-clock.ts'
import { MapPort, SharedMap } from './map-port.ts'

/** Loads and commits take time: for each 20 rows of them a job ends. */
class BusyPort extends MapPort {
  end: () => Promise<unknown> = () => Promise.resolve()
  private rows = 0

  override async load(wanted: readonly Wanted[], into: Loaded): Promise<void> {
    await this.takeTime(wanted.filter(({ kind }) => kind === 'row').length)
    return super.load(wanted, into)
  }

  override async commit(commit: Commit): Promise<number | readonly string[]> {
    await this.takeTime(commit.revisions.size)
    return super.commit(commit)
  }

  private async takeTime(rows: number): Promise<void> {
    this.rows += rows
    for (; this.rows >= 20; this.rows -= 20) await this.end()
  }
}

async function opened(port: MapPort): Promise<Store> {
  const store = remoteStore(port)
  await store.open({ clock: movingClock() })
  return store
}

/** Those of the named jobs that a cancel has ended. */
const ways: Record<string, (store: Store) => Promise<readonly string[] | undefined>> = {
  'by its id': async (store) => (await cancel(store, ['p']))?.cancelled,
  async 'by a filter'(store) {
    const change = { kind: 'cancel', reason: null, graceMs: 0 } as const
    const request = { id: 'bulk', token: 't', leaseMs: 1_000, expected: null, batchSize: 100 }
    const { jobs, operation } = await store.bulk.start({ ...request, change, filter: { type: 'mail' } })
    expect(operation).toMatchObject({ state: 'done', counts: { cancelled: 1 } })
    return jobs.cancelled
  },
}

for (const [way, cancelBy] of Object.entries(ways)) {
  test(`a family is cancelled ${way} while jobs of it end`, async () => {
    const shared = new SharedMap()
    const port = new BusyPort(shared, movingClock())
    const [store, others] = [await opened(port), await opened(new MapPort(shared, movingClock()))]
    const child = (type: string, id: string, parent: string) =>
      newJob(id, { type, parent: { id: parent, checkins: false } })
    await put(others, newJob('p'), child('middle', 'c', 'p'))
    const leaves = Array.from({ length: 200 }, (_, i) => child('leaf', `leaf-${i}`, 'c'))
    await put(others, ...leaves)
    const running = [...(await take(others, { type: 'leaf', max: 60 }))]
    port.end = async () => {
      const job = running.shift()
      if (job !== undefined) await others.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    }
    expect(await cancelBy(store)).toEqual(['p'])
    const { cancelled, queued, running: left, cancelling } = await store.counts()
    expect([queued, left, cancelling]).toEqual([0, 0, running.length])
    expect(cancelled).toBeGreaterThan(140)
    expect(running.length).toBeGreaterThan(20)
  })
}
