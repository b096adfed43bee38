/** Jobs that a machine invokes: children of their own, waited for without a slot, found again after a crash. */
import { defineJob, fatal, fromJob, type Duration, type JobDefinition, type JobRecord, type Runtime } from 'jobchart'
import type { VirtualClock } from 'jobchart/testing'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { assign, enqueueActions, fromPromise, setup } from 'xstate'
import { expect, test } from 'vitest'
import { world, type World } from '../support/leaks.ts'
import { didIn, prove } from './support/prove.ts'
import { live, type Story } from './support/lives.ts'

const notRefused: StandardSchemaV1<{ to: string }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      (value as { to: string }).to === 'refused'
        ? { issues: [{ message: 'refused' }] }
        : { value: value as { to: string } },
  },
}

type Sender = JobDefinition<{ to: string }, string>

const sender = (clock: VirtualClock, takes: Duration = '2s'): Sender =>
  defineJob({
    type: 'send',
    input: notRefused,
    retry: { maxAttempts: 9, backoff: () => '1s' },
    run: async ({ to }, { signal, checkin }) => {
      checkin({ half: to })
      await clock.sleep(takes, signal)
      if (to === 'nobody') throw fatal('nobody there')
      return `sent to ${to}`
    },
  })

/** Sends to one after the other inline, then to all at once by name. */
const mailing = (job: Sender, did: (what: string) => void = () => {}) =>
  setup({
    types: {
      context: {} as { to: string[]; got: string[]; half: string },
      input: {} as { to: string[] },
      events: {} as { type: 'LEAVE' } | { type: 'xstate.done.actor.fan'; output: string },
    },
    actions: { note: (_, { what }: { what: string }) => did(`note ${what}`) },
    actors: { send: fromJob(job) },
  }).createMachine({
    id: 'mailing',
    context: ({ input }) => ({ ...input, got: [], half: '' }),
    initial: 'first',
    states: {
      first: {
        invoke: {
          src: fromJob(job) as never,
          id: 'first',
          input: ({ context }: { context: { to: string[] } }) => ({ to: context.to[0] as string }),
          onDone: {
            target: 'all',
            actions: [
              assign({ got: ({ event }) => [event.output as string] }),
              { type: 'note', params: ({ event }) => ({ what: event.output as string }) },
            ],
          },
          onSnapshot: {
            actions: assign({
              half: ({ event }) =>
                JSON.stringify((event.snapshot as { context?: { checkin?: unknown } }).context?.checkin ?? null),
            }),
          },
          onError: {
            target: 'failed',
            actions: assign({
              half: ({ event }) => `${(event.error as { code?: string }).code} ${String(event.error)}`,
            }),
          },
        },
        on: { LEAVE: 'left' },
      },
      all: {
        entry: enqueueActions(({ context, enqueue }) => {
          context.to.slice(1).forEach((to, i) => enqueue.spawnChild('send', { id: `fan.${i}`, input: { to } }))
        }),
        on: {
          'xstate.done.actor.*': {
            actions: assign({
              got: ({ context, event }) => [...context.got, (event as { output: string }).output].toSorted(),
            }),
          },
        },
        always: { guard: ({ context }) => context.got.length === context.to.length, target: 'end' },
      },
      left: { after: { 12_000: 'end' } },
      failed: { type: 'final' },
      end: { type: 'final' },
    },
    output: ({ context }) => context.got,
  })

async function childrenOf(runtime: Runtime): Promise<readonly JobRecord[]> {
  return runtime.list({ type: 'send' })
}

async function begin(at: World, to = ['a', 'b', 'c']) {
  const send = sender(at.clock)
  const parent = defineJob({ type: 'mailing', machine: mailing(send), retry: { maxAttempts: 9 } })
  const runtime = await at.runtime({ jobs: [parent, send] })
  const handle = await runtime.enqueue(parent, { to })
  return { runtime, handle }
}

const story = (to: string[], takes?: Duration): Story => ({
  input: { to },
  concurrency: 1,
  jobs: (tell) => {
    const send = sender(tell.clock, takes)
    const machine = mailing(send, (what) => tell.did(what))
    return [defineJob({ type: 'mailing', machine, retry: { maxAttempts: 9 } }), send] as readonly JobDefinition[]
  },
})

test('jobs are invoked inline and spawned by name, one slot is enough for all, and kills change nothing', async () => {
  const { output, told } = await prove(story(['a', 'b', 'c']))
  expect(output).toEqual(['sent to a', 'sent to b', 'sent to c'])
  expect(didIn(told)).toEqual(['note sent to a'])
})

test('a child is a job of its own: its parent waits for it, and hears its check-ins', async () => {
  const at = world()
  const { runtime, handle } = await begin(at)
  await at.clock.advance('1s')
  expect((await handle.record()).state).toBe('waiting')
  const [child] = await childrenOf(runtime)
  expect(child).toMatchObject({ type: 'send', state: 'running', parent: { id: handle.id, checkins: true } })
  await at.clock.advance('1s')
  expect((await handle.snapshot()).context).toMatchObject({ half: '{"half":"a"}' })
  await at.clock.advance('10s')
  expect(await handle.result()).toEqual(['sent to a', 'sent to b', 'sent to c'])
  expect(await childrenOf(runtime)).toHaveLength(3)
})

test.each([
  ['dead', 'nobody', 'JobDeadError: job'],
  ['cancelled', 'a', 'JobCancelledError: job'],
  ['refused at the door', 'refused', 'INVALID_INPUT'],
])('a child that is %s is an error of its actor', async (how, to, message) => {
  const at = world()
  const { runtime, handle } = await begin(at, [to])
  await at.clock.advance('1s')
  const [child] = await childrenOf(runtime)
  if (how === 'cancelled') await runtime.cancel((child as JobRecord).id)
  await at.clock.advance('5s')
  expect(await handle.record()).toMatchObject({ state: 'done', error: null })
  expect((await handle.snapshot()).context).toMatchObject({ half: expect.stringContaining(message) as string })
})

test('who leaves the state of a child cancels it, and so does who cancels its parent', async () => {
  for (const how of ['leave', 'cancel'] as const) {
    const at = world()
    const { runtime, handle } = await begin(at)
    await at.clock.advance('1s')
    if (how === 'leave') await handle.send({ type: 'LEAVE' })
    else await handle.cancel()
    await at.clock.advance('2s')
    const [child] = await childrenOf(runtime)
    expect(child).toMatchObject({
      state: 'cancelled',
      cancelReason: how === 'leave' ? 'its parent has left it' : 'its parent was cancelled',
    })
    expect((await handle.record()).state).toBe(how === 'leave' ? 'waiting' : 'cancelled')
  }
})

test('a parent that is sent through again asks how its children are: it was not told', async () => {
  const at = world()
  const { handle } = await begin(at)
  await at.clock.advance('1s')
  await handle.cancel()
  await at.clock.advance('1s')
  await handle.retry()
  await at.clock.advance('1s')
  expect(await handle.record()).toMatchObject({ state: 'done', error: null })
  expect((await handle.snapshot()).context).toMatchObject({
    half: expect.stringContaining('its parent was cancelled') as string,
  })
})

test('a child is left once and for all, whenever its parent is killed', async () => {
  const { state } = await prove({
    ...story(['a'], '10m'),
    drive: async ({ job, until }) => {
      await until('first')
      await job.send({ type: 'LEAVE' })
      await until('left')
    },
  })
  expect(state).toBe('done')
})

test('a child that has ended while its parent was away is heard of when it comes back', async () => {
  const at = world()
  const send = sender(at.clock)
  const parent = defineJob({ type: 'mailing', machine: mailing(send) })
  const first = await at.runtime({ jobs: [parent, send] })
  const { id } = await first.enqueue(parent, { to: ['a'] })
  await at.clock.advance('1s')
  await first.queue('mailing').pause()
  await at.clock.advance('5s')
  expect((await childrenOf(first))[0]?.state).toBe('done')
  expect((await (await first.job(id))?.record())?.state).toBe('queued')
  await first.queue('mailing').resume()
  await at.clock.settle()
  expect(await (await first.job(id))?.result()).toEqual(['sent to a'])
})

test('a failing attempt does not cancel the jobs that it waits for', async () => {
  const at = world()
  let failures = 0
  const send = sender(at.clock)
  const machine = setup({
    actors: {
      send: fromJob(send),
      work: fromPromise(async () => {
        if (++failures <= 1) throw new Error('no')
      }),
    },
  }).createMachine({
    type: 'parallel',
    states: {
      sending: {
        initial: 'on',
        states: { on: { invoke: { src: 'send', input: { to: 'a' }, onDone: 'off' } }, off: { type: 'final' } },
      },
      working: {
        initial: 'rest',
        states: {
          rest: { after: { 500: 'on' } },
          on: { invoke: { src: 'work', onDone: 'off' } },
          off: { type: 'final' },
        },
      },
    },
  })
  const parent = defineJob({ type: 'both', machine, retry: { backoff: () => '500ms' } })
  const runtime = await at.runtime({ jobs: [parent, send] })
  const handle = await runtime.enqueue(parent, undefined)
  await at.clock.advance('10s')
  expect(await handle.record()).toMatchObject({ error: null, state: 'done' })
  expect((await childrenOf(runtime)).map(({ state }) => state)).toEqual(['done'])
})

/** Its child ends while its action is executed: the end is a message that the next process reads first. */
const busy: Story = {
  jobs: (tell) => {
    const job = sender(tell.clock)
    const slow: unknown = async () => {
      await tell.clock.sleep('3s')
      tell.did('slow')
    }
    const machine = setup({
      actors: { send: fromJob(job) },
      actions: {
        slow: slow as () => void,
      },
    }).createMachine({
      initial: 'sending',
      states: {
        sending: {
          invoke: { src: 'send', input: { to: 'ada' }, onDone: 'sent' },
          on: { GO: { actions: 'slow' } },
        },
        sent: { type: 'final' },
      },
    })
    return [defineJob({ type: 'busy', retry: { maxAttempts: 9 }, machine }), job]
  },
  drive: async ({ job, clock }) => {
    await clock.advance(500)
    await job.send({ type: 'GO' })
  },
}

test('a message is kept until the actor that it is for has started, whichever two processes are killed', async () => {
  const { state, writes } = await live(busy)
  expect(state).toBe('done')
  for (let first = 1; first <= (writes[0] as number); first++) {
    for (let second = 1; second <= 6; second++) {
      const lived = await live(busy, [
        { at: first, kind: 'after' },
        { at: second, kind: 'after' },
      ])
      expect(lived.state, `killed after write ${first}, then after write ${second}`).toBe('done')
    }
  }
})
