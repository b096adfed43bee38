/** What cannot be written of one call fails that call alone, whatever else was written with it. */
import { defineJob, memoryStore, type Store } from 'jobchart'
import { expect, test } from 'vitest'
import type { HeartbeatPayload } from '../../../src/store.ts'
import { world } from '../../support/leaks.ts'

const unreadable = {
  get input(): never {
    throw new TypeError('cannot be read')
  },
}

/**
 * A memory store that cannot store an input 'unreadable', nor write what says 'bad': the end of a run, what a run
 * checks in, or a cancel.
 */
function picky(): Store {
  const inner = memoryStore()
  return {
    ...inner,
    insert: (requests) =>
      inner.insert(
        requests.map((request) => ({
          ...request,
          jobs: request.jobs.map((job) =>
            job.input === 'unreadable' ? Object.defineProperties({ ...job }, poison) : job,
          ),
        })),
      ),
    settle: (settlements) =>
      inner.settle(settlements.map((each) => (each.output === 'bad' ? { ...each, event: 'VANISH' as 'FAIL' } : each))),
    extend: async (request) => {
      const isBad = ({ checkin }: HeartbeatPayload): boolean => checkin?.value === 'bad'
      const heartbeats = request.heartbeats.map((beat) => (isBad(beat) ? { ...beat, token: 'of nobody' } : beat))
      const answers = await inner.extend({ ...request, heartbeats })
      const bad = { outcome: 'failed', error: { name: 'TypeError', message: 'cannot be read' } } as const
      return answers.map((answer, i) => (isBad(request.heartbeats[i] as HeartbeatPayload) ? bad : answer))
    },
    cancel: async (requests) => {
      const answers = await inner.cancel(requests.filter(({ reason }) => reason !== 'bad'))
      const bad = { name: 'TypeError', message: 'cannot be read' }
      const none = { cancelled: [], cancelling: [], notFound: [], finished: [], transitions: [], error: bad }
      return requests.map(({ reason }) => (reason === 'bad' ? none : (answers.shift() ?? none)))
    },
  }
}

const poison = Object.getOwnPropertyDescriptors(unreadable)
const refused = { code: 'STORE_REFUSED', cause: expect.objectContaining({ name: 'TypeError' }) }

test('of the enqueues of one turn, the one that cannot be stored is refused', async () => {
  const { clock, runtime } = world({ store: picky() })
  const job = defineJob<string, string>({ type: 'job', run: async (name) => name })
  const worker = await runtime({ jobs: [job] })
  const calls = ['a', 'unreadable', 'b'].map((name) => worker.run(job, name))
  const settled = Promise.allSettled([...calls, worker.enqueueMany(job, ['c', 'unreadable', 'd'])])
  await clock.settle()
  expect(await settled).toMatchObject([
    { value: 'a' },
    { status: 'rejected', reason: refused },
    { value: 'b' },
    { status: 'rejected', reason: refused },
  ])
  expect((await worker.counts()).done).toBe(2)
})

test('of the ends of one turn, the one that cannot be written makes its job dead; no job runs twice', async () => {
  const { clock, runtime, expectLogged } = world({ store: picky() })
  const ran: string[] = []
  const job = defineJob<string, string>({
    type: 'job',
    run: async (name) => {
      ran.push(name)
      return name
    },
  })
  const worker = await runtime({ jobs: [job] })
  const handles = await worker.enqueueMany(job, ['a', 'bad', 'b'])
  await clock.advance('1h')
  const records = await Promise.all(handles.map((handle) => handle.record()))
  expect(records.map(({ state }) => state)).toEqual(['done', 'dead', 'done'])
  expect(records[1]?.error).toMatchObject({ code: 'STORE_REFUSED' })
  expect(ran).toEqual(['a', 'bad', 'b'])
  expect(expectLogged('error')).toEqual(['the end of a job could not be written; the job becomes dead'])
})

test('a check-in that cannot be written is lost, and no lease with it', async () => {
  const { clock, runtime, expectLogged } = world({ store: picky() })
  const job = defineJob<string, string>({
    type: 'job',
    run: async (name, { checkin, signal }) => {
      checkin(name)
      await clock.sleep('2m', signal)
      return 'done'
    },
  })
  const worker = await runtime({ jobs: [job] })
  const [bad, fine] = await Promise.all([worker.enqueue(job, 'bad'), worker.enqueue(job, 'fine')])
  await clock.advance('1m')
  expect([(await bad.record()).checkin, (await fine.record()).checkin]).toMatchObject([null, { value: 'fine' }])
  await clock.advance('1m')
  expect(await Promise.all([bad.result(), fine.result()])).toEqual(['done', 'done'])
  expect(expectLogged('error')).toEqual(['a check-in or log lines of a run could not be written, and are lost'])
})

test('of the cancels of one turn, the one that cannot be written is refused', async () => {
  const { clock, runtime } = world({ store: picky() })
  const job = defineJob<string, void>({ type: 'job', run: async () => {} })
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const [a, b] = [await worker.enqueue(job, 'a'), await worker.enqueue(job, 'b')]
  const cancels = Promise.allSettled([a.cancel({ reason: 'bad' }), b.cancel({ reason: 'enough' })])
  await clock.settle()
  expect(await cancels).toMatchObject([{ status: 'rejected', reason: refused }, { value: { cancelled: [b.id] } }])
})
