/** A store that does not answer: the runtime says so, goes on trying, and says when it is over. */
import { defineJob, memoryStore } from 'jobchart'
import { faultyStore } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const job = defineJob<string, string>({ type: 'job', run: async (name) => name })

test('its trouble with the store is told when it begins and when it is over, once each', async () => {
  const faulty = faultyStore(memoryStore(), { seed: 1, faults: {} })
  const { clock, runtime, expectLogged } = world({ store: faulty })
  const worker = await runtime({ jobs: [job] })
  const told: (string | null)[] = []
  const states: string[] = []
  worker.actor.subscribe(() => {
    const trouble = worker.storeError === null ? null : worker.storeError.message
    if (trouble !== (told.at(-1) ?? null)) told.push(trouble)
  })
  worker.state$.subscribe((state) => states.push(state))
  expect(worker.storeError).toBe(null)
  faulty.disturb({ claim: { before: 1 }, extend: { before: 1 } })
  const handle = await worker.enqueue(job, 'x')
  await clock.advance('1m')
  expect(worker.storeError).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect((await worker.stats()).storeError).toBe(worker.storeError)
  expect(worker.state).toBe('running')
  faulty.calm()
  await clock.advance('10s')
  expect(await handle.result()).toBe('x')
  expect(worker.storeError).toBe(null)
  expect(told).toEqual([expect.stringContaining('claim was refused'), null])
  // The trouble is no change of its state.
  expect(states).toEqual(['running'])
  expectLogged('error')
})

test('a heartbeat finds out that the store is away, and that it is back, when there is nothing to do', async () => {
  const faulty = faultyStore(memoryStore(), { seed: 1, faults: {} })
  const { clock, runtime } = world({ store: faulty })
  const worker = await runtime({ jobs: [job] })
  faulty.disturb({ extend: { before: 1 } })
  await clock.advance('30s')
  expect(worker.storeError).not.toBe(null)
  faulty.calm()
  await clock.advance('30s')
  expect(worker.storeError).toBe(null)
})

test('an outage is told once for each kind of call, and once when it is over, however long it is', async () => {
  const faulty = faultyStore(memoryStore(), { seed: 1, faults: {} })
  const warnings: string[] = []
  const tell = (message: string): unknown => warnings.push(message)
  const { clock, runtime } = world({ store: faulty })
  const worker = await runtime({ jobs: [job], logger: { warn: tell, error: tell } })
  for (const minutes of [1, 60]) {
    // What has nothing to write succeeds now and then.
    faulty.disturb({ every: { before: 1 }, promote: { before: 0.5 } })
    const drained = worker.drain({ timeout: minutes * 60_000 })
    await clock.advance(minutes * 60_000)
    expect(await drained).toBe(false)
    expect(warnings.toSorted()).toEqual([
      'a drain could not read the counts of jobs; the read is repeated',
      'a heartbeat failed; it is repeated before the leases run out',
      'promote failed; it is repeated',
      'prune failed; it is repeated',
      'rescue failed; it is repeated',
      'schedules could not be fired; the call is repeated',
    ])
    warnings.length = 0
    faulty.calm()
    await clock.advance('1m')
    expect(warnings).toEqual(['calls to the store succeed again'])
    warnings.length = 0
  }
})
