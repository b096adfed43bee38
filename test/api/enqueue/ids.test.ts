/**
 * Ids at every door: what cannot be an id is refused with a typed error, the same on every store; what an id gives is
 * told.
 */
import { createClient, defineJob, memoryStore, type Store } from 'jobchart'
import { expect, test } from 'vitest'
import { sqliteSubject } from '../../support/sqlite-subject.ts'
import { world } from '../../support/leaks.ts'

const job = defineJob<unknown, void>({ type: 'job', run: async () => {} })

const bad: Readonly<Record<string, unknown>> = {
  'a lone surrogate': 'a\ud800',
  'a megabyte': 'x'.repeat(1_000_000),
  'no text': '',
  'a number': 5,
  null: null,
  undefined: undefined,
  'an object': {},
}

async function refusals(store: Store): Promise<void> {
  const client = createClient({ store, jobs: [job] })
  for (const [what, value] of Object.entries(bad)) {
    const id = value as string
    const doors: Record<string, () => Promise<unknown>> = {
      cancel: () => client.cancel(id),
      'cancel of many': () => client.cancel(['fine', id]),
      retry: () => client.retry(id),
      'retry of many': () => client.retry([id]),
      discard: () => client.discard(id),
      'discard of many': () => client.discard([id]),
      job: () => client.job(id),
      send: () => client.send(id, { type: 'GO' }),
      fork: () => client.fork(id, 1),
      ...(value !== undefined && { enqueue: () => client.enqueue(job, 1, { id }) }),
    }
    for (const [door, call] of Object.entries(doors)) {
      const outcome = (async () => call())()
      await expect(outcome, `${door} with ${what}`).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    }
  }
  expect((await client.counts()).queued).toBe(0)
  await client.close()
}

test('what cannot be an id is refused at every door of a client on the memory store', async () => {
  await refusals(memoryStore())
})

test('what cannot be an id is refused at every door of a client on a file', async () => {
  const subject = await sqliteSubject(false)
  await refusals(subject.store)
  await subject.close()
})

test('an id that was there with another input says so on the handle', async () => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const input = { a: 1, b: [2] }
  const first = await worker.enqueue(job, input, { id: 'mine' })
  const again = await worker.enqueue(job, { b: [2], a: 1 }, { id: 'mine' })
  const other = await worker.enqueue(job, { a: 1, b: [3] }, { id: 'mine' })
  const unique = await worker.enqueue(job, 'x', { unique: { key: 'k' } })
  const replaced = await worker.enqueue(job, 'y', { unique: { key: 'k', onConflict: 'replace' } })
  const kept = await worker.enqueue(job, 'z', { unique: { key: 'k' } })
  const told = [first, again, other, unique, replaced, kept].map(({ deduplicated, sameInput }) => [
    deduplicated,
    sameInput,
  ])
  expect(told).toEqual([
    [false, true],
    [true, true],
    [true, false],
    [false, true],
    [true, true],
    [true, false],
  ])
  expect((await other.record()).input).toEqual(input)
  expect(await worker.job('mine')).toMatchObject({ deduplicated: true, sameInput: true })
})
