/** What `send` and `can` say of a machine that has not read yet what waits for it. */
import { createClient, defineJob, fromJob, memoryStore, JobCancelledError, JobchartError } from 'jobchart'
import { assign, raise, sendTo, setup } from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

type Event = { type: 'OPEN' } | { type: 'SHUT' } | { type: 'AGAIN' }

const shop = setup({ types: { events: {} as Event } }).createMachine({
  id: 'shop',
  initial: 'night',
  states: {
    night: { after: { 60_000: 'day' }, on: { AGAIN: { target: 'night', reenter: true } } },
    day: { on: { SHUT: 'shut' } },
    shut: { type: 'final' },
  },
})

test('an event for the state behind a timer that is due is taken while nobody runs, one before it is not', async () => {
  const at = world()
  const job = defineJob({ type: 'shop', machine: shop })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  await at.clock.settle()
  await runtime.pause()
  await expect(handle.send({ type: 'SHUT' })).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  await at.clock.advance('60s')
  expect(await handle.can({ type: 'AGAIN' })).toBe(false)
  expect(await handle.can({ type: 'SHUT' })).toBe(true)
  await handle.send({ type: 'SHUT' })
  await runtime.resume()
  await handle.result()
})

test('a timer that a message cancels does not fire, though it is due by now', async () => {
  const at = world()
  const job = defineJob({ type: 'shop', machine: shop })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  await at.clock.settle()
  await runtime.pause()
  await at.clock.advance('30s')
  await handle.send({ type: 'AGAIN' })
  await at.clock.advance('40s')
  expect(await handle.can({ type: 'SHUT' })).toBe(false)
  expect(await handle.can({ type: 'AGAIN' })).toBe(true)
})

test('an event that only an `always` looks at is taken', async () => {
  const at = world()
  const job = defineJob({
    type: 'looking',
    machine: setup({ types: { events: {} as { type: 'GO' } | { type: 'STAY' } } }).createMachine({
      initial: 'here',
      states: {
        here: { always: { guard: ({ event }) => event.type === 'GO', target: 'there' } },
        there: { type: 'final' },
      },
    }),
  })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  await at.clock.settle()
  await expect(handle.send({ type: 'STAY' })).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  await handle.send({ type: 'GO' })
  await handle.result()
})

test('a machine that throws at what it is asked rejects with a typed error that names the event', async () => {
  const at = world()
  const job = defineJob({
    type: 'throwing',
    machine: setup({
      types: { context: {} as { n: number }, events: {} as { type: 'GUARD' } | { type: 'ASSIGN' } },
      guards: {
        throwing: () => {
          throw new RangeError('no such thing')
        },
      },
      actions: {
        throwing: assign({
          n: () => {
            throw new TypeError('not at all')
          },
        }),
      },
    }).createMachine({
      context: { n: 0 },
      initial: 'on',
      states: { on: { on: { GUARD: { guard: 'throwing', target: 'off' }, ASSIGN: { actions: 'throwing' } } }, off: {} },
    }),
  })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  await at.clock.settle()
  await runtime.pause()
  const failure = (event: string, cause: string) => ({
    code: 'NOT_ACCEPTED',
    message: expect.stringContaining(event) as string,
    cause: expect.objectContaining({ message: expect.stringContaining(cause) as string }) as Error,
  })
  for (const ask of [handle.send({ type: 'GUARD' }), handle.can({ type: 'GUARD' })]) {
    const error: unknown = await ask.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(JobchartError)
    expect(error).toMatchObject(failure('GUARD', 'no such thing'))
  }
  await handle.send({ type: 'ASSIGN' })
  await expect(handle.send({ type: 'ASSIGN' })).rejects.toMatchObject(failure('ASSIGN', 'not at all'))
})

test('the end of a child job that waits to be read is foreseen with the error that the machine will get', async () => {
  const at = world()
  const child = defineJob<undefined, void>({ type: 'child', run: async () => {} })
  const job = defineJob({
    type: 'parent',
    machine: setup({ actors: { child: fromJob(child, undefined, { delay: '1h' }) } }).createMachine({
      initial: 'working',
      states: {
        working: {
          invoke: {
            src: 'child',
            onError: { guard: ({ event }) => event.error instanceof JobCancelledError, target: 'left' },
          },
        },
        left: { on: { GO: 'end' } },
        end: { type: 'final' },
      },
    }),
  })
  const runtime = await at.runtime({ jobs: [job, child] })
  const handle = await runtime.enqueue(job)
  await at.clock.settle()
  await runtime.pause()
  await runtime.cancel({ type: 'child' })
  expect((await handle.record()).inbox).toMatchObject([{ message: { kind: 'ended' } }])
  await handle.send({ type: 'GO' })
  await runtime.resume()
  await handle.result()
})

test('two stores with a job of one id do not know of each other', async () => {
  const at = world()
  const job = defineJob({
    type: 'twin',
    machine: setup({
      types: { input: {} as { open: boolean }, context: {} as { open: boolean }, events: {} as { type: 'ENTER' } },
    }).createMachine({
      context: ({ input }) => input,
      initial: 'on',
      states: { on: { on: { ENTER: { guard: ({ context }) => context.open, target: 'off' } } }, off: {} },
    }),
  })
  const clients = [true, false].map((open) => ({
    open,
    client: createClient({ jobs: [job], store: memoryStore(), clock: at.clock }),
  }))
  const handles = await Promise.all(clients.map(({ open, client }) => client.enqueue(job, { open }, { id: 'one' })))
  for (const [i, handle] of [...handles, ...handles].entries()) {
    const { open } = clients[i % 2] ?? { open: null }
    expect((await handle.snapshot()).context).toEqual({ open })
    expect(await handle.can({ type: 'ENTER' })).toBe(open)
  }
  for (const { client } of clients) await client.close()
})

test('a state with a route is entered from outside, other events of XState are refused', async () => {
  const at = world()
  const job = defineJob({
    type: 'routes',
    machine: setup({}).createMachine({ id: 'routes', initial: 'a', states: { a: {}, b: { id: 'b', route: {} } } }),
  })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  await at.clock.settle()
  await expect(handle.send({ type: 'xstate.route', to: '#a' } as never)).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  await expect(handle.send({ type: 'xstate.done.actor.b' } as never)).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  await handle.send({ type: 'xstate.route', to: '#b' } as never)
  await at.clock.settle()
  expect((await handle.snapshot()).value).toBe('b')
})

test('machines that send themselves events for ever fail their attempt', async () => {
  const at = world()
  const job = defineJob({
    type: 'circle',
    retry: { maxAttempts: 1 },
    machine: setup({}).createMachine({
      on: { AGAIN: { actions: sendTo(({ self }) => self, { type: 'AGAIN' }) } },
      entry: raise({ type: 'AGAIN' }),
    }),
  })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.settle()
  expect(await handle.record()).toMatchObject({
    state: 'dead',
    error: { message: expect.stringContaining('infinite loop') as string },
  })
})
