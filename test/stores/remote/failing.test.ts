/** What a store of a port does when calls of the port fail. */
import { JobchartError, remoteStore, type Hint, type Loaded, type StorePort, type Wanted } from 'jobchart/store'
import { expect, test } from 'vitest'
import { lease, newJob, put, putAndTake } from '../../../src/store-testing/conformance/acts.ts'
import { DocumentServer } from '../../../src/stores/remote/documents.ts'
import { WorkingSet } from '../../../src/stores/remote/working-set.ts'
import { movingClock } from '../moving-clock.ts'
import { MapPort, SharedMap } from './map-port.ts'

const unavailable = (): JobchartError => new JobchartError('STORE_UNAVAILABLE', 'it is away', { hint: 'Call again.' })

class FailingPort extends MapPort {
  fails: 'no' | 'reads' | 'replies' = 'no'

  constructor() {
    super(new SharedMap(), movingClock())
  }

  override async load(wanted: readonly Wanted[], into: Loaded): Promise<void> {
    if (this.fails === 'reads') throw unavailable()
    return super.load(wanted, into)
  }

  override async figures() {
    const figures = await super.figures()
    if (this.fails === 'reads') throw unavailable()
    return figures
  }

  override async commit(...args: Parameters<StorePort['commit']>): Promise<number | readonly string[]> {
    const answer = await super.commit(...args)
    if (this.fails === 'replies') throw unavailable()
    return answer
  }
}

async function opened() {
  const port = new FailingPort()
  const store = remoteStore(port)
  await store.open({ clock: movingClock() })
  return { port, store }
}

test('after a commit whose answer was lost, the next one says that hints were missed', async () => {
  const { port, store } = await opened()
  const job = await putAndTake(store, 'a')
  const hints: Hint[] = []
  store.watch((hint) => hints.push(hint))
  const end = { ...lease(job), event: 'COMPLETE', to: 'done' } as const
  port.fails = 'replies'
  await expect(store.settle([end])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(hints).toEqual([])
  port.fails = 'no'
  await store.settle([end])
  expect(hints).toEqual([{ kind: 'missed' }])
  await put(store, newJob('b'))
  expect(hints.filter(({ kind }) => kind === 'missed')).toHaveLength(1)
})

test('of reads that are made together several may fail: the call rejects once, and no rejection is left', async () => {
  const { port } = await opened()
  const server = new DocumentServer(port, () => {})
  const needs = [{ kind: 'counts' }, { kind: 'row', id: 'a' }] as const
  port.fails = 'reads'
  await expect(server.load(needs, new WorkingSet(''))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  // The figures fail a turn later than the row.
  await expect(port.figures()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})
