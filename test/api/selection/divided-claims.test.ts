import { setImmediate as turn } from 'node:timers/promises'
import { createRuntime, defineJob, memoryStore } from 'jobchart'
import { expect, test } from 'vitest'
import type { Store } from '../../../src/store.ts'

test('jobs of two claims that are answered together run apart, and their ends are written apart', async () => {
  const inner = memoryStore()
  let turns = 0
  let inFlight = 0
  let most = 0
  const ends: number[] = []
  // A server that carries out all that it has read before it answers any of it.
  const read = async (): Promise<void> => {
    const left = 8 - (turns % 4)
    for (let passed = 0; passed < left; passed++) await turn()
  }
  const claim: Store['claim'] = async (request) => {
    most = Math.max(most, ++inFlight)
    await read()
    inFlight--
    return inner.claim(request)
  }
  const settle: Store['settle'] = async (settlements) => {
    ends.push(settlements.length)
    await read()
    return inner.settle(settlements)
  }
  const store: Store = { ...inner, claim, settle }
  // A store that takes a round trip cannot be asked before each start.
  delete store.confirm
  const ranIn = new Map<number, number>()
  const run = async (): Promise<void> => void ranIn.set(turns, (ranIn.get(turns) ?? 0) + 1)
  const job = defineJob<number, void>({ type: 'job', run })
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
  expect(most).toBe(2)
  const halves = Array.from({ length: 20 }, () => 100)
  expect([...ranIn.values()]).toEqual(halves)
  expect(ends).toEqual(halves)
})
