/**
 * Searches on a Redis server: what the index of terms has and what is behind it, parts of the order of the enqueues by
 * type, ended jobs that the server looks through.
 */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import type { JobFilter, JobRecord, ListQuery, NewJob, Store, TermQuery } from '../../src/store.ts'
import { lease, newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { isLong } from '../harness/long-form.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'
import { movingClock } from './moving-clock.ts'

const server = serverOfFile()

interface World {
  readonly store: Store
  readonly clock: ReturnType<typeof movingClock>
  readonly prefix: string
  /** Enters all jobs into the index. */
  readonly index: () => Promise<void>
  /** The members of the index. */
  readonly members: () => Promise<string[]>
  /** Removes what the server keeps under a name. */
  readonly forget: (name: string) => Promise<unknown>
}

async function world(prefix: string = randomUUID()): Promise<World> {
  const clock = movingClock()
  const subject = await redisSubject(server().url, nodeRedisAt, { prefix, clock })
  onTestFinished(() => subject.close())
  const { store } = subject
  return {
    store,
    clock,
    prefix,
    index: async () => void (await store.terms?.({ text: 'any', limit: 1, countMax: 1 })),
    members: async () => (await server().command('ZRANGE', `{${prefix}}:by-term`, '0', '-1')) as string[],
    forget: (name) => server().command('DEL', `{${prefix}}:${name}`),
  }
}

const termsOf = async (store: Store, query: Partial<TermQuery> & { text: string }): Promise<unknown[]> => {
  const found = await store.terms?.({ limit: 10, countMax: 100, ...query })
  expect(found?.kinds).toEqual(['key', 'concurrencyKey', 'tag', 'meta'])
  return (found?.terms ?? []).map(({ kind, name, value, isNumber, jobs, more }) =>
    [kind, name, value, isNumber, jobs, more].filter((each) => each !== undefined),
  )
}

/** Random numbers that are the same in each run. */
function randoms(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** The ids of all pages. */
async function idsOf(store: Store, query: ListQuery): Promise<string[]> {
  const found: string[] = []
  for (let after: string | undefined; ;) {
    const page = await store.list({ ...query, fields: ['id'], ...(after !== undefined && { after }) })
    found.push(...page.map(({ id }) => id))
    after = page.next
    if (after === undefined) return found
  }
}

const isAny = (wanted: string | readonly string[] | undefined, value: string): boolean =>
  wanted === undefined || [wanted].flat().includes(value)

/** Does a job pass a filter, by its record alone? */
function passes(job: JobRecord, filter: JobFilter): boolean {
  const { finishedAt } = job
  return (
    isAny(filter.type, job.type) &&
    isAny(filter.state, job.state) &&
    (filter.tag === undefined || job.tags.includes(filter.tag)) &&
    (filter.key === undefined || job.key === filter.key) &&
    (filter.concurrencyKey === undefined || job.concurrencyKey === filter.concurrencyKey) &&
    Object.entries(filter.meta ?? {}).every(([name, value]) => job.meta[name] === value) &&
    (filter.enqueuedAfter === undefined || job.enqueuedAt >= filter.enqueuedAfter) &&
    (filter.enqueuedBefore === undefined || job.enqueuedAt < filter.enqueuedBefore) &&
    (filter.finishedAfter === undefined || (finishedAt !== null && finishedAt >= filter.finishedAfter)) &&
    (filter.finishedBefore === undefined || (finishedAt !== null && finishedAt < filter.finishedBefore))
  )
}

test('terms are found by their beginnings, with the number of their jobs', async () => {
  const { store } = await world()
  await put(
    store,
    newJob('a', {
      tags: ['cus_9', 'cus_10', 'été'],
      key: 'cus_key',
      meta: { customer: 'cus_9', n: 12, deep: { x: 1 } },
    }),
    newJob('b', { tags: ['cus_9'], concurrencyKey: 'cus_c', meta: { customer: 'cus_9', other: 'cus_9', n: '12' } }),
    newJob('c', {
      tags: ['cus_9', 'c\0us', 'c\x01us'],
      meta: { n: 1.5, long: 'x'.repeat(201), full: 'é'.repeat(200) },
    }),
    newJob('plain'),
  )
  expect(await termsOf(store, { text: 'cus_' })).toEqual([
    ['key', 'cus_key', 1, false],
    ['concurrencyKey', 'cus_c', 1, false],
    ['tag', 'cus_10', 1, false],
    ['tag', 'cus_9', 3, false],
    ['meta', 'customer', 'cus_9', 2, false],
    ['meta', 'other', 'cus_9', 1, false],
  ])
  expect(await termsOf(store, { text: 'c', limit: 1, countMax: 2 })).toEqual([
    ['key', 'cus_key', 1, false],
    ['concurrencyKey', 'cus_c', 1, false],
    ['tag', 'c\0us', 1, false],
    ['meta', 'customer', 'cus_9', 2, false],
  ])
  expect(await termsOf(store, { text: 'cus_9', countMax: 2 })).toContainEqual(['tag', 'cus_9', 2, true])
  expect(await termsOf(store, { text: 'c\0' })).toEqual([['tag', 'c\0us', 1, false]])
  expect(await termsOf(store, { text: 'c\x01' })).toEqual([['tag', 'c\x01us', 1, false]])
  expect(await termsOf(store, { text: 'ét' })).toEqual([['tag', 'été', 1, false]])
  expect(await termsOf(store, { text: '1' })).toEqual([
    ['meta', 'n', '12', true, 1, false],
    ['meta', 'n', '12', 1, false],
  ])
  expect(await termsOf(store, { text: 'x' })).toEqual([])
  expect(await termsOf(store, { text: 'é' })).toEqual([
    ['tag', 'été', 1, false],
    ['meta', 'full', 'é'.repeat(200), 1, false],
  ])
})

const none = { ageMs: 0, count: 0 }

test('few jobs of many terms are entered in a call', async () => {
  const { store, members } = await world()
  const tagsOf = (i: number): string[] => [0, 1, 2, 3, 4, 5].map((n) => `tag ${n} of ${i}`)
  for (let i = 0; i < 600; i += 100) {
    await put(store, ...Array.from({ length: 100 }, (_, n) => newJob(`job ${i + n}`, { tags: tagsOf(i + n) })))
  }
  const scripts = async (): Promise<number> =>
    Number(/cmdstat_fcall:calls=(\d+)/.exec(String(await server().command('INFO', 'commandstats')))?.[1] ?? 0)
  const before = await scripts()
  expect(await termsOf(store, { text: 'tag 5 of 599' })).toEqual([['tag', 'tag 5 of 599', 1, false]])
  // Of each block of a hundred jobs, and one that finds no more.
  expect((await scripts()) - before).toBeGreaterThanOrEqual(7)
  expect((await members()).filter(isTerm).length).toBe(3_600)
})

test('a job leaves the index with its record, and changes its terms with a new input', async () => {
  const { store, clock, index, members } = await world()
  const tagged = (id: string, fields: Partial<NewJob> = {}): NewJob =>
    newJob(id, { tags: ['t', id], meta: { id }, key: `key ${id}`, concurrencyKey: 'c', ...fields })
  await put(store, tagged('discarded'), tagged('pruned'), newJob('grown', { tags: ['g'] }), newJob('cancelled'))
  await index()
  expect((await members()).filter(isTerm).length).toBe(11)
  await store.retain({ others: { done: none, dead: none, cancelled: none }, types: new Map() })
  const done = await take(store, { type: 'mail', max: 10 })
  await store.settle(
    done.map((job) => ({ ...lease(job), event: 'COMPLETE' as const, to: 'done' as const, output: null })),
  )
  await clock.advance(1)
  await store.prune(100)
  expect((await members()).filter(isTerm)).toEqual([])
  await put(store, tagged('replaced'))
  await index()
  const again = tagged('other id', { key: 'key replaced', tags: ['new'], meta: { id: 'new' } })
  await store.insert([{ jobs: [{ ...again, onConflict: 'replace' } as NewJob], capacity: null }])
  expect(await termsOf(store, { text: 't' })).toEqual([])
  expect(await termsOf(store, { text: 'new' })).toEqual([
    ['tag', 'new', 1, false],
    ['meta', 'id', 'new', 1, false],
  ])
})

/** Jobs of a type, so many thousands. */
async function putThousands(
  store: Store,
  thousands: number,
  type: string,
  fields: Partial<NewJob> = {},
): Promise<void> {
  for (let n = 0; n < thousands; n++) {
    await put(store, ...Array.from({ length: 1_000 }, (_, i) => newJob(`${type} ${n} ${i}`, { type, ...fields })))
  }
}

async function end(store: Store, type: string, max: number, to: 'done' | 'dead'): Promise<void> {
  const jobs = await take(store, { type, max })
  const error = { name: 'Error', message: 'boom' }
  await store.settle(
    jobs.map((job) =>
      to === 'done'
        ? { ...lease(job), event: 'COMPLETE', to, output: null }
        : { ...lease(job), event: 'FAIL', to, fatal: true, error },
    ),
  )
}

const isTerm = (member: string): boolean => !member.startsWith('y')

test('one call finds what few of many jobs have, wherever they stand', async () => {
  const { store, clock, index } = await world()
  await put(store, newJob('tagged', { type: 'first', tags: ['rare'] }), newJob('keyed', { type: 'first', key: 'k' }))
  await put(store, newJob('grouped', { concurrencyKey: 'c' }), newJob('meta', { meta: { a: 1 } }))
  await put(store, newJob('later', { delayMs: 3_600_000 }), newJob('dies', { type: 'failing' }))
  await end(store, 'failing', 1, 'dead')
  await putThousands(store, 3, 'done')
  await end(store, 'done', 1_000, 'done')
  await clock.advance(60_000)
  // More wait than one call looks through, and too many are done to look at each.
  await putThousands(store, 56, 'many')
  for (let i = 0; i < 15; i++) await end(store, 'many', 1_000, 'done')
  for (let i = 0; i < 3; i++) await index()
  await clock.advance(60_000)
  await put(store, newJob('last', { tags: ['rare'] }))
  const found = async (filter: JobFilter, ids: string[]): Promise<void> => {
    for (const order of ['newest', 'oldest'] as const) {
      const page = await store.list({ ...filter, limit: 50, order, fields: ['id'] })
      const expected = order === 'newest' ? ids : ids.toReversed()
      expect([page.map(({ id }) => id), page.next], `${order} ${JSON.stringify(filter)}`).toEqual([expected, undefined])
    }
  }
  await found({ tag: 'rare' }, ['last', 'tagged'])
  await found({ tag: 'rare', type: 'first', state: 'queued' }, ['tagged'])
  await found({ tag: 'nothing' }, [])
  await found({ key: 'k' }, ['keyed'])
  await found({ concurrencyKey: 'c' }, ['grouped'])
  await found({ meta: { a: 1 } }, ['meta'])
  await found({ state: 'scheduled' }, ['later'])
  await found({ state: ['scheduled', 'dead'] }, ['dies', 'later'])
  await found({ type: 'first' }, ['keyed', 'tagged'])
  await found({ type: ['first', 'failing'] }, ['dies', 'keyed', 'tagged'])
  await found({ type: 'mail', state: 'queued' }, ['last', 'meta', 'grouped'])
  await found({ enqueuedAfter: clock.now() - 1_000 }, ['last'])
  await found({ enqueuedAfter: clock.now() + 1_000 }, [])
  await found({ enqueuedAfter: clock.now() + 1_000, state: 'dead' }, [])
  await found({ state: ['done', 'dead'], finishedAfter: clock.now() }, [])
  const [dead] = await store.get(['dies'])
  await found({ state: 'dead', finishedAfter: dead?.finishedAt ?? 0 }, ['dies'])
  await found({ state: 'dead', finishedBefore: dead?.finishedAt ?? 0 }, [])
  // Those that wait behind them are passed over.
  const done = await store.list({ state: 'done', type: 'done', limit: 50, order: 'newest', fields: ['id'] })
  expect(done.map(({ id }) => id)[0]).toBe('done 0 999')
  const all = await store.list({ state: 'done', limit: 50, order: 'newest', fields: ['id'] })
  expect(all[0]?.id).toBe('many 14 999')
  const tagged = await store.list({ tag: 'rare', orderBy: 'finished' })
  expect([tagged.length, tagged.next]).toEqual([0, undefined])
})

test('a term that many jobs have is found among many of a state, so many in a call', async () => {
  const { store, index } = await world()
  const delayed = { type: 'later', delayMs: 3_600_000 }
  const both = { tags: ['common'], ...delayed }
  await put(store, newJob('first', { meta: { a: 1 }, ...both }), newJob('next', both))
  const parts = 22
  for (let n = 0; n < parts; n++) {
    await put(
      store,
      ...Array.from({ length: 3_000 }, (_, i) =>
        newJob(`${n} ${i}`, i % 3 === 0 ? delayed : { tags: ['common'], meta: { a: i === 1 ? 1 : 2 } }),
      ),
    )
  }
  await putThousands(store, 20, 'later', delayed)
  for (let i = 0; i < 4; i++) await index()
  // A row tells a unique key as it tells a tag.
  await put(store, newJob('last', both), newJob('keyed', { key: 'common' }))
  const ids = async (query: ListQuery): Promise<unknown> => {
    const page = await store.list({ fields: ['id'], ...query })
    return [page.map(({ id }) => id), page.next === undefined ? 'all' : 'more']
  }
  const filter: JobFilter = { tag: 'common', state: 'scheduled' }
  expect(await ids({ ...filter, order: 'newest' })).toEqual([['last'], 'more'])
  expect(await ids({ ...filter, order: 'oldest' })).toEqual([['first', 'next'], 'more'])
  expect(await idsOf(store, { ...filter, order: 'newest' })).toEqual(['last', 'next', 'first'])
  expect(await idsOf(store, { ...filter, order: 'oldest', limit: 1 })).toEqual(['first', 'next', 'last'])
  const tagged = await idsOf(store, { tag: 'common', limit: 1_000, order: 'newest' })
  expect([tagged.length, tagged[0], tagged.at(-1)]).toEqual([3 + 2_000 * parts, 'last', 'first'])
  // Who asks for meta has all jobs entered.
  expect(await ids({ ...filter, meta: { a: 1 } })).toEqual([['first'], 'all'])
  const withMeta = Array.from({ length: parts }, (_, n) => `${n} 1`)
  expect(await idsOf(store, { meta: { a: 1 }, limit: 5 })).toEqual(['first', ...withMeta])
})

test('jobs that have ended are found once, in the index of terms or behind it', async () => {
  const { store, index } = await world()
  await put(store, newJob('a', { tags: ['t'] }), newJob('b'))
  await index()
  await put(store, newJob('c', { tags: ['t'] }), newJob('d'))
  await put(store, ...Array.from({ length: 20 }, (_, i) => newJob(`waits ${i}`, { tags: ['t'] })))
  await end(store, 'mail', 4, 'done')
  for (const filter of [
    { tag: 't', state: 'done' },
    { tag: 't', state: ['done', 'dead', 'running'] },
  ] as const) {
    expect(await idsOf(store, { ...filter, order: 'oldest' })).toEqual(['a', 'c'])
    expect(await idsOf(store, { ...filter, order: 'newest' })).toEqual(['c', 'a'])
  }
})

test('a job leaves the order of its state with that state, or by a repair', async () => {
  const { store, prefix } = await world()
  const kept = async (): Promise<unknown> => {
    const names = (await server().command('KEYS', `{${prefix}}:in-order:*`)) as string[]
    return names.map((name) => name.replace(/^.*in-order:/, '')).toSorted()
  }
  const ids = ['later', 'discarded', 'retried', 'cancelled']
  await put(store, newJob('later', { delayMs: 3_600_000 }), ...ids.slice(1).map((id) => newJob(id, { type: 'dies' })))
  await end(store, 'dies', 2, 'dead')
  await store.cancel([{ ids: ['later', 'cancelled'], reason: null, graceMs: 0 }])
  expect(await kept()).toEqual(['cancelled:dies', 'cancelled:mail', 'dead:dies'])
  await store.retry(['retried'])
  await store.discard(ids)
  expect(await kept()).toEqual([])
  await server().command('ZADD', `{${prefix}}:in-order:dead:dies`, '1', 'nobody')
  await store.repair?.()
  expect(await kept()).toEqual([])
})

test('jobs that are done are found after a repair, also if the figures were lost', async () => {
  const { store, index, forget } = await world()
  await putThousands(store, 1, 'many')
  await end(store, 'many', 900, 'done')
  await forget('figures')
  await store.repair?.()
  await index()
  const done = await store.list({ state: 'done', limit: 1, order: 'newest', fields: ['id'] })
  expect(done.map(({ id }) => id)).toEqual(['many 0 899'])
})

test('the index is filled in turns with each prune, behind twenty thousand jobs', async () => {
  const { store, clock, members, prefix, forget } = await world()
  const prune = async (): Promise<boolean> => ((await store.prune(100)).nextAt ?? Infinity) <= clock.now()
  await putThousands(store, 20, 'many', { tags: ['t'] })
  expect([await prune(), await members()]).toEqual([false, []])
  await put(store, ...Array.from({ length: 500 }, (_, i) => newJob(`${i}`)))
  const entered = async (): Promise<number> => (await members()).filter(isTerm).length
  const enteredLater = async (): Promise<number> => {
    await prune()
    return entered()
  }
  // It ends behind a whole block.
  await expect.poll(enteredLater, { timeout: 5_000 }).toBe(500)
  await putThousands(store, 20, 'more', { tags: ['t'] })
  // Of all processes one has a turn in a second: here somebody has it for longer.
  await server().command('SET', `{${prefix}}:by-term-turn`, 'somebody', 'PX', '60000')
  const other = await world(prefix)
  await other.store.prune(100)
  expect(await entered()).toBe(500)
  await forget('by-term-turn')
  await expect.poll(prune, { timeout: 5_000 }).toBe(true)
  expect(await entered()).toBeGreaterThan(500)
})

test('parts of the order in which a type has no job any more leave the index', async () => {
  const { store, index, members } = await world()
  for (let n = 0; n < 20; n++) {
    await putThousands(store, 1, `type ${n}`)
    await index()
    const ids = Array.from({ length: 1_000 }, (_, i) => `type ${n} 0 ${i}`)
    await store.cancel([{ ids, reason: null, graceMs: 0 }])
    await store.discard(ids)
  }
  // Of 80.
  expect((await members()).length).toBeLessThan(20)
})

test('a full server is searched without an index', async () => {
  const { store } = await world()
  await put(store, newJob('a', { tags: ['t'] }))
  onTestFinished(async () => void (await server().command('CONFIG', 'SET', 'maxmemory', '0')))
  await server().command('CONFIG', 'SET', 'maxmemory', '1mb')
  expect(await store.terms?.({ text: 't', limit: 1, countMax: 1 })).toEqual({ kinds: [], terms: [] })
  expect(await idsOf(store, { tag: 't' })).toEqual(['a'])
  await store.prune(1)
})

const types = ['mail', 'note', 'Done', 'queued']

/** Jobs of which each part has other types and times, in all states; the last ones are behind the index. */
async function putAtRandom({ store, clock, index }: World, random: (below: number) => number): Promise<void> {
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T
  for (let part = 0; part < 8; part++) {
    const partTypes = [pick(types), pick(types)]
    const jobs = Array.from({ length: 60 }, (_, i) => {
      const id = `${part}-${i}`
      return newJob(id, {
        type: pick(partTypes),
        tags: random(3) === 0 ? [`t${random(4)}`, ...(random(2) === 0 ? ['rare'] : [])] : [],
        ...(random(4) === 0 && { meta: { tenant: random(3), name: `n${random(3)}` } }),
        ...(random(5) === 0 && { key: `k${id}` }),
        ...(random(5) === 0 && { concurrencyKey: `c${random(3)}` }),
        ...(random(8) === 0 && { delayMs: 1_000 + random(20_000) }),
        priority: random(6) === 0 ? 5 : 0,
        maxAttempts: 3,
      })
    })
    for (let i = 0; i < 60; i += 20) {
      await put(store, ...jobs.slice(i, i + 20))
      await clock.advance(random(4) * 700)
    }
    if (part < 6) await index()
    await store.promote(100)
    for (const type of types) {
      const taken = await take(store, { type, max: random(30) })
      await store.settle(
        taken
          .filter(() => random(8) > 0)
          .map((job) => {
            const kind = random(3)
            const error = { name: 'Error', message: 'boom' }
            if (kind === 0) return { ...lease(job), event: 'COMPLETE', to: 'done', output: null }
            if (kind === 1) return { ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error }
            return { ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 1_000 + random(90_000), error }
          }),
      )
      await clock.advance(random(3) * 500)
    }
    await store.cancel([{ ids: [`${part}-${random(60)}`, `${part}-${random(60)}`], reason: null, graceMs: 0 }])
  }
}

test.for(Array.from({ length: isLong ? 40 : 4 }, (_, i) => i + 1))(
  'searches find what a look at each job finds, seed %i',
  async (seed) => {
    const random = randoms(seed)
    const here = await world()
    await putAtRandom(here, random)
    const { store } = here
    const all = await store.list({ limit: 1_000 })
    expect(all.length).toBe(480)
    const times = [...new Set(all.flatMap(({ enqueuedAt, finishedAt }) => [enqueuedAt, finishedAt ?? enqueuedAt]))]
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T
    const some = <T>(list: readonly T[]): T[] => list.filter(() => random(2) === 0)
    const states = [...new Set(all.map(({ state }) => state))]
    const ended = new Set(all.flatMap(({ id, finishedAt }) => (finishedAt === null ? [] : id)))
    expect(states.length).toBeGreaterThan(5)
    for (let i = 0; i < 60; i++) {
      const maybe = (one: number): boolean => random(one) === 0
      const filter: JobFilter = {
        ...(maybe(2) && { type: maybe(2) ? pick(types) : some(types) }),
        ...(maybe(2) && { state: maybe(2) ? pick(states) : some(states) }),
        ...(maybe(4) && { tag: pick(['t0', 't1', 't3', 'rare', 'none']) }),
        ...(maybe(8) && { key: pick(all.flatMap(({ key }) => key ?? [])) }),
        ...(maybe(6) && { concurrencyKey: pick(['c0', 'c2', 'none']) }),
        ...(maybe(6) && { meta: pick([{ tenant: 1 }, { name: 'n1' }, { tenant: 0, name: 'n2' }, { tenant: '1' }]) }),
        ...(maybe(6) && { enqueuedAfter: pick(times) }),
        ...(maybe(6) && { enqueuedBefore: pick(times) }),
        ...(maybe(10) && { finishedAfter: pick(times) }),
        ...(maybe(10) && { finishedBefore: pick(times) }),
      }
      const expected = all.filter((job) => passes(job, filter)).map(({ id }) => id)
      const limit = 1 + random(maybe(2) ? 4 : 40)
      const seen = JSON.stringify({ filter, limit })
      expect(await idsOf(store, { ...filter, limit }), seen).toEqual(expected)
      expect(await idsOf(store, { ...filter, limit, order: 'newest' }), seen).toEqual(expected.toReversed())
      const wanted = expected.filter((id) => ended.has(id))
      expect((await idsOf(store, { ...filter, limit, orderBy: 'finished' })).toSorted(), seen).toEqual(
        wanted.toSorted(),
      )
    }
    await store.repair?.()
    for (const state of states) {
      expect(await idsOf(store, { state, order: 'newest' }), state).toEqual(
        all.flatMap((job) => (job.state === state ? job.id : [])).toReversed(),
      )
    }
  },
)
