/** The storm of `npm run storm:threads`, in short. */
import { expect, test } from 'vitest'
import { isLong } from '../harness/long-form.ts'
import { stormThreads } from '../storm/threads/storm.ts'

test('threads that exit, crash, fill their memory and loop leave no thread, no taken slot and a clean history', async () => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  const { faults, threads } = await stormThreads({ jobs: isLong ? 100 : 40, slots: 6, seed })
  expect(faults, `seed ${seed}`).toEqual([])
  // Otherwise the storm was none: each slot has its first thread.
  expect(threads.started).toBeGreaterThan(isLong ? 10 : 6)
})
