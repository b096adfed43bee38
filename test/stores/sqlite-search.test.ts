/**
 * Searches in a file: what few jobs have is found without a look at the others, and times are found whatever the clock
 * did.
 */
import type { JobFilter, ListQuery, Store } from 'jobchart'
import { expect, test } from 'vitest'
import { lease, newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import { fileStore } from '../support/file-store.ts'
import { movingClock } from './moving-clock.ts'

const minute = 60_000

/** The ids of one page of 50, newest first, by one call of the store. */
async function pageOf(store: Store, filter: JobFilter): Promise<{ ids: string[]; isLast: boolean }> {
  const page = await store.list({ ...filter, limit: 50, order: 'newest', fields: ['id'] })
  return { ids: page.map(({ id }) => id), isLast: page.next === undefined }
}

async function end(store: Store, type: string, ids: number, to: 'done' | 'dead'): Promise<void> {
  const jobs = await take(store, { type, max: ids })
  await store.settle(
    jobs.map((job) =>
      to === 'done'
        ? { ...lease(job), event: 'COMPLETE', to, output: null }
        : { ...lease(job), event: 'FAIL', to, fatal: true, error: { name: 'Error', message: 'boom' } },
    ),
  )
}

test('one call of the store finds what few jobs have, however many others there are', async () => {
  const clock = movingClock()
  const store = fileStore()
  await store.open({ clock })
  await put(store, newJob('rare', { type: 'rare' }), newJob('tagged', { tags: ['rare', 'rare'] }))
  await put(store, newJob('keyed', { key: 'k' }), newJob('of a key', { type: 'shared', concurrencyKey: 'c' }))
  await put(store, newJob('later', { runAt: clock.now() + 60 * minute }), newJob('fails', { type: 'failing' }))
  await put(store, newJob('dies', { type: 'failing' }))
  await end(store, 'failing', 1, 'done')
  await end(store, 'failing', 1, 'dead')
  await clock.advance(10 * minute)
  const many = (part: number) => Array.from({ length: 1_000 }, (_, i) => newJob(`${part} ${i}`, { type: 'many' }))
  for (let part = 0; part < 26; part++) {
    await put(store, ...many(part))
    // Half of them end, so that neither the live nor the ended jobs are few.
    if (part % 2 === 0) await end(store, 'many', 1_000, 'done')
  }
  await clock.advance(10 * minute)
  await put(store, newJob('new', { type: 'new', tags: ['rare'] }))
  const found = async (filter: JobFilter) => expect(await pageOf(store, filter), JSON.stringify(filter))
  const [since, before] = [clock.now() - minute, clock.now() + minute]
  ;(await found({ type: 'rare' })).toEqual({ ids: ['rare'], isLast: true })
  ;(await found({ type: ['rare', 'new'] })).toEqual({ ids: ['new', 'rare'], isLast: true })
  ;(await found({ tag: 'rare' })).toEqual({ ids: ['new', 'tagged'], isLast: true })
  ;(await found({ tag: 'rare', state: 'queued', type: ['mail', 'many'] })).toEqual({ ids: ['tagged'], isLast: true })
  ;(await found({ tag: 'nothing' })).toEqual({ ids: [], isLast: true })
  ;(await found({ key: 'k' })).toEqual({ ids: ['keyed'], isLast: true })
  ;(await found({ concurrencyKey: 'c' })).toEqual({ ids: ['of a key'], isLast: true })
  ;(await found({ state: 'scheduled' })).toEqual({ ids: ['later'], isLast: true })
  ;(await found({ state: ['dead', 'scheduled'] })).toEqual({ ids: ['dies', 'later'], isLast: true })
  ;(await found({ type: 'failing', state: ['done', 'dead'] })).toEqual({ ids: ['dies', 'fails'], isLast: true })
  ;(await found({ enqueuedAfter: since })).toEqual({ ids: ['new'], isLast: true })
  ;(await found({ enqueuedAfter: before })).toEqual({ ids: [], isLast: true })
  ;(await found({ finishedAfter: since })).toEqual({ ids: [], isLast: true })
  ;(await found({ state: 'done', meta: { a: 1 }, finishedAfter: since })).toEqual({ ids: [], isLast: true })
  const { ids, isLast } = await pageOf(store, { state: 'done' })
  expect([ids[0], ids.length, isLast]).toEqual(['12 999', 50, false])
})

test('one call of the store finds the first of many ended jobs, however many others came later', async () => {
  const store = fileStore()
  await store.open({ clock: movingClock() })
  const many = (type: string, part: number) =>
    Array.from({ length: 1_000 }, (_, i) => newJob(`${type} ${part} ${i}`, { type }))
  for (let part = 0; part < 21; part++) {
    await put(store, ...many('old', part))
    await end(store, 'old', 1_000, part % 2 === 0 ? 'dead' : 'done')
  }
  for (let part = 0; part < 6; part++) await put(store, ...many('new', part))
  const isFound = async (filter: JobFilter, first: string) => {
    const { ids, isLast } = await pageOf(store, filter)
    expect([ids[0], ids.length, isLast], JSON.stringify(filter)).toEqual([first, 50, false])
  }
  await isFound({ state: 'dead' }, 'old 20 999')
  await isFound({ state: ['done', 'dead', 'running'] }, 'old 20 999')
  await isFound({ state: 'done', type: 'old' }, 'old 19 999')
  await isFound({ type: ['old', 'rare'] }, 'old 20 999')
})

test('one call of the store finds the few jobs of a type by due time, however many others are due before', async () => {
  const clock = movingClock()
  const store = fileStore()
  await store.open({ clock })
  const soon = clock.now() + minute
  for (let part = 0; part < 7; part++) {
    await put(store, ...Array.from({ length: 1_000 }, (_, i) => newJob(`${part} ${i}`, { type: 'many', runAt: soon })))
  }
  const rare = ['b', 'a', 'c'].map((id, i) =>
    newJob(id, { type: 'rare', tags: ['t'], runAt: soon + ((i + 1) % 3) * minute }),
  )
  await put(store, ...rare)
  const ids = async (query: ListQuery): Promise<(string | undefined)[]> => {
    const page = await store.list({ orderBy: 'due', limit: 50, fields: ['id'], ...query })
    return [...page.map(({ id }) => id), page.next]
  }
  expect(await ids({ type: 'rare' })).toEqual(['c', 'b', 'a', undefined])
  expect(await ids({ tag: 't', order: 'newest' })).toEqual(['a', 'b', 'c', undefined])
  // Of many that are due at once, each page is found by the index.
  const [first] = await ids({ after: '6 949', limit: 1 })
  expect(first).toBe('6 950')
  const [none, next] = await ids({ meta: { none: true } })
  expect([none, next]).toEqual([expect.stringContaining('~'), undefined])
  expect(await ids({ meta: { none: true }, after: none as string })).toEqual([undefined])
})

test('jobs of many queues and states come in the order of their enqueue, page by page', async () => {
  const store = fileStore()
  await store.open({ clock: movingClock() })
  const ids = Array.from({ length: 600 }, (_, i) => `${i}`)
  await put(store, ...ids.map((id, i) => newJob(id, { type: `t${i % 60}` })))
  for (let type = 0; type < 60; type += 2) await end(store, `t${type}`, 5, type % 4 === 0 ? 'done' : 'dead')
  const read = async (filter: JobFilter, order: 'oldest' | 'newest'): Promise<string[]> => {
    const found: string[] = []
    for (let after: string | undefined; ;) {
      const page = await store.list({
        ...filter,
        order,
        limit: 7,
        fields: ['id'],
        ...(after !== undefined && { after }),
      })
      found.push(...page.map(({ id }) => id))
      after = page.next
      if (after === undefined) return found
    }
  }
  const isEnded = (id: string): boolean => Number(id) % 2 === 0 && Number(id) < 300
  const ended = ids.filter(isEnded)
  expect(await read({ state: ['done', 'dead'] }, 'oldest')).toEqual(ended)
  expect(await read({ state: ['done', 'dead'] }, 'newest')).toEqual(ended.toReversed())
  const queued = ids.filter((id) => !isEnded(id))
  expect(await read({ state: 'queued' }, 'newest')).toEqual(queued.toReversed())
  const some = ids.filter((id) => Number(id) % 60 < 2)
  expect(await read({ type: ['t1', 't0'] }, 'oldest')).toEqual(some)
  expect(await read({ type: ['t1', 't0'], state: ['queued', 'dead'] }, 'newest')).toEqual(
    some.filter((id) => !isEnded(id)).toReversed(),
  )
})

test('times are found after the clock was set forward and back', async () => {
  const clock = movingClock()
  const store = fileStore()
  await store.open({ clock })
  const enqueued = new Map<string, number>()
  const finished = new Map<string, number>()
  const day = 24 * 60 * minute
  const steps = [0, 1, 1, 5, -3, 2, -20, 1, 30, 0.25, 0.25, -60 * 24, 1, 90 * 24 * 60, 1, -80 * 24 * 60, 3, 45, 2]
  for (const [i, step] of steps.entries()) {
    await clock.advance(step * minute)
    await put(store, newJob(`${i}`), newJob(`${i} b`))
    for (const id of [`${i}`, `${i} b`]) enqueued.set(id, clock.now())
    const [job] = await take(store, { max: 1 })
    if (job === undefined) continue
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done', output: null }])
    finished.set(job.id, clock.now())
  }
  const times = [...enqueued.values()].flatMap((at) => [at - day, at - minute, at - 1, at, at + 1, at + minute])
  const since = (map: ReadonlyMap<string, number>, time: number): string[] =>
    [...map].filter(([, at]) => at >= time).map(([id]) => id)
  for (const time of times) {
    const ids = async (filter: JobFilter) => (await store.list({ ...filter, fields: ['id'] })).map(({ id }) => id)
    expect((await ids({ enqueuedAfter: time })).toSorted(), `${time}`).toEqual(since(enqueued, time).toSorted())
    expect((await ids({ finishedAfter: time })).toSorted(), `${time}`).toEqual(since(finished, time).toSorted())
  }
})

test('the tags of a job are those of the enqueue that has replaced its input, and go with it', async () => {
  const store = fileStore()
  await store.open({ clock: movingClock() })
  const ids = async (tag: string): Promise<string[]> => (await pageOf(store, { tag })).ids
  await put(store, newJob('a', { key: 'k', tags: ['one', 'both'] }))
  await put(store, newJob('b', { key: 'k', tags: ['two', 'both'], onConflict: 'replace' }))
  expect([await ids('one'), await ids('two'), await ids('both')]).toEqual([[], ['a'], ['a']])
  await store.cancel([{ ids: ['a'], reason: null, graceMs: 0 }])
  await store.discard(['a'])
  // Its number is taken by no other job: a row of the removed one would stand for nothing.
  expect([await ids('two'), await ids('both')]).toEqual([[], []])
})
