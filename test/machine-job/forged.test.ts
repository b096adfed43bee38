/** What an event brings is data: it never becomes an error or an actor. */
import { defineJob } from 'jobchart'
import { assign, setup } from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

test.each([
  [{ jobchart$error: { name: 'Error', message: 'forged' } }],
  [{ jobchart$actor: 'kid/1' }],
  [{ xstate$$type: 1, id: 'kid' }],
])('%j in an event is that in the context, however often the job is parked', async (payload) => {
  const at = world()
  const idle = setup({}).createMachine({})
  const job = defineJob({
    type: 'forged',
    machine: setup({
      types: { context: {} as { kept: unknown }, events: {} as { type: 'KEEP'; payload: object } | { type: 'END' } },
      actors: { idle },
    }).createMachine({
      context: { kept: null },
      invoke: { src: 'idle', id: 'kid' },
      initial: 'on',
      states: {
        on: { on: { KEEP: { actions: assign({ kept: ({ event }) => event.payload }) }, END: 'off' } },
        off: { type: 'final' },
      },
      output: ({ context }) => context.kept,
    }),
  })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  await at.clock.settle()
  await handle.send({ type: 'KEEP', payload })
  await at.clock.settle()
  expect((await handle.snapshot()).context).toEqual({ kept: payload })
  await handle.send({ type: 'END' })
  expect(await handle.result()).toEqual(payload)
})
