/** Cancels that come faster than a store answers. */
import { defineJob, memoryStore, type Store } from 'jobchart'
import type { VirtualClock } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

test('a stream of cancels lets other jobs start, and none that was cancelled', async () => {
  const inner = memoryStore()
  const clock: { current: VirtualClock | null } = { current: null }
  const slow = async (): Promise<void> => clock.current?.sleep(100)
  const store: Store = {
    ...inner,
    claim: (request) => slow().then(() => inner.claim(request)),
    cancel: (requests) => slow().then(() => inner.cancel(requests)),
    bulk: { ...inner.bulk, start: (request) => slow().then(() => inner.bulk.start(request)) },
  }
  const made = world({ store })
  clock.current = made.clock
  const starts: string[] = []
  const job = defineJob({ type: 'job', run: (_, { id }) => void starts.push(id) })
  const worker = await made.runtime({ jobs: [job], concurrency: 2 })
  const jobs = await worker.enqueueMany(
    job,
    Array.from({ length: 20 }, () => undefined),
  )
  const cancelled: string[] = []
  const asked: Promise<unknown>[] = []
  for (let i = 0; i < 60; i++) {
    // Every second one of those that have not started by now.
    const victim = i % 3 === 0 ? jobs.find(({ id }) => !starts.includes(id) && !cancelled.includes(id))?.id : undefined
    if (victim !== undefined && i % 20 !== 19) cancelled.push(victim)
    asked.push(i % 20 === 19 ? worker.cancel({ tag: 'none' }) : worker.cancel(victim ?? 'nobody'))
    await made.clock.advance(40)
  }
  expect(starts.length).toBeGreaterThan(2)
  await made.clock.advance('10s')
  await Promise.all(asked)
  expect(starts.filter((id) => cancelled.includes(id))).toEqual([])
  expect(starts.length + cancelled.length).toBe(20)
  expect((await worker.counts()).cancelled).toBe(cancelled.length)
})
