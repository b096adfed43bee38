/** Results of steps that runs have one by one are written together while the store answers earlier calls. */
import { createRuntime, defineJob } from 'jobchart'
import { remoteStore, type ExtendRequest, type Store } from 'jobchart/store'
import { expect, onTestFinished, test } from 'vitest'
import { JobchartError } from '../../src/core/errors.ts'
import { movingClock } from '../stores/moving-clock.ts'
import { MapPort, SharedMap } from '../stores/remote/map-port.ts'

/** @param extend is called in place of the store's */
async function working(extend: (store: Store, request: ExtendRequest) => ReturnType<Store['extend']>) {
  const store = remoteStore(new MapPort(new SharedMap(), movingClock()))
  const calls: (readonly string[])[] = []
  const done: string[] = []
  const job = defineJob({
    type: 'steps',
    retry: { maxAttempts: 1 },
    run: async (_: null, { id, step }) => {
      for (const name of ['a', 'b', 'c']) {
        await step(name, async () => {
          done.push(`${id} ${name}`)
          return name
        })
      }
    },
  })
  const counting: Store = {
    ...store,
    extend(request) {
      const steps = request.heartbeats.flatMap((each) => Object.keys(each.steps ?? {}))
      if (steps.length > 0) calls.push(steps)
      return extend(store, request)
    },
  }
  const runtime = createRuntime({ jobs: [job], store: counting, concurrency: 20 })
  onTestFinished(async () => void (await runtime.stop()))
  const handles = await runtime.enqueueMany(
    job,
    Array.from({ length: 20 }, () => null),
  )
  await runtime.start()
  return { runtime, job, handles, calls, done, store }
}

test('twenty runs with three steps each do not make sixty calls, and each step is stored', async () => {
  const { runtime, handles, calls, done, store } = await working((own, request) => own.extend(request))
  await runtime.drain()
  expect(calls.flat()).toHaveLength(60)
  expect(calls.length).toBeLessThan(10)
  expect(new Set(done).size).toBe(60)
  const records = await store.get(handles.map(({ id }) => id))
  expect(records.every((record) => record?.state === 'done')).toBe(true)
})

test('what the store answers to a step concerns its run alone; a call that fails is repeated', async () => {
  const failed: number[] = []
  let other = ''
  const { runtime, calls, done } = await working(async (own, request) => {
    if (calls.length === 2) {
      failed.push(request.heartbeats.length)
      throw new JobchartError('STORE_UNAVAILABLE', 'away', { hint: 'Wait.' })
    }
    const answers = await own.extend(request)
    if (other !== '' || request.heartbeats.length < 2) return answers
    other = request.heartbeats[0]?.id ?? ''
    return answers.map((answer, i) => (i === 0 ? { outcome: 'failed' } : answer))
  })
  await runtime.drain()
  const counts = (await runtime.counts()).types['steps']
  expect(counts).toMatchObject({ done: 19, dead: 1 })
  expect(failed[0]).toBeGreaterThan(1)
  expect(done.filter((each) => !each.startsWith(other))).toHaveLength(57)
})
