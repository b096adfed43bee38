import { setImmediate as turn } from 'node:timers/promises'
import { createRuntime, defineJob, memoryStore } from 'jobchart'
import { expect, test } from 'vitest'
import type { Store } from '../../../src/store.ts'

test('of two claims in flight the second is sent in a later turn than the first, so that a server reads each alone', async () => {
  const inner = memoryStore()
  let turns = 0
  let inFlight = 0
  let most = 0
  const sentIn: number[] = []
  const claim: Store['claim'] = async (request) => {
    sentIn.push(turns)
    most = Math.max(most, ++inFlight)
    for (let n = 0; n < 5; n++) await turn()
    inFlight--
    return inner.claim(request)
  }
  const store: Store = { ...inner, claim }
  // A store that takes a round trip cannot be asked before each start.
  delete store.confirm
  let ran = 0
  const job = defineJob<number, void>({ type: 'job', run: async () => void ran++ })
  const runtime = createRuntime({ jobs: [job], store, concurrency: 200 })
  await runtime.start()
  await runtime.enqueueMany(
    job,
    Array.from({ length: 2_000 }, (_each, n) => n),
  )
  while ((await runtime.counts()).done < 2_000) {
    turns++
    await turn()
  }
  await runtime.stop()
  expect(ran).toBe(2_000)
  expect(most).toBe(2)
  expect(sentIn).toEqual([...new Set(sentIn)])
})
