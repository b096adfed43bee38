/**
 * Files of which something else has changed what is stored of jobs: these are set aside by themselves, and harm no
 * other job; a repair.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime, defineJob, type JobchartError } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  ask,
  boom,
  cancel,
  idsOf,
  lease,
  newJob,
  park,
  prune,
  put,
  putAndEnd,
  putAndTake,
  plainCheckpoint,
  take,
  workerInfo,
  write,
} from '../../src/store-testing/conformance/acts.ts'
import { MachineTally } from '../../src/core/machine-tally.ts'
import type { ClaimedJob } from '../../src/store.ts'
import { freesItsKey, makesRoom } from '../support/set-aside-cases.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { movingClock } from './moving-clock.ts'
import { complaintsAbout, contentsOf, endedRows } from './sqlite/consistency.ts'
import { playerOn, script } from './sqlite/script.ts'
import { storedJobs } from './sqlite/stored-job.ts'

function newPath(later: (remove: () => void) => void = onTestFinished): string {
  const folder = temporaryFolder()
  later(() => folder.remove())
  return join(folder.path, 'jobs.db')
}

async function opened(path = newPath(), thread = false) {
  const [store, clock] = [sqliteStore({ path, durability: 'normal', thread }), movingClock()]
  await store.open({ clock })
  onTestFinished(() => store.close())
  return { store, clock, path, harm: (sql: string) => harmed(path, sql) }
}

function harmed(path: string, sql: string): void {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  db.exec(sql)
  db.close()
}

const ofJobs = new Set(['input', 'tags', 'meta', 'options'])

/** Breaks what is stored of a job. One that has nothing but its enqueue gets the row that tells the same. */
const breaks = (id: string, column = 'input'): string =>
  ofJobs.has(column)
    ? `UPDATE jobs SET ${column} = '{"n":' WHERE id = '${id}'`
    : `INSERT OR IGNORE INTO lives (job, queue, state, history, last_seq, place, attempt, generation)
        SELECT seq, queue, 'queued', '"queued"', seq, seq, 0, 1 FROM jobs WHERE id = '${id}';
      UPDATE lives SET ${column} = '{"n":' WHERE job = (SELECT seq FROM jobs WHERE id = '${id}')`
const end = (job: ClaimedJob) => ({ ...lease(job), event: 'COMPLETE', to: 'done' }) as const
const ids = ['a', 'b', 'c', 'd', 'e']

const columns = ['input', 'tags', 'meta', 'options', 'history', 'errors', 'logs', 'checkin', 'cancel']
const met: [column: string, thread: boolean][] = [
  ...columns.map((column): [string, boolean] => [column, false]),
  ['input', true],
  ['options', true],
]

test.for(met)(
  'a job whose %s cannot be read is set aside by whoever meets it, and the others run (thread: %s)',
  async ([column, thread]) => {
    const { store, path, harm } = await opened(newPath(), thread)
    await put(store, ...ids.map((id) => newJob(id, { tags: ['t'], maxAttempts: 3 })))
    harm(breaks('c', column))
    const answer = await ask(store, { max: 5, token: 't1' })
    // What a claim does not read, a list does.
    const listed = idsOf(await store.list({}))
    expect(listed.toSorted()).toEqual(['a', 'b', 'd', 'e'])
    expect(await store.unreadable?.()).toEqual(['c'])
    expect(await store.get(['c'])).toEqual([null])
    const jobs = answer.jobs.filter(({ id }) => id !== 'c')
    const settled = await store.settle(jobs.map(end))
    expect(settled.map(({ outcome }) => outcome)).toEqual(jobs.map(() => 'settled'))
    const { queued, running, done } = await store.counts()
    expect({ queued, running, done }).toEqual({ queued: 0, running: 0, done: 4 })
    const discarded = await store.discard(['c', 'nobody'])
    expect([discarded.discarded, discarded.notFound]).toEqual([['c'], ['nobody']])
    expect(await store.unreadable?.()).toEqual([])
    await put(store, newJob('c'))
    expect(idsOf(await take(store, { token: 't2' }))).toEqual(['c'])
    await store.repair?.()
    await store.close()
    expect(complaintsAbout(path).filter((text) => !/^job c|log/.test(text))).toEqual([])
  },
)

test('a claim tells which jobs it could not read, whoever has found them', async () => {
  const { store, harm } = await opened()
  await put(store, ...ids.map((id) => newJob(id, { until: 'start', key: id, concurrencyKey: id })))
  const [first] = await take(store, { max: 1, worker: 'other' })
  await store.settle([{ ...lease(first!), event: 'RELEASE', to: 'queued' }])
  harm(`${breaks('a', 'history')}; ${breaks('b', 'options')}; ${breaks('c', 'input')}`)
  const answer = await ask(store, { max: 5, token: 't1' })
  expect([idsOf(answer.jobs), answer.unreadable]).toEqual([
    ['d', 'e'],
    ['a', 'b', 'c'],
  ])
  expect((await ask(store)).unreadable).toBeUndefined()
})

test('one unreadable input ends no other job: nine run, once each', async () => {
  const { store, path, harm } = await opened()
  const all = Array.from({ length: 10 }, (_, n) => `job ${n}`)
  await put(store, ...all.map((id) => newJob(id)))
  harm(breaks('job 4'))
  const [ran, errors]: [string[], unknown[]] = [[], []]
  const mail = defineJob<unknown, void>({ type: 'mail', run: async (_, { id }) => void ran.push(id) })
  const logger = { error: (_: string, fields?: Record<string, unknown>) => void errors.push(fields?.['error']) }
  await using runtime = createRuntime({ jobs: [mail], store: sqliteStore({ path }), logger, lease: '1s' })
  await runtime.start()
  await expect.poll(async () => (await store.counts()).done).toBe(9)
  expect(ran.toSorted()).toEqual(all.filter((id) => id !== 'job 4'))
  expect(errors.map((error) => (error as JobchartError).code)).toEqual(['STORE_CORRUPT'])
})

test('damaged jobs hold up no sweep, settlement, cancel, prune, list of fields, nor the list of workers', async () => {
  const { store, clock, harm } = await opened()
  await put(store, ...ids.map((id) => newJob(id)), newJob('later', { delayMs: 1 }), newJob('too', { delayMs: 1 }))
  const jobs = await take(store, { max: 3 })
  await store.worker('w1', workerInfo('w1'))
  harm(breaks('a', 'checkin'))
  expect((await store.workers())[0]?.running.map(({ id }) => id)).toEqual(['b', 'c'])
  harm(breaks('b', 'errors'))
  const settled = await store.settle(
    jobs.map((job) => ({ ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error: boom })),
  )
  expect(settled.map(({ outcome }) => outcome)).toEqual(['lost', 'lost', 'settled'])
  await cancel(store, ['d', 'e'])
  harm(
    `UPDATE lives SET history = '"' || printf('%.13000c', 'x') WHERE job = (SELECT seq FROM jobs WHERE id = 'later')`,
  )
  await clock.advance(10)
  expect((await store.promote(10)).transitions.map(({ id }) => id)).toEqual(['too'])
  harm(`${breaks('too', 'meta')}; ${breaks('c', 'tags')}`)
  expect(await store.list({ fields: ['id', 'meta'], state: 'queued' })).toEqual([])
  const none = { ageMs: 0, count: 0 }
  expect((await prune(store, { done: none, dead: none, cancelled: none }, 10)).pruned).toBe(2)
  expect(await store.unreadable?.()).toEqual(['a', 'b', 'c', 'later', 'too'])
  const { types: _, ...counts } = await store.counts()
  expect(Object.values(counts)).toEqual(Object.values(counts).map(() => 0))
})

test('of a machine: what it stands at, its messages and its checkpoints', async () => {
  const { store, path, harm } = await opened()
  const machine = async (id: string): Promise<void> => {
    const job = await putAndTake(store, id)
    for (const number of [1, 2])
      await write(store, job, { ...plainCheckpoint(number), states: [`s.${id}`], tags: ['busy'] })
    await park(store, job)
  }
  for (const id of [...ids, 'f']) await machine(id)
  const job = await putAndTake(store, 'g')
  await write(store, job, plainCheckpoint(1))
  await store.settle([end(job)])
  await store.discard(['g'])
  expect(await store.machineCounts('mail')).toMatchObject({ tags: { busy: 6 } })
  await store.send([{ id: 'b', message: { kind: 'event', event: 1 }, key: 'k', expect: null }])
  const of = (id: string): string => `job = (SELECT seq FROM jobs WHERE id = '${id}')`
  harm(`UPDATE checkpoints SET state = '{' WHERE ${of('a')}; UPDATE messages SET message = '{' WHERE ${of('b')};
    UPDATE machines SET standing = '{' WHERE ${of('c')}; DELETE FROM checkpoints WHERE ${of('d')}`)
  expect(idsOf(await store.list({}))).toEqual(['e', 'f'])
  expect(await store.unreadable?.()).toEqual(['a', 'b', 'c', 'd'])
  // Where a job stood is taken out of the counts if it can be read.
  expect(await store.machineCounts('mail')).toMatchObject({
    states: { 's.c': 1, 's.e': 1, 's.f': 1 },
    tags: { busy: 3 },
  })
  harm(`UPDATE checkpoints SET state = '{' WHERE number = 1 AND ${of('f')}`)
  expect(await store.checkpoints('f')).toEqual([])
  expect(await store.unreadable?.()).toContain('f')
  await store.discard([...ids, 'f'])
  expect(contentsOf(path)).toMatchObject({ machines: [{}], checkpoints: [{}, {}], messages: [] })
  expect(await store.repair?.()).toMatchObject({ jobs: 1, unreadable: [] })
  expect(await store.machineCounts('mail')).toMatchObject({ states: { 's.e': 1 }, tags: { busy: 1 } })
})

test('a job that is set aside frees its unique key, and whoever waits for its end goes on', async () => {
  const { store, harm } = await opened()
  await freesItsKey(store, (id) => harm(breaks(id)))
})

test('a job that is set aside at the head of a concurrency key, or while it runs, makes room for the next one', async () => {
  const { store, harm } = await opened()
  await makesRoom(store, {
    queued: (id) => harm(breaks(id, 'options')),
    running: (id) => harm(breaks(id, 'meta')),
  })
})

test('a dead job that is set aside is no longer one of its group; one of a queue that there is not is set aside, too', async () => {
  const { store, path, harm } = await opened()
  for (const id of ['a', 'b']) await putAndEnd(store, id, 'dead')
  expect((await store.failures({}))[0]).toMatchObject({ count: 2, dead: 2 })
  harm(`${breaks('a', 'meta')}; UPDATE jobs SET queue = 99 WHERE id = 'b'`)
  expect(await store.get(['a', 'b'])).toEqual([null, null])
  expect((await store.failures({}))[0]).toMatchObject({ count: 2, dead: 1 })
  expect(await store.unreadable?.()).toEqual(['a', 'b'])
  await store.repair?.()
  expect((await store.failures({}))[0]).toMatchObject({ count: 2, dead: 0 })
  await store.discard(['a', 'b'])
  await store.close()
  expect(complaintsAbout(path).filter((text) => !text.includes('counted'))).toEqual([])
})

test('what was asked for before a repair in one turn is kept', async () => {
  const { store, path } = await opened()
  await put(store, newJob('a'))
  const [, answer] = await Promise.all([put(store, newJob('b')), store.repair?.(), put(store, newJob('c'))])
  expect(answer).toMatchObject({ jobs: 2, counts: 0 })
  expect(idsOf(await take(store))).toEqual(['a', 'b', 'c'])
  await store.close()
  expect(complaintsAbout(path)).toEqual([])
})

test('damage that is of no job sets none aside', async () => {
  const { store, harm } = await opened()
  await put(store, ...ids.map((id) => newJob(id)))
  harm(`UPDATE queues SET counts = '{'`)
  await expect(store.list({})).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  await expect(take(store)).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  expect(await store.repair?.()).toEqual({ jobs: 5, restored: [], unreadable: [], counts: 1 })
  expect(idsOf(await take(store))).toEqual(ids)
})

test('a repair rebuilds what a queue tells of its jobs, also where that is the null of JSON', async () => {
  const { store, harm } = await opened()
  await put(store, ...ids.map((id) => newJob(id)))
  harm(`UPDATE queues SET counts = 'null', activity = 'null', machines = 'null'`)
  expect(await store.repair?.()).toEqual({ jobs: 5, restored: [], unreadable: [], counts: 1 })
  expect(idsOf(await take(store))).toEqual(ids)
})

// ── repair ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A sound file with jobs of all kinds, as bytes. */
let sound: Buffer

beforeAll(async () => {
  const path = newPath(() => {})
  const { store, play } = await playerOn(path)
  for (const index of script.keys()) await play(index)
  await store.close()
  sound = readFileSync(path)
})

function soundFile(): string {
  const path = newPath()
  writeFileSync(path, sound)
  return path
}

/**
 * The tables of a file, without when types are looked at again, and what is filled or removed behind; counts of 0 are
 * left out.
 */
function compared(path: string): Record<string, unknown> {
  const { looks: _, listed: __, ends: ___, ended: ____, queues = [], ...others } = contentsOf(path)
  const sorted = (text: string, of: (parsed: Record<string, number>) => Iterable<unknown>): unknown =>
    new Set([...of(JSON.parse(text) as Record<string, number>)].map(String))
  const told = (queues as { counts: string; machines: string }[]).map((queue) => ({
    ...queue,
    ...{ front_rank: null, front_place: null },
    counts: sorted(queue.counts, (counts) => Object.entries(counts).filter(([, jobs]) => jobs !== 0)),
    machines: sorted(queue.machines, (machines) => new MachineTally(machines).entries()),
  }))
  const db = new DatabaseSync(path)
  const { behind, found } = endedRows(db)
  const live = new Set(storedJobs(db).flatMap(({ seq, state }) => (state === 'queued' ? [seq] : [])))
  db.close()
  const waiting = (others['waiting'] as { job: number }[]).filter(({ job }) => live.has(job))
  const ended = Map.groupBy([...found, ...behind], ({ name }) => name)
  const ends = [...ended].map(([name, jobs]) => [name, ...jobs.map(({ job, at }) => `${job} ${at}`)].join(', '))
  return { ...others, waiting, ends: ends.toSorted(), queues: told }
}

async function repaired(path: string) {
  const store = sqliteStore({ path, durability: 'normal' })
  await store.open({ clock: movingClock() })
  const answer = await store.repair?.()
  await store.close()
  return answer
}

test('a repair of a sound file changes nothing', async () => {
  const path = soundFile()
  const before = compared(path)
  expect(await repaired(path)).toMatchObject({ restored: [], unreadable: [], counts: 0 })
  expect(compared(path)).toEqual(before)
})

test('a repair rebuilds all that follows from the rows of the jobs', async () => {
  const path = soundFile()
  const before = compared(path)
  harmed(
    path,
    `UPDATE queues SET counts = '{"queued":99,"gone":3}', keyed = 0, machines = json_set(machines, '$.states', json('{"x":4}'));
    DELETE FROM key_groups WHERE start IS NULL AND limited_until IS NULL; DELETE FROM job_tags; DELETE FROM machine_names;
    INSERT INTO key_groups (queue, concurrency_key, leased, priority, place) VALUES (1, 'nobody', 3, 1, 1);
    INSERT INTO job_tags VALUES ('wrong', 1); INSERT INTO machine_names (job, kind, name) VALUES (1, 'tag', 'wrong');
    UPDATE failures SET dead = dead + 7; UPDATE lives SET failure = 'wrong' WHERE error IS NOT NULL; DELETE FROM looks;
    DELETE FROM waiting WHERE job % 2 = 0; UPDATE waiting SET place = place + 1000; DELETE FROM listed;
    UPDATE minutes SET first = first + 1000`,
  )
  const answer = await repaired(path)
  expect(answer?.counts).toBeGreaterThan(3)
  expect(complaintsAbout(path)).toEqual([])
  const { failures: _, minutes: __, ...tables } = compared(path)
  expect(before).toMatchObject(tables)
  expect(await repaired(path)).toMatchObject({ counts: 0 })
})

test('a repair sets aside what cannot be read, and brings back what can be read again', async () => {
  const { store, path, harm } = await opened(soundFile())
  const all = idsOf(await store.list({ limit: 1_000 }))
  const before = compared(path)
  const [first, second] = [
    `(SELECT id FROM jobs ORDER BY seq LIMIT 1)`,
    `(SELECT job FROM lives WHERE checkpointed_attempts IS NOT NULL LIMIT 1)`,
  ]
  harm(`CREATE TABLE kept AS SELECT seq, input, history FROM jobs LEFT JOIN lives ON job = seq WHERE id = ${first} OR seq = ${second};
    UPDATE jobs SET input = '{' WHERE id = ${first}; UPDATE lives SET history = '{' WHERE job = ${second}`)
  const { unreadable, jobs } = (await store.repair?.()) ?? {}
  expect([unreadable?.length, jobs]).toEqual([2, all.length - 2])
  harm(
    `UPDATE jobs_aside SET input = (SELECT input FROM kept WHERE kept.seq = jobs_aside.seq);
    UPDATE lives_aside SET history = (SELECT history FROM kept WHERE kept.seq = lives_aside.job); DROP TABLE kept`,
  )
  const answer = await store.repair?.()
  expect([answer?.restored.toSorted(), answer?.jobs, answer?.unreadable]).toEqual([unreadable, all.length, []])
  expect(compared(path)).toEqual(before)
  expect(complaintsAbout(path)).toEqual([])
})

test('a job that is brought back leaves its key to the one that has taken it', async () => {
  const { store, harm } = await opened()
  await put(store, newJob('a', { key: 'k' }))
  harm(breaks('a'))
  await store.get(['a'])
  await put(store, newJob('b', { key: 'k' }))
  harm(`UPDATE jobs_aside SET input = '1'`)
  expect(await store.repair?.()).toMatchObject({ jobs: 2, restored: ['a'] })
  expect((await put(store, newJob('c', { key: 'k' })))[0]).toMatchObject({ outcome: 'duplicate', id: 'b' })
  const [a, b] = await take(store)
  expect((await store.settle([end(a!), end(b!)])).map(({ outcome }) => outcome)).toEqual(['settled', 'settled'])
})

test('columns that follow from the state of a job are those of its state after a repair', async () => {
  const { store, path, harm } = await opened()
  for (const [i, id] of ids.entries()) await putAndEnd(store, id, (['done', 'dead'] as const)[i % 2]!)
  const become = (id: string, columns: string): string =>
    `UPDATE lives SET ${columns} WHERE job = (SELECT seq FROM jobs WHERE id = '${id}');`
  harm(`${become('a', `state = 'queued', history = '"queued"'`)} ${become('b', `state = 'retrying'`)}
    ${become('c', `state = 'running', history = '"queued"', token = 't', worker = 'w'`)}`)
  expect(await store.repair?.()).toMatchObject({ jobs: 5, counts: 5 })
  expect((await store.promote(10)).transitions.map(({ id }) => id)).toEqual(['b'])
  expect((await store.rescue(10)).transitions.map(({ id }) => id)).toEqual(['c'])
  expect(idsOf(await store.list({ state: 'queued' }))).toEqual(['a', 'b', 'c'])
  expect(idsOf(await store.list({ state: ['done', 'dead'], orderBy: 'finished' }))).toEqual(['d', 'e'])
  expect(idsOf(await take(store)).toSorted()).toEqual(['a', 'b', 'c'])
  await store.close()
  expect(complaintsAbout(path).filter((text) => /^queue|key group/.test(text))).toEqual([])
})

test('no number of a transition is given twice after the log was lost', async () => {
  const { store, harm } = await opened()
  await put(store, ...ids.map((id) => newJob(id)))
  const last = (await take(store)).at(-1)!.seq
  harm('DELETE FROM log')
  await store.repair?.()
  await put(store, newJob('new'))
  expect((await store.get(['new']))[0]?.history[0]?.seq).toBe(last + 1)
  const { transitions } = await store.transitions(null, 1)
  expect(transitions.map(({ id, seq }) => [id, seq])).toEqual([['new', last + 1]])
})

test('a repair tells claims that wait for a cap, and other processes see it', async () => {
  const { store, path, harm } = await opened()
  const { store: other } = await opened(path)
  await put(store, newJob('a'), newJob('b'))
  harm(`UPDATE queues SET counts = '{"queued":2,"running":5}'`)
  const limits = { concurrency: 5 }
  for (const each of [store, other]) expect(await take(each, { limits })).toEqual([])
  const hints: unknown[] = []
  onTestFinished(store.watch((hint) => hints.push(hint)))
  await store.repair?.()
  expect(hints).toContainEqual({ kind: 'ready', type: 'mail', atMost: 2 })
  expect(idsOf(await take(other, { limits }))).toEqual(['a', 'b'])
})
