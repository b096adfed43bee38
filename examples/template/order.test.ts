/** The tests run in virtual time: an hour passes in milliseconds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestRuntime } from 'jobchart/testing'
import { jobs, order } from './jobs.ts'

test('a paid order is packed and shipped', async () => {
  const { runtime, clock } = await createTestRuntime({ jobs })
  const job = await runtime.enqueue(order, { item: 'book' })
  await clock.settle()
  await job.send({ type: 'PAY' })
  await clock.settle()
  assert.deepEqual(await job.result(), { parcel: 'parcel of book' })
  await runtime.stop()
})

test('an order that nobody pays is cancelled after an hour', async () => {
  const { runtime, clock } = await createTestRuntime({ jobs })
  const job = await runtime.enqueue(order, { item: 'book' })
  await clock.advance('59m')
  assert.equal((await job.record()).state, 'waiting')
  await clock.advance('2m')
  assert.deepEqual((await job.record()).machineStates, ['cancelled'])
  await runtime.stop()
})
