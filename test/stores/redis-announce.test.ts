/** Writes of shown jobs are told to every process at once. */
import { randomUUID } from 'node:crypto'
import { createClient, createRuntime, defineJob, type JobSnapshot, type Store } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { expect, onTestFinished } from 'vitest'
import { systemClock, type Clock } from '../../src/core/clock.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import type { Hint } from '../../src/store.ts'
import { newJob } from '../store-testing/new-job.ts'
import { redisSubject } from '../support/redis-subject.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'

const server = serverOfFile()

const limits = { concurrency: null, perKey: null, rate: null }

/** What a store is told of changes by the others. */
function changesOf(store: Store): { readonly ids: () => string[] } {
  let ids: string[] = []
  onTestFinished(
    store.watch((hint: Hint) => {
      if (hint.kind === 'changed') ids.push(...hint.ids)
    }),
  )
  return {
    ids() {
      const told = ids
      ids = []
      return told.toSorted()
    },
  }
}

test('each write of an announced job is told, until its time is over, and no other', async () => {
  const subject = await redisSubject(server().url, nodeRedisAt)
  const { store } = subject
  onTestFinished(() => subject.close())
  const changes = changesOf(store)
  const ids = ['a', 'b', 'c']
  await store.insert([{ jobs: ids.map((id) => newJob(id)), capacity: null }])
  await store.announce?.(['a', 'b'], 60_000)
  const demand = [{ type: 'job', max: 3, limits }]
  await store.claim({ worker: 'w', token: 't', leaseMs: 600_000, demand })
  expect(changes.ids()).toEqual(['a', 'b'])
  const heartbeats = ['a', 'c'].map((id) => ({ id, attempt: 1, token: 't', checkin: { value: 1, at: 1 } }))
  await store.extend({ worker: 'w', leaseMs: 600_000, heartbeats })
  expect(changes.ids()).toEqual(['a'])
  const complete = (id: string) => ({ id, attempt: 1, token: 't', event: 'COMPLETE' as const, to: 'done' as const })
  await store.settle([complete('b'), complete('c')])
  expect(changes.ids()).toEqual(['b'])
  await subject.advance(60_001)
  await store.settle([complete('a')])
  expect(changes.ids()).toEqual([])
})

test('a process that is told of changes reads no job in between', async () => {
  const prefix = randomUUID()
  const open = (): Store => redisStore({ url: server().url, prefix })
  const gate = Promise.withResolvers<void>()
  const work = defineJob<null, void>({
    type: 'work',
    run: async (_input, ctx) => {
      ctx.checkin('half')
      await gate.promise
    },
  })
  const runtime = createRuntime({ jobs: [work], store: open() })
  // It polls never.
  const clock: Clock = { ...systemClock, timer: () => ({ cancel() {} }) }
  const client = createClient({ jobs: [], store: open(), clock })
  onTestFinished(async () => {
    gate.resolve()
    await client.close()
    await runtime.stop()
  })
  const { id } = await runtime.enqueue(work, null)
  const handle = await client.job(id)
  const seen: JobSnapshot[] = []
  const first = Promise.withResolvers<void>()
  const ended = new Promise<void>((complete, error) => {
    const next = (snapshot: JobSnapshot): void => {
      seen.push(snapshot)
      first.resolve()
      if (snapshot.checkin !== null) gate.resolve()
    }
    handle?.snapshot$.subscribe({ next, error, complete })
  })
  await first.promise
  await runtime.start()
  await ended
  const states = seen.map(({ state }) => state)
  expect([states[0], ...new Set(states)]).toEqual(['queued', 'queued', 'running', 'done'])
})
