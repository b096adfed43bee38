import { createRuntime, defineJob, type MachineInspection } from 'jobchart'
import { expect, onTestFinished, test } from 'vitest'
import { assign, sendParent, setup } from 'xstate'

const child = setup({}).createMachine({
  id: 'check',
  initial: 'busy',
  states: { busy: { entry: sendParent({ type: 'OK', by: 'check' }) } },
})
const machine = setup({
  types: { context: {} as { by: string | null }, events: {} as { type: 'OK'; by: string } | { type: 'GO' } },
  actors: { child },
}).createMachine({
  id: 'order',
  context: { by: null },
  initial: 'asked',
  states: {
    asked: { on: { GO: 'checked' } },
    checked: {
      invoke: { src: 'child', id: 'checker' },
      on: { OK: { target: 'done', actions: assign({ by: ({ event }) => event.by }) } },
    },
    done: { type: 'final' },
  },
})
const order = defineJob({ type: 'order', machine })

async function inspected(inspect: (event: MachineInspection) => void, logger = {}): Promise<void> {
  const runtime = createRuntime({ jobs: [order], inspect, logger })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  const job = await runtime.enqueue(order, undefined, { id: 'order-1' })
  await job.waitFor('asked')
  await job.send({ type: 'GO' })
  await job.result()
}

test('inspection events of a job and its child machines have the form of Stately Inspector', async () => {
  const events: MachineInspection[] = []
  await inspected((event) => events.push(event))
  for (const { rootId, createdAt, _version } of events) {
    expect([rootId, Number(createdAt) > 0, _version]).toEqual(['order-1', true, expect.any(String)])
  }
  const actors = events.flatMap((event) => (event.type === '@xstate.actor' ? [event] : []))
  // The run that takes GO restores the machine.
  expect(actors.map(({ sessionId, name, parentId }) => [sessionId, name, parentId])).toEqual([
    ['order-1', 'order', undefined],
    ['order-1', 'order', undefined],
    ['order-1/checker', 'checker', 'order-1'],
  ])
  expect(actors[1]?.snapshot).toMatchObject({ status: 'active', value: 'asked', context: { by: null } })
  expect(JSON.parse(actors[2]?.definition ?? '')).toMatchObject({ id: 'check', initial: 'busy' })
  expect(events).toContainEqual(
    expect.objectContaining({
      type: '@xstate.event',
      sessionId: 'order-1',
      sourceId: 'order-1/checker',
      event: { type: 'OK', by: 'check' },
    }),
  )
  expect(events).toContainEqual(
    expect.objectContaining({
      type: '@xstate.snapshot',
      sessionId: 'order-1',
      event: { type: 'OK', by: 'check' },
      snapshot: { status: 'done', value: 'done', context: { by: 'check' } },
    }),
  )
})

test('what an inspector throws is logged and does not reach the machine', async () => {
  const logged: string[] = []
  const fail = (): never => {
    throw new Error('no inspector')
  }
  await inspected(fail, { error: (message: string) => logged.push(message) })
  expect(logged).toContain('inspect threw')
})

test('inspect is a function', () => {
  expect(() => createRuntime({ jobs: [order], inspect: 'yes' as never })).toThrow(/inspect/)
})
