/** A checkpoint is written at each step: it holds what is not the default, and is whole again when it is read. */
import { createRuntime, defineJob, memoryStore } from 'jobchart'
import { fromPromise, setup } from 'xstate'
import { expect, test } from 'vitest'
import { unpackState } from '../../src/machine-job/state.ts'

const machine = setup({ actors: { work: fromPromise(async () => {}) } }).createMachine({
  id: 'two',
  initial: 'first',
  states: { first: { invoke: { src: 'work', id: 'worker', onDone: 'second' } }, second: { type: 'final' } },
})

test('a state leaves out what is the default, and has it again when it is read', async () => {
  const store = memoryStore()
  const job = defineJob({ type: 'two', machine })
  const runtime = createRuntime({ jobs: [job], store })
  await runtime.start()
  const { id } = await runtime.enqueue(job)
  await (await runtime.job(id))?.result()
  const [first, last] = (await store.checkpoints(id)).map(({ state }) => state)
  expect(first).toEqual({
    format: 1,
    machine: expect.anything(),
    job: id,
    snapshot: { value: 'first', context: {}, children: { worker: { src: 'work' } } },
    entered: [expect.any(Number)],
    actorNumber: 1,
    events: [expect.anything()],
  })
  expect(unpackState(first ?? null)).toMatchObject({
    snapshot: {
      status: 'active',
      historyValue: {},
      children: { worker: { src: 'work', kind: 'work', snapshot: { status: 'active' } } },
    },
    timers: [],
    outbox: [],
    actors: { starts: {} },
    actorNumber: 1,
    jobs: { ids: [] },
    cancel: null,
    read: 0,
  })
  expect(unpackState(last ?? null).snapshot).toMatchObject({ status: 'done', value: 'second', children: {} })
  await runtime.stop()
})
