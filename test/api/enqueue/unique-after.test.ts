/**
 * Unique keys where what comes during a run counts: one more run afterwards, with the newest input, and delays that
 * start anew.
 */
import { createRuntime, defineJob } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

/** A job that takes ten seconds, and what has run. */
function setUp() {
  const made = world()
  const { clock } = made
  const ran: number[] = []
  const job = defineJob<number, void>({
    type: 'job',
    retry: { maxAttempts: 2, backoff: () => '1m' },
    run: async (n, { signal, attempt }) => {
      ran.push(n)
      await clock.sleep('10s', signal)
      if (n < 0 && attempt === 1) throw new Error('once more')
    },
  })
  return { ...made, ran, job }
}

test('until the start: what is enqueued while the job waits is one job, during its run one more', async () => {
  const { clock, runtime, ran, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const enqueue = (n: number) => worker.enqueue(job, n, { unique: { key: 'k', until: 'start' } })
  const [first, kept] = await Promise.all([enqueue(1), enqueue(2)])
  await clock.advance('5s')
  const [following, keptAgain] = [await enqueue(3), await enqueue(4)]
  expect([first, kept, following, keptAgain].map(({ outcome, deduplicated }) => [outcome, deduplicated])).toEqual([
    ['inserted', false],
    ['kept', true],
    ['following', false],
    ['kept', true],
  ])
  expect([kept.id, keptAgain.id]).toEqual([first.id, following.id])
  await clock.advance('4s')
  expect(ran).toEqual([1])
  await clock.advance('30s')
  expect(ran).toEqual([1, 3])
  expect((await worker.counts()).done).toBe(2)
})

test('follow: one more run after the running one, with the newest input, once that one has ended for good', async () => {
  const { clock, runtime, ran, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const enqueue = (n: number) => worker.enqueue(job, n, { unique: { key: 'k', onConflict: 'follow' } })
  await worker.enqueue(job, -1, { unique: { key: 'k' } })
  await clock.advance('5s')
  const outcomes = [await enqueue(2), await enqueue(3)].map(({ outcome }) => outcome)
  expect(outcomes).toEqual(['following', 'replaced'])
  await clock.advance('30s')
  expect([ran, (await worker.counts()).retrying]).toEqual([[-1], 1])
  expect((await enqueue(4)).outcome).toBe('replaced')
  await clock.advance('2m')
  expect(ran).toEqual([-1, -1, 4])
  expect((await enqueue(5)).outcome).toBe('inserted')
})

test('replace with a delay runs once, when nothing has come for that long', async () => {
  const { clock, runtime, ran, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const unique = { key: 'k', onConflict: 'replace' } as const
  for (const n of [1, 2, 3]) {
    await worker.enqueue(job, n, { unique, delay: '30s' })
    await clock.advance('20s')
  }
  expect(ran).toEqual([])
  const { outcome } = await worker.enqueue(job, 4, { unique })
  await clock.advance('11s')
  expect([outcome, ran]).toEqual(['replaced', [4]])
})

test('an id made of the window runs a job once per window', async () => {
  const { clock, runtime, ran, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  for (let n = 0; n < 6; n++) {
    await worker.enqueue(job, n, { id: `report:${Math.floor(clock.now() / 60_000)}` })
    await clock.advance('20s')
  }
  expect(ran).toEqual([0, 3])
})

test('the handle of a job that is there says that it was kept', async () => {
  const { runtime, job } = setUp()
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const { id, outcome } = await worker.enqueue(job, 1, { id: 'mine' })
  expect([outcome, (await worker.enqueue(job, 1, { id }))?.outcome, (await worker.job(id))?.outcome]).toEqual([
    'inserted',
    'kept',
    'kept',
  ])
})

test('a time until which a key is held that makes no sense is refused', async () => {
  const { job } = setUp()
  const runtime = createRuntime({ jobs: [job] })
  const unique = { until: 'later' } as unknown as { until: 'end' }
  await expect(runtime.enqueue(job, 1, { unique })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})
