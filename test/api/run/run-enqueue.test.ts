/** What a handler enqueues, and what becomes of it when the handler is run again. */
import { defineJob, snooze, type JobchartError, type RunContext, type RunEnqueueOptions } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const mail = defineJob<{ to: string }>({ type: 'mail', run: async () => {} })
const page = defineJob<{ to: string }>({ type: 'page', run: async () => {} })

/**
 * Runs a handler three times, the first two attempts fail at their end. Gives the mails and pages that are there then.
 */
async function inThreeAttempts(run: (context: RunContext) => Promise<void>) {
  const { clock, runtime } = world()
  const job = defineJob<undefined>({
    type: 'job',
    retry: { maxAttempts: 3, backoff: () => 1 },
    run: async (_input, context) => {
      await run(context)
      if (context.attempt < 3) throw new Error('not yet')
    },
  })
  const worker = await runtime({ jobs: [job, mail, page] })
  const handle = await worker.enqueue(job)
  await clock.advance('1m')
  expect(await handle.record()).toMatchObject({ state: 'done', attempt: 3 })
  const list = await worker.list({ type: ['mail', 'page'] })
  return { clock, worker, handle, sent: list.map(({ type, input }) => `${type} ${(input as { to: string }).to}`) }
}

test('three attempts that enqueue the same job enqueue it once, and the later ones get the job that is there', async () => {
  const told: boolean[] = []
  const { sent } = await inThreeAttempts(async ({ enqueue }) => {
    told.push((await enqueue(mail, { to: 'ann' })).deduplicated)
  })
  expect([sent, told]).toEqual([['mail ann'], [false, true, true]])
})

test('each job of an attempt is a job of its own, alike or not, and is there once after three attempts', async () => {
  const { sent } = await inThreeAttempts(async ({ enqueue }) => {
    await Promise.all(['ann', 'bob', 'ann'].map((to) => enqueue(mail, { to })))
    await enqueue(page, { to: 'ann' }, { delay: '1h', tags: ['x'] })
  })
  expect(sent.toSorted((a, b) => a.localeCompare(b))).toEqual(['mail ann', 'mail ann', 'mail bob', 'page ann'])
})

test('an attempt that failed between two of them enqueues the second, and the first not again', async () => {
  const { sent } = await inThreeAttempts(async ({ enqueue, attempt }) => {
    await enqueue(mail, { to: 'ann' })
    if (attempt > 1) await enqueue(mail, { to: 'ann' })
  })
  expect(sent).toEqual(['mail ann', 'mail ann'])
})

test('with a key the input may differ from attempt to attempt; without one that is another job', async () => {
  const { sent } = await inThreeAttempts(async ({ enqueue, attempt }) => {
    await enqueue(mail, { to: `keyed ${attempt}` }, { key: 'welcome' })
    await enqueue(mail, { to: `plain ${attempt}` })
  })
  expect(sent).toEqual(['mail keyed 1', 'mail plain 1', 'mail plain 2', 'mail plain 3'])
})

test('a key that names the attempt gives each attempt a job of its own', async () => {
  const { sent } = await inThreeAttempts(async ({ enqueue, attempt }) => {
    await enqueue(mail, { to: 'ann' }, { key: `alert ${attempt}` })
    await enqueue(page, { to: 'ann' }, { key: 'alert 1' })
  })
  expect(sent).toEqual(['mail ann', 'page ann', 'mail ann', 'mail ann'])
})

test('an id of its own is the id', async () => {
  const { sent, worker } = await inThreeAttempts(
    async ({ enqueue }) => void (await enqueue(mail, { to: 'ann' }, { id: 'mine' })),
  )
  expect(sent).toEqual(['mail ann'])
  expect(await (await worker.job('mine'))?.record()).toMatchObject({ state: 'done' })
})

test('a new generation enqueues all of it anew', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: async (_input, { enqueue }) => {
      await enqueue(mail, { to: 'ann' })
      await enqueue(mail, { to: 'bob' }, { key: 'bob' })
      throw new Error('no')
    },
  })
  const worker = await runtime({ jobs: [job, mail] })
  const handle = await worker.enqueue(job)
  await clock.advance('1s')
  await handle.retry()
  await clock.advance('1s')
  expect((await worker.counts()).types['mail']).toMatchObject({ done: 4 })
})

test('after a snooze the same input is a new job, the same key is not', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined>({
    type: 'job',
    retry: { maxAttempts: 3, backoff: () => 1 },
    run: async (_input, { enqueue, attempt, job: { history } }) => {
      await enqueue(mail, { to: 'daily' })
      await enqueue(page, { to: 'once' }, { key: 'once' })
      if (attempt === 1) throw new Error('again')
      if (history.filter(({ event }) => event === 'SNOOZE').length < 3) throw snooze('1h')
    },
  })
  const worker = await runtime({ jobs: [job, mail, page] })
  const handle = await worker.enqueue(job)
  await clock.advance('5h')
  expect((await handle.record()).state).toBe('done')
  const { types } = await worker.counts()
  expect([types['mail']?.done, types['page']?.done]).toEqual([4, 1])
})

test('what is derived is told apart by the job, and stays a short id whatever the id and the input are', async () => {
  const { clock, runtime } = world()
  const ids: string[] = []
  const job = defineJob<undefined>({
    type: 'job',
    run: async (_input, { enqueue }) => {
      ids.push(
        (await enqueue(mail, { to: 'x'.repeat(10_000) })).id,
        (await enqueue(mail, { to: '' }, { key: 'a/b' })).id,
      )
    },
  })
  const worker = await runtime({ jobs: [job, mail] })
  const own = ['a', 'a/b', '😀'.repeat(50), 'x'.repeat(200), 'ü'.repeat(21)]
  for (const id of own) await worker.enqueue(job, undefined, { id })
  const made = await worker.enqueue(job)
  await clock.advance('1s')
  expect(new Set(ids).size).toBe(12)
  expect(ids.filter((id) => /^[-\w]{21}$/.test(id))).toHaveLength(12)
  expect(ids.slice(-2).map((id) => id.slice(0, 7))).toEqual([made.id.slice(0, 7), made.id.slice(0, 7)])
})

test('bad options are refused, by name', async () => {
  const { clock, runtime } = world()
  const codes: unknown[] = []
  const bad = [
    { key: '' },
    { key: 7 },
    { key: 'a', id: 'b' },
    { kee: 'a' },
    null,
    'key',
  ] as unknown as RunEnqueueOptions[]
  const job = defineJob<undefined>({
    type: 'job',
    run: async (_input, { enqueue }) => {
      for (const options of bad) {
        await enqueue(mail, { to: 'ann' }, options).catch((error: JobchartError) => codes.push(error.code))
      }
      await enqueue(mail, 1n as unknown as { to: string }).catch((error: JobchartError) => codes.push(error.code))
      const unknown = undefined as unknown as typeof mail
      await enqueue(unknown, { to: 'ann' }).catch((error: JobchartError) => codes.push(error.code))
    },
  })
  const worker = await runtime({ jobs: [job, mail] })
  await worker.enqueue(job)
  await clock.advance('1s')
  expect(codes).toEqual([...bad.map(() => 'INVALID_OPTION'), 'INVALID_INPUT', 'INVALID_OPTION'])
  expect((await worker.counts()).types['mail']).toBeUndefined()
})
