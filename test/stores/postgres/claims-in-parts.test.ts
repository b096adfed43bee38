/** A claim of plain jobs and of others is more than one call: what was claimed is answered if a later one fails. */
import { expect } from 'vitest'
import { idsOf, lease, newJob, noLimits, put, stateOf, take } from '../../../src/store-testing/conformance/acts.ts'
import type { ClaimAnswer, Store } from '../../../src/store.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'
import { overheardStore } from './overheard-store.ts'

const server = postgresOfFile()

async function opened(schema: string) {
  const failing = new Set<string>()
  const before = async (name: string): Promise<void> => {
    if (failing.has(name)) throw new Error(`${name} fails`)
  }
  const { store } = await overheardStore({ url: server().url, schema, before })
  // Apart: jobs of one call are plain only if all are.
  await put(store, newJob('plain', { type: 'plain' }))
  await put(store, newJob('other', { type: 'other', concurrencyKey: 'key' }))
  return { store, failing }
}

const claim = async (store: Store, token: string): Promise<ClaimAnswer> => {
  // The core claims a type with a limit of its keys.
  const demand = [
    { type: 'plain', max: 1, limits: noLimits },
    { type: 'other', max: 1, limits: { ...noLimits, perKey: 1 } },
  ]
  return store.claim({ worker: 'w', token, leaseMs: 30_000, demand })
}

test('plain jobs are answered if the claim of others behind them fails, and the next claim fails', async () => {
  const { store, failing } = await opened('behind')
  failing.add('jobchart commit')
  const { jobs, shortfalls } = await claim(store, 'first')
  expect([idsOf(jobs), shortfalls]).toEqual([['plain'], []])
  await expect(claim(store, 'second')).rejects.toThrow('jobchart commit fails')
  failing.clear()
  expect(idsOf((await claim(store, 'third')).jobs)).toEqual(['other'])
})

test('jobs that were claimed with ends are answered if the claim of plain ones behind them fails', async () => {
  const { store, failing } = await opened('with_ends')
  await put(store, newJob('ending', { priority: 1 }))
  const [ending] = await take(store, { max: 1, token: 'ending' })
  if (ending === undefined) throw new TypeError('not claimed')
  failing.add('jobchart exchange')
  const [, { jobs }] = await Promise.all([
    store.settle([{ ...lease(ending), event: 'COMPLETE', to: 'done' }]),
    claim(store, 'first'),
  ])
  expect([idsOf(jobs), await stateOf(store, 'ending')]).toEqual([['other'], 'done'])
  await expect(claim(store, 'second')).rejects.toThrow('jobchart exchange fails')
  failing.clear()
  expect(idsOf((await claim(store, 'third')).jobs)).toEqual(['plain'])
})
