/** Messages that arrive between the claim of a machine's job and its start: they are asked for once, and together. */
import { defineJob, memoryStore, type Store } from 'jobchart'
import { assign, fromPromise, setup } from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

/** Works for an hour, and writes down what it is sent. */
const working = (work: (signal: AbortSignal) => Promise<void>) =>
  setup({
    types: { context: {} as { got: number }, events: {} as { type: 'ADD' } },
    actors: { work: fromPromise(({ signal }) => work(signal)) },
    actions: { add: assign({ got: ({ context }) => context.got + 1 }) },
  }).createMachine({ id: 'working', context: { got: 0 }, invoke: { src: 'work' }, on: { ADD: { actions: 'add' } } })

/** A store that counts the heartbeats of each call, and does something right after a claim. */
function watched(claimed: (store: Store, ids: readonly string[]) => void = () => {}) {
  const memory = memoryStore()
  const heartbeats: number[] = []
  const store: Store = {
    ...memory,
    extend(request) {
      if (request.heartbeats.length > 0) heartbeats.push(request.heartbeats.length)
      return memory.extend(request)
    },
    async claim(request) {
      const answer = await memory.claim(request)
      claimed(
        memory,
        answer.jobs.map(({ id }) => id),
      )
      return answer
    },
  }
  const at = world({ store })
  const job = defineJob({ type: 'working', machine: working((signal) => at.clock.sleep('1h', signal)) })
  return { at, job, heartbeats }
}

const sends = (store: Store, ids: readonly string[]): void => {
  void store.send(ids.map((id) => ({ id, message: { kind: 'event', event: { type: 'ADD' } }, key: 'k', expect: null })))
}

const inputs = Array.from({ length: 20 }, () => undefined)

test('a machine that has written a checkpoint has its messages by the answer, and sends no heartbeat for them', async () => {
  const { at, job, heartbeats } = watched(sends)
  const runtime = await at.runtime({ jobs: [job], concurrency: 20 })
  const handles = await runtime.enqueueMany(job, inputs)
  await at.clock.advance(10)
  for (const handle of handles) {
    const { inbox, checkpoint } = await handle.record()
    expect({ inbox, isThere: checkpoint !== null }).toEqual({ inbox: [], isThere: true })
  }
  await at.clock.advance('1s')
  expect(heartbeats).toEqual([])
})

test('machines that go on at work without a checkpoint are asked about in one call', async () => {
  let isAgain = false
  const { at, job, heartbeats } = watched((store, ids) => isAgain && sends(store, ids))
  const before = await at.runtime({ jobs: [job], concurrency: 20 })
  const handles = await before.enqueueMany(job, inputs)
  await at.clock.advance(10)
  await before.stop({ mode: 'abort', grace: 0 })
  isAgain = true
  const runtime = await at.runtime({ jobs: [job], concurrency: 20 })
  await at.clock.advance(500)
  expect(heartbeats).toEqual([20])
  const read = await Promise.all(handles.map(async ({ id }) => (await runtime.job(id))?.record()))
  expect(read.map((record) => record?.inbox)).toEqual(inputs.map(() => []))
  await runtime.stop({ mode: 'abort', grace: 0 })
})
