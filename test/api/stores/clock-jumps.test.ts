/** The wall clock is set while jobs wait: what is due runs, and nothing waits for a time that has gone. */
import { defineJob } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const hourMs = 3_600_000
const job = defineJob<string, string>({ type: 'job', run: async (name) => name })

test('a delayed job runs soon after its time, though the clock was set forward meanwhile', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 'x', { delay: '30m' })
  await clock.advance('1m')
  clock.jump(hourMs)
  await clock.advance('20s')
  expect(await handle.record()).toMatchObject({ state: 'done' })
})

test('so does one whose timer was set while the clock was wrong', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 'x', { delay: '10s' })
  clock.jump(-hourMs)
  await clock.advance('1m')
  expect((await handle.record()).state).toBe('scheduled')
  clock.jump(hourMs)
  await clock.advance('20s')
  expect(await handle.record()).toMatchObject({ state: 'done' })
})

test('a rate limit does not wait for a clock that was set back to catch up', async () => {
  const { clock, runtime } = world()
  const limited = defineJob<number>({ type: 'limited', rateLimit: { limit: 2, per: '10s' }, run: async () => {} })
  const worker = await runtime({ jobs: [limited] })
  await worker.enqueueMany(limited, [1, 2, 3, 4, 5])
  await clock.settle()
  clock.jump(-hourMs)
  await clock.advance('9s')
  expect(await worker.counts()).toMatchObject({ done: 2, queued: 3 })
  await clock.advance('1m')
  expect(await worker.counts()).toMatchObject({ done: 5 })
})
