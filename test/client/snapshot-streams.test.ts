import { randomUUID } from 'node:crypto'
import { createClient, createRuntime, defineJob, fromJob, type Client, type JobSnapshot, type Store } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, onTestFinished } from 'vitest'
import { createActor, setup, waitFor } from 'xstate'
import { world } from '../support/leaks.ts'
import { newFile } from '../support/new-file.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const server = serverOfFile()

const machine = setup({ types: { events: {} as { type: 'PAY' } | { type: 'SHIP' } } }).createMachine({
  context: { lines: 2 },
  initial: 'open',
  states: {
    open: { tags: 'unpaid', on: { PAY: 'paid' } },
    paid: { on: { SHIP: 'shipped' } },
    shipped: { type: 'final' },
  },
})
const order = defineJob({ type: 'order', machine })

async function storesOfFile(): Promise<() => Store> {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const path = await newFile(folder.path)
  return () => sqliteStore({ path })
}

async function storesOfServer(): Promise<() => Store> {
  const prefix = randomUUID()
  const { url } = server()
  return () => redisStore({ url, prefix })
}

/** Collects snapshots; `reach` resolves with the first that meets the condition. */
function collect(snapshots: readonly JobSnapshot[], changed: Set<() => void>) {
  return (isMet: (snapshot: JobSnapshot) => boolean): Promise<JobSnapshot> =>
    new Promise((resolve) => {
      const look = (): void => {
        const met = snapshots.find(isMet)
        if (met !== undefined) resolve(met)
      }
      changed.add(look)
      look()
    })
}

async function follow(client: Client, id: string) {
  const handle = await client.job(id)
  if (handle === null) throw new Error('no job')
  const seen: JobSnapshot[] = []
  const changed = new Set<() => void>()
  const ended = new Promise<void>((complete, error) => {
    const next = (snapshot: JobSnapshot): void => {
      seen.push(snapshot)
      for (const look of changed) look()
    }
    handle.snapshot$.subscribe({ next, error, complete })
  })
  return { seen, ended, reach: collect(seen, changed) }
}

test.each([
  ['sqlite', storesOfFile],
  ['redis', storesOfServer],
])('%s: another handle of the store sees check-ins, states of the machine and the end', async (_, storesOf) => {
  const storeOf = await storesOf()
  const go = Promise.withResolvers<void>()
  const work = defineJob<null, string>({
    type: 'work',
    run: async (_input, ctx) => {
      ctx.checkin('half')
      await go.promise
      return 'made'
    },
  })
  const runtime = createRuntime({ jobs: [order, work], store: storeOf() })
  await runtime.start()
  // It knows no definition: it shows what is stored.
  const client = createClient({ jobs: [], store: storeOf() })
  onTestFinished(async () => {
    await client.close()
    await runtime.stop()
  })

  const plain = await follow(client, (await runtime.enqueue(work, null)).id)
  expect((await plain.reach(({ checkin }) => checkin !== null)).checkin?.value).toBe('half')
  go.resolve()
  await plain.ended
  expect(plain.seen.at(-1)).toMatchObject({ type: 'work', state: 'done', value: undefined, tags: [] })

  const { id } = await runtime.enqueue(order, undefined)
  const states: string[] = []
  const watched = await client.job(id)
  const statesEnded = new Promise<void>((complete, error) => {
    watched?.state$.subscribe({ next: (state) => states.push(state), error, complete })
  })
  const machines = await follow(client, id)
  const parked = await machines.reach(({ state, value }) => state === 'waiting' && value === 'open')
  expect(parked).toMatchObject({ context: { lines: 2 }, tags: ['unpaid'] })
  await runtime.send(order, id, { type: 'PAY' })
  await machines.reach(({ value }) => value === 'paid')
  await runtime.send(order, id, { type: 'SHIP' })
  await machines.ended
  expect(machines.seen.at(-1)).toMatchObject({ state: 'done', value: 'shipped' })
  await statesEnded
  expect(states.filter((state, i) => state === states[i - 1])).toEqual([])
  expect(states.slice(states.indexOf('waiting')).slice(-7)).toEqual([
    'waiting',
    ...['queued', 'running', 'waiting'],
    ...['queued', 'running', 'done'],
  ])
  const texts = machines.seen.map((snapshot) => JSON.stringify(snapshot))
  expect(texts.filter((text, i) => text === texts[i - 1])).toEqual([])
})

test('a slow reader gets the newest snapshot, and the end', async () => {
  const { clock, runtime } = world()
  const job = defineJob({
    type: 'job',
    run: async (_input, ctx) => {
      for (let n = 1; n <= 5; n++) {
        ctx.checkin(n)
        await clock.sleep('1s', ctx.signal)
      }
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  const reader = handle.snapshot$.iterate()
  await clock.advance('1m')
  expect((await reader.next()).value).toMatchObject({ state: 'done' })
  expect(await reader.next()).toEqual({ value: undefined, done: true })
})

test('a job that is not there fails the stream', async () => {
  const { clock, runtime } = world()
  const job = defineJob({ type: 'job', run: async () => {} })
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job)
  await clock.advance('1s')
  await worker.discard(handle.id)
  const failed = new Promise((resolve) => void handle.snapshot$.subscribe({ error: resolve }))
  await clock.settle()
  await expect(failed).resolves.toMatchObject({ code: 'NOT_FOUND' })
})

test('an actor of a job has the check-ins of another process', async () => {
  const storeOf = await storesOfFile()
  const go = Promise.withResolvers<void>()
  const work = defineJob<null, void>({
    type: 'work',
    run: async (_input, ctx) => {
      ctx.checkin('half')
      await go.promise
    },
  })
  const runtime = createRuntime({ jobs: [work], store: storeOf() })
  await runtime.start()
  const client = createClient({ jobs: [work], store: storeOf() })
  onTestFinished(async () => {
    await client.close()
    await runtime.stop()
  })
  const actor = createActor(fromJob(work, client), { input: null }).start()
  await waitFor(actor, ({ context }) => context.checkin === 'half')
  go.resolve()
  await waitFor(actor, ({ status }) => status === 'done')
})

test.each([
  ['sqlite', storesOfFile],
  ['redis', storesOfServer],
])('%s: events and states of a job come in order, each once, from the process that runs it', async (_, storesOf) => {
  const storeOf = await storesOf()
  const gates = { first: Promise.withResolvers<void>(), second: Promise.withResolvers<void>() }
  const work = defineJob<null, string>({
    type: 'work',
    run: async (_input, ctx) => {
      ctx.checkin('first')
      await gates.first.promise
      ctx.checkin('second')
      await gates.second.promise
      return 'made'
    },
  })
  const client = createClient({ jobs: [work], store: storeOf() })
  const runtime = createRuntime({ jobs: [work], store: storeOf() })
  onTestFinished(async () => {
    await client.close()
    await runtime.stop()
  })
  const handle = await client.enqueue(work, null)
  const events: unknown[] = []
  const states: string[] = []
  const seen = { ENQUEUE: Promise.withResolvers<void>(), first: gates.first, second: gates.second }
  const ended = new Promise<void>((complete, error) => {
    handle.events$.subscribe({
      next: ({ event, value }) => {
        events.push(value === undefined ? event : [event, value])
        if (event === 'ENQUEUE') seen.ENQUEUE.resolve()
        if (event === 'CHECKIN') seen[value as 'first' | 'second'].resolve()
      },
      error,
      complete,
    })
  })
  const last = new Promise<void>((complete, error) => {
    handle.state$.subscribe({ next: (state) => states.push(state), error, complete })
  })
  await seen.ENQUEUE.promise
  await runtime.start()
  await Promise.all([ended, last])
  expect(events).toEqual(['ENQUEUE', 'CLAIM', ['CHECKIN', 'first'], ['CHECKIN', 'second'], ['COMPLETE', 'made']])
  expect(states).toEqual(['queued', 'running', 'done'])
})
