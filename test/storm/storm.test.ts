/** The short form of the storm, and what must hold for it to prove anything. */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { postgresTest } from '../support/postgres-server.ts'
import { redisTest, serverOfFile } from '../support/redis-server.ts'
import { parseCommand, type StormOptions } from './command.ts'
import { faultsOf, jobId, productionMs, taskOf, tasksOf, turnOf } from './plan.ts'
import { report } from './report.ts'
import { stores } from './stores.ts'
import { UsageError } from '../harness/options.ts'
import { stormsMs, stormUntilSeen } from '../harness/until-seen.ts'
import { runStorm } from './storm.ts'
import type { Verdict } from './verdict.ts'

const short: StormOptions = {
  store: 'sqlite',
  jobs: 160,
  machines: 0,
  kills: 4,
  zombies: 1,
  restarts: 0,
  losses: 0,
  full: 0,
  seed: 1,
  workers: 3,
  producers: 2,
  leaseMs: 1_000,
  folder: null,
}

/** Where what befalls processes is not the point. */
const small = { jobs: 100, zombies: 0, workers: 2, producers: 1 }

const server = serverOfFile()

async function storm(options: Partial<StormOptions>): Promise<Verdict> {
  const lines: string[] = []
  const verdict = await runStorm({ ...short, ...options }, (line) => void lines.push(line))
  onTestFinished(() => rm(verdict.folder, { recursive: true, force: true }))
  expect(lines.length).toBeGreaterThan(2)
  return verdict
}

async function survives(store: string): Promise<void> {
  const unseen = await stormUntilSeen(['selfKilled', 'rescues', 'terminated', 'unknown'], async (seed) => {
    const verdict = await storm({ store, seed })
    expect(verdict.broken, report(verdict)).toEqual([])
    const { killed, zombies, runs, steps, poison } = verdict.figures
    expect({ killed, zombies, poison }).toEqual({ killed: 4, zombies: 1, poison: 2 })
    expect(runs).toBeGreaterThan(100)
    expect(steps).toBeGreaterThan(100)
    expect(existsSync(verdict.folder)).toBe(false)
    return verdict.figures
  })
  expect(unseen).toEqual([])
}

test('sqlite keeps its promises while processes die', () => survives('sqlite'), stormsMs)

redisTest(
  'redis keeps its promises while processes die',
  async () => {
    vi.stubEnv('JOBCHART_REDIS_URL', server().url)
    await survives('redis')
  },
  stormsMs,
)

redisTest(
  'redis keeps its promises while its server is killed, started again and held up, and while its memory is full',
  async () => {
    const verdict = await storm({ ...small, store: 'redis', kills: 1, restarts: 2, full: 2 })
    expect(verdict.broken, report(verdict)).toEqual([])
    expect(verdict.figures).toMatchObject({ restarted: 2, held: 2, filled: 2 })
    // A server that is killed while it is full comes back with room.
    expect(verdict.figures.startedFull).toBeGreaterThan(0)
  },
  stormsMs,
)

postgresTest('postgres keeps its promises while processes die', () => survives('postgres'), stormsMs)

postgresTest(
  'postgres keeps its promises while its server is killed and started again, and ends connections',
  async () => {
    const verdict = await storm({ ...small, store: 'postgres', kills: 1, restarts: 2 })
    expect(verdict.broken, report(verdict)).toEqual([])
    expect(verdict.figures).toMatchObject({ restarted: 2, held: 2 })
  },
  stormsMs,
)

redisTest(
  'redis keeps its promises while its server loses what it has acknowledged',
  async () => {
    const unseen = await stormUntilSeen(['leftOut', 'jobs'], async (seed) => {
      const verdict = await storm({ ...small, store: 'redis', kills: 1, restarts: 2, losses: 1, seed })
      expect(verdict.broken, report(verdict)).toEqual([])
      expect(verdict.figures).toMatchObject({ restarted: 2, held: 2 })
      return verdict.figures
    })
    expect(unseen).toEqual([])
  },
  stormsMs,
)

test('every store has its storm', () => {
  expect(Object.keys(stores)).toEqual(['sqlite', 'redis', 'postgres'])
})

test('a store that acknowledges what it does not write is found out', async () => {
  const verdict = await storm({ ...small, store: 'forgetful', jobs: 60, kills: 0 })
  expect(verdict.broken.map(({ promise }) => promise)).toContain('I1')
  expect(report(verdict)).toContain('was acknowledged and is not in its record')
  expect(existsSync(verdict.folder), 'the evidence is kept').toBe(true)
})

test('a store that takes leases back too early is found out', async () => {
  const verdict = await storm({ ...small, store: 'impatient', jobs: 60, kills: 0 })
  expect(verdict.broken.map(({ promise }) => promise)).toContain('I5')
})

test('the same seed gives the same plan', () => {
  const plan = (seed: number) => JSON.stringify([faultsOf({ ...short, seed }), taskOf(17, { ...short, seed })])
  expect(plan(7)).toBe(plan(7))
  expect(plan(7)).not.toBe(plan(8))
})

test('the plan has a fifth of longer jobs, one poison in a hundred, and every fault that was asked for', () => {
  const options = { ...short, jobs: 10_000, kills: 100, zombies: 50 }
  const tasks = Array.from({ length: options.jobs }, (_, n) => taskOf(n, options))
  const share = (type: RegExp): number => tasks.filter((task) => type.test(task.type)).length / tasks.length
  expect(share(/^long$/)).toBeCloseTo(0.2, 1)
  expect(share(/^poison/)).toBe(0.01)
  expect(tasks[5]?.options.id).toBe(jobId(5))
  for (const kind of ['cancel', 'retry', 'pause']) {
    expect(tasks.filter(({ act }) => act?.kind === kind).length, kind).toBeGreaterThan(20)
  }
  const faults = faultsOf(options)
  const count = (kind: string): number => faults.filter((fault) => fault.kind === kind).length
  expect(['kill', 'stop', 'block', 'terminate'].map(count)).toEqual([100, 40, 10, 10])
  for (const { at } of faults) expect(at).toBeLessThan(productionMs(options))
})

test('jobs and machines are enqueued in turn, each number once', () => {
  const options = { ...short, jobs: 30, machines: 70 }
  const turns = Array.from({ length: tasksOf(options) }, (_, n) => turnOf(n, options))
  const numbers = (wanted: string): number[] => turns.filter(({ kind }) => kind === wanted).map(({ number }) => number)
  expect(numbers('job')).toEqual(Array.from({ length: 30 }, (_, n) => n))
  expect(numbers('machine')).toEqual(Array.from({ length: 70 }, (_, n) => n))
  expect(turns.slice(0, 10).filter(({ kind }) => kind === 'job')).toHaveLength(3)
})

test('the options of the command are parsed', () => {
  expect(parseCommand(['--store', 'sqlite', '--jobs', '500', '--seed', '3'])).toMatchObject({
    store: 'sqlite',
    jobs: 500,
    machines: 0,
    kills: 5,
    zombies: 0,
    seed: 3,
    workers: 8,
    folder: null,
  })
  const machines = parseCommand(['--store', 'sqlite', '--machines', '500'])
  expect(machines).toMatchObject({ jobs: 0, machines: 500, kills: 5 })
  const { seed } = parseCommand(['--store', 'sqlite'])
  expect(Number.isInteger(seed)).toBe(true)
})

test.each([
  [[]],
  [['--store', 'punched cards']],
  [['--store', 'constructor']],
  [['--store']],
  [['--store', 'sqlite', '--jobs', '0']],
  [['--store', 'sqlite', '--jobs', '0', '--machines', '0']],
  [['--store', 'sqlite', '--machines', '-1']],
  [['--store', 'sqlite', '--jobs', 'many']],
  [['--store', 'sqlite', '--jobs', '']],
  [['--store', 'sqlite', '--kills', '1.5']],
  [['--store', 'sqlite', '--kills', '-1']],
  [['--store', 'sqlite', '--full', '1']],
  [['--store', 'redis', '--restarts', '1', '--losses', '2']],
  [['--store', 'redis', '--machines', '9', '--restarts', '1', '--losses', '1']],
  [['--store', 'sqlite', '--lease', '10']],
  [['--store', 'sqlite', '--store', 'sqlite']],
  [['--store', 'sqlite', '--kill', '3']],
  [['--store', 'sqlite', 'now', '3']],
])('it refuses %j', (args) => {
  expect(() => parseCommand(args)).toThrow(UsageError)
})

test('a folder that is not empty is refused', async () => {
  await expect(runStorm({ ...short, folder: import.meta.dirname }, () => {})).rejects.toThrow(UsageError)
})
