import { remoteStore, type Loaded, type Wanted } from 'jobchart/store'
import { expect, test } from 'vitest'
import { ask, newJob, put, take } from '../../../src/store-testing/conformance/acts.ts'
import { movingClock } from '../moving-clock.ts'
import { MapPort, SharedMap } from './map-port.ts'

class InterruptedPort extends MapPort {
  afterHeads: (() => Promise<unknown>) | null = null

  override async load(wanted: readonly Wanted[], into: Loaded): Promise<void> {
    await super.load(wanted, into)
    const { afterHeads } = this
    if (afterHeads === null || !wanted.some(({ kind }) => kind === 'heads')) return
    this.afterHeads = null
    await afterHeads()
  }
}

test('jobs that others claim after the heads were read do not hide those behind them', async () => {
  const [shared, clock] = [new SharedMap(), movingClock()]
  const port = new InterruptedPort(shared, clock)
  const [store, other] = [remoteStore(port), remoteStore(new MapPort(shared, clock))]
  for (const each of [store, other]) await each.open({ clock })
  await put(store, ...Array.from({ length: 10 }, (_, n) => newJob(`job ${n}`)))
  port.afterHeads = () => take(other, { worker: 'other', max: 5 })
  const { jobs, shortfalls } = await ask(store, { max: 5 })
  expect(jobs.map(({ id }) => id)).toEqual(['job 5', 'job 6', 'job 7', 'job 8', 'job 9'])
  expect(shortfalls).toEqual([])
})
