/** Many events that are sent to one job at once go together, and nothing else is different from one after the other. */
import { randomUUID } from 'node:crypto'
import { createClient, createRuntime, defineJob, memoryStore, type Store } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { assign, setup } from 'xstate'
import { describe, expect, onTestFinished, test } from 'vitest'
import { caps } from '../../src/core/caps.ts'
import { systemClock } from '../../src/core/clock.ts'
import { fileStore } from '../support/file-store.ts'
import { redisTest, serverOfFile } from '../support/redis-server.ts'

type Event = { type: 'OPEN' | 'CLOSE' | 'LOCK' | 'UNLOCK' | 'END' } | { type: 'NOTE'; n: number }

const gate = setup({
  types: { context: {} as { log: (string | number)[] }, events: {} as Event },
  actions: { keep: assign({ log: ({ context }, _: { text: string }) => [...context.log, _.text] }) },
}).createMachine({
  id: 'gate',
  context: { log: [] },
  initial: 'shut',
  on: {
    NOTE: { actions: assign({ log: ({ context, event }) => [...context.log, event.n] }) },
    END: '.end',
    'job.cancel': '.end',
  },
  states: {
    shut: { on: { OPEN: { target: 'open', actions: { type: 'keep', params: { text: 'open' } } }, LOCK: 'locked' } },
    locked: { on: { UNLOCK: 'shut' } },
    open: { on: { CLOSE: { target: 'shut', actions: { type: 'keep', params: { text: 'close' } } } } },
    end: { type: 'final' },
  },
  output: ({ context }) => context.log,
})

const job = defineJob({ type: 'gate', machine: gate })

const redis = serverOfFile()
const stores = [
  ['memory', test, () => memoryStore()],
  ['SQLite', test, () => fileStore()],
  ['Redis', redisTest, () => redisStore({ url: redis().url, prefix: randomUUID() })],
] as const

/** A store that tells how many messages each call has, and lets something happen before one. */
function watched(store: Store, before: (call: number) => Promise<void> = async () => {}) {
  const calls: number[] = []
  const own: Store = {
    ...store,
    async send(requests) {
      calls.push(requests.length)
      await before(calls.length)
      return store.send(requests)
    },
  }
  return { calls, store: own }
}

/** What has become of each: `sent`, or the code of its refusal. */
const outcomes = async (sends: readonly Promise<void>[]): Promise<string[]> =>
  (await Promise.allSettled(sends)).map((each) =>
    each.status === 'fulfilled' ? 'sent' : (each.reason as { code: string }).code,
  )

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

/** A job that nobody runs, and what it has come to when somebody did. */
async function waiting(store: Store) {
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  const client = createClient({ jobs: [job], store })
  onTestFinished(() => client.close())
  const handle = await client.enqueue(job)
  return {
    client,
    handle,
    end: async (): Promise<unknown> => {
      const runtime = createRuntime({ jobs: [job], store })
      await runtime.start()
      onTestFinished(async () => void (await runtime.stop()))
      await handle.send({ type: 'END' })
      return handle.result()
    },
  }
}

describe.each(stores)('on %s', (_, testOn, create) => {
  testOn('five hundred events of one turn are a few calls, and are read in their order', async () => {
    const { calls, store } = watched(create())
    const { handle, end } = await waiting(store)
    const sends = numbers(500).map((n) =>
      handle.send({ type: 'NOTE', n }, { accept: n % 3 === 0 ? 'later' : 'now', ...(n % 5 === 0 && { key: `${n}` }) }),
    )
    expect(new Set(await outcomes(sends))).toEqual(new Set(['sent']))
    // Keys are looked for by a call of their own.
    expect(calls.length).toBeLessThanOrEqual(12)
    expect(await end()).toEqual(numbers(500))
  })

  testOn('each is judged in the state after those before it', async () => {
    const { calls, store } = watched(create())
    const { handle, end } = await waiting(store)
    const types = ['OPEN', 'CLOSE', 'OPEN', 'OPEN', 'CLOSE', 'CLOSE', 'OPEN'] as const
    expect(await outcomes(types.map((type) => handle.send({ type })))).toEqual([
      'sent',
      'sent',
      'sent',
      'NOT_ACCEPTED',
      'sent',
      'NOT_ACCEPTED',
      'sent',
    ])
    expect(calls).toEqual([3, 1, 1])
    expect(await end()).toEqual(['open', 'close', 'open', 'close', 'open'])
  })

  testOn('events that were judged before the job has changed are judged again, and keep their order', async () => {
    const inner = create()
    const { calls, store } = watched(inner, async (call) => {
      // Another process is faster.
      if (call === 1) await other.send(handle.id, { type: 'OPEN' })
    })
    const { handle, end } = await waiting(store)
    const other = createClient({ jobs: [job], store: inner })
    onTestFinished(() => other.close())
    const sends = [
      handle.send({ type: 'NOTE', n: 1 }, { accept: 'later' }),
      handle.send({ type: 'OPEN' }),
      handle.send({ type: 'NOTE', n: 2 }, { accept: 'later' }),
      handle.send({ type: 'CLOSE' }),
      handle.send({ type: 'NOTE', n: 3 }, { accept: 'later' }),
    ]
    expect(await outcomes(sends)).toEqual(['sent', 'NOT_ACCEPTED', 'sent', 'sent', 'sent'])
    expect(calls[0]).toBe(5)
    expect(await end()).toEqual(['open', 1, 2, 'close', 3])
  })

  testOn('none is refused because of another one that is not kept', async () => {
    const inner = create()
    const { store } = watched(inner, async (call) => {
      if (call === 1) await other.send(handle.id, { type: 'LOCK' })
    })
    const { handle } = await waiting(store)
    const other = createClient({ jobs: [job], store: inner })
    onTestFinished(() => other.close())
    // An open gate cannot be unlocked, but it is a locked one.
    expect(await outcomes([handle.send({ type: 'OPEN' }), handle.send({ type: 'UNLOCK' })])).toEqual([
      'NOT_ACCEPTED',
      'sent',
    ])
  })

  testOn('the event of a cancel cancels after those before it', async () => {
    const store = create()
    const { handle } = await waiting(store)
    const runtime = createRuntime({ jobs: [job], store })
    onTestFinished(async () => void (await runtime.stop()))
    await runtime.start()
    await handle.waitFor('shut')
    const cancel = { type: 'job.cancel' } as unknown as Event
    expect(await outcomes([handle.send({ type: 'NOTE', n: 1 }), handle.send(cancel)])).toEqual(['sent', 'sent'])
    await expect(handle.result()).rejects.toMatchObject({ name: 'JobCancelledError' })
    expect((await handle.snapshot()).context.log).toEqual([1])
  })

  testOn('of two with one key the second is sent without effect, whatever the state after the first', async () => {
    const { store } = watched(create())
    const { handle, end } = await waiting(store)
    const options = { key: 'once' }
    const sends = [handle.send({ type: 'OPEN' }, options), handle.send({ type: 'OPEN' }, options)]
    expect(await outcomes(sends)).toEqual(['sent', 'sent'])
    expect(await end()).toEqual(['open'])
  })

  testOn('a full inbox takes what it has room for', async () => {
    const { handle } = await waiting(create())
    const sends = numbers(caps.inbox + 50).map((n) => handle.send({ type: 'NOTE', n }, { accept: 'later' }))
    const all = await outcomes(sends)
    expect(all.indexOf('CAPACITY')).toBe(caps.inbox)
    expect(new Set(all.slice(caps.inbox))).toEqual(new Set(['CAPACITY']))
    await handle.cancel()
  })
})

test('a call that fails rejects what it had, and others follow', async () => {
  const { calls, store } = watched(memoryStore(), async (call) => {
    if (call === 1) throw new Error('the line is cut')
  })
  const { handle, end } = await waiting(store)
  const sends = numbers(150).map((n) => handle.send({ type: 'NOTE', n }))
  const all = await Promise.allSettled(sends)
  expect(all.map(({ status }) => status)).toEqual([
    ...Array<string>(100).fill('rejected'),
    ...Array<string>(50).fill('fulfilled'),
  ])
  expect(calls).toEqual([100, 50])
  expect(await end()).toEqual(numbers(150).slice(100))
})
