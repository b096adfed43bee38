/** The benchmarks, as a real process and very small: that they run, what they write, and that a lost job is noticed. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { commitsOf, copyDatabase, fileSystemOf } from '../../bench/harness/disk.ts'
import { Ledger, NotVerified } from '../../bench/harness/ledger.ts'
import { passesMax, warmUp } from '../../bench/harness/warm-up.ts'
import type { Report } from '../../bench/report/report.ts'
import { compared, single, type Row } from '../../bench/suite.ts'
import { allSuites, chooseSections } from '../../bench/suites/index.ts'
import { isLong } from '../harness/long-form.ts'
import { runProgram, type ProgramRun } from '../harness/processes.ts'
import { costGrowth } from '../proof/cost.ts'
import { redisTest } from '../support/redis-server.ts'

const main = new URL('../../bench/main.ts', import.meta.url)
const tiny = ['--quick', '--scale', '0.0005', '--rounds', '1', '--no-peers']

const bench = (...args: string[]): Promise<ProgramRun> => benchIn(tmpdir(), ...args)

const benchIn = (folder: string, ...args: string[]): Promise<ProgramRun> =>
  runProgram(main, args, { env: { TMPDIR: folder } })

/** All rows, each of which has a figure, and a ratio and a verdict where they belong. */
function rowsOf({ sections }: Report): Row[] {
  const rows = sections.flatMap(({ rows }) => rows)
  for (const { name, ours, ratio, base, goal, verdict } of rows) {
    expect(ours.value, name).toBeTypeOf('number')
    expect(ours.samples.length, name).toBeGreaterThan(0)
    expect(ratio === null, name).toBe(base === null)
    expect(verdict === null, name).toBe(goal === null)
  }
  return rows
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'jobchart-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

// The others take longer and run through the same code: `npm run proof -- --only bench` runs them all.
const measured = ['throughput', ...(isLong ? ['latency', 'cancel', 'garbage'] : [])]
const onFiles = [...(isLong ? ['process', 'idle'] : []), 'restart']
const onServers = ['process']

test('a run prints tables to people and JSON to scripts, every figure of it verified', async () => {
  const { exitCode, stdout, stderr } = await bench('memory', ...tiny, '--only', measured.join(','), '--json')
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining('All work was verified') })
  const report = JSON.parse(stdout) as Report
  expect(report).toMatchObject({
    store: 'memory',
    verified: true,
    settings: { scale: 0.0005, rounds: 1, peers: false },
    machine: { node: process.version, cores: expect.any(Number) },
  })
  expect(report.sections.map(({ name }) => name)).toEqual(measured)
  const rows = rowsOf(report)
  expect(rows.some(({ name, unit }) => name === 'plain' && unit === 'jobs/s')).toBe(true)
})

test('a run on files says where they are, and leaves none of them', async () => {
  const folder = await temporaryFolder()
  const { exitCode, stdout, stderr } = await benchIn(folder, 'sqlite', ...tiny, '--only', onFiles.join(','), '--json')
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining('All work was verified') })
  const report = JSON.parse(stdout) as Report
  expect(report).toMatchObject({ store: 'sqlite', verified: true, place: expect.stringMatching(/^Files in .+ on /) })
  expect(await readdir(folder)).toEqual([])
  const rows = rowsOf(report)
  const value = (name: string): number | undefined => rows.find((row) => row.name === name)?.ours.value
  if (!isLong) return
  // The floor commits the end of each batch, and once more the first claim.
  expect(value('commits per job, floor, by 100')).toBe(2 / 50)
  expect(value('commits per job, floor, by 10')).toBe(6 / 50)
  expect(value('commits per job, floor, by 1')).toBe(21 / 20)
})

// Four processes against a server: `npm run proof` has it.
if (isLong)
  redisTest('a run on a server counts what the server does', async () => {
    const { exitCode, stdout, stderr } = await bench('redis', ...tiny, '--only', onServers.join(','), '--json')
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining('All work was verified') })
    const report = JSON.parse(stdout) as Report
    expect(report).toMatchObject({ store: 'redis', verified: true })
    const rows = rowsOf(report)
    const value = (name: string): number => rows.find((row) => row.name === name)?.ours.value ?? Number.NaN
    expect(value('commands per job, floor, by 100')).toBeLessThan(1)
    expect(value('bytes per job, 100 slots')).toBeGreaterThan(0)
  })

test('a run in which a job is lost says so and fails', async () => {
  const { exitCode, stdout } = await bench('memory', ...tiny, '--only', 'self-test')
  expect({ exitCode, stdout }).toEqual({
    exitCode: 1,
    stdout: expect.stringContaining('NOT VERIFIED: of the jobs, 1 of 50 never ran, the first is job 0'),
  })
})

test('a store without a benchmark is refused with the names of those that have one', async () => {
  const { exitCode, stderr } = await bench('mysql')
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('for now there is: memory') })
})

test('commits to a database are counted, whoever makes them', async () => {
  const path = join(await temporaryFolder(), 'a.db')
  const [one, other] = [new DatabaseSync(path), new DatabaseSync(path)] as const
  one.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (a)')
  const before = await commitsOf(path)
  // Many pages each, so that pages are not taken for commits.
  for (let i = 0; i < 3; i++) one.exec('INSERT INTO t VALUES (zeroblob(50000))')
  other.exec('BEGIN; INSERT INTO t VALUES (2); INSERT INTO t VALUES (3); COMMIT')
  one.exec('BEGIN; INSERT INTO t VALUES (4); ROLLBACK; SELECT count(*) FROM t')
  expect((await commitsOf(path)) - before).toBe(4)
  other.close()
  one.close()
  await copyDatabase(path, `${path}-copy`)
  const copy = new DatabaseSync(`${path}-copy`)
  expect(copy.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 5 })
  copy.close()
})

test('the file system of a folder is that of the mount nearest to it', () => {
  const onLinux = process.platform === 'linux'
  expect(fileSystemOf('/proc/self')).toBe(onLinux ? 'proc' : null)
  expect(fileSystemOf('/processes')).toBe(onLinux ? fileSystemOf('/') : null)
})

test('warming up ends when two passes after the first are alike, and after six at the latest', async () => {
  const passes = (...figures: number[]): Promise<number> => {
    const left = [...figures]
    return warmUp(async () => left.shift() as number)
  }
  expect(await passes(100, 100, 104)).toBe(3)
  expect(await passes(100, 150, 100, 96)).toBe(4)
  expect(await passes(100, 106, 112, 119, 126, 134, 135)).toBe(passesMax)
})

test('the ledger finds jobs that were lost, that ran twice and that nobody enqueued', () => {
  const ledgerOf = (jobs: number, ...marks: number[]): Ledger => {
    const ledger = new Ledger(jobs)
    for (const i of marks) ledger.mark(i)
    return ledger
  }
  expect(ledgerOf(3, 2, 0, 1).problem()).toBeNull()
  expect(ledgerOf(3, 2, 0).problem()).toBe('of the jobs, 1 of 3 never ran, the first is job 1')
  expect(ledgerOf(3, 0, 1, 1, 2).problem()).toBe('of the jobs, 1 ran more than once')
  expect(ledgerOf(3, 0, 1, 2, 3).problem()).toBe('of the jobs, 1 ran that nobody enqueued')
  expect(() => ledgerOf(3, 0, 0).verify()).toThrow(NotVerified)
  // Where some still wait, the others must have run.
  expect(ledgerOf(3, 2).problem(2)).toBeNull()
  expect(ledgerOf(3, 2).problem(1)).toBe('of the jobs, 2 of 3 never ran, the first is job 0')
  expect(ledgerOf(3, 2, 2).problem(2)).toBe('of the jobs, 1 ran more than once')
})

test('what a job costs is compared beside each base, and the least growth counts', () => {
  const row = (name: string, base: string, cpuOfBase: number, cpuOfOurs: number): Row => {
    const figure = (of: string) => ({ name: of, value: 1, samples: [1] })
    return compared(name, 'jobs/s', figure(base), figure(name), null, { base: cpuOfBase, ours: cpuOfOurs })
  }
  const before = [
    row('a', 'x', 10, 20),
    row('a', 'y', 10, 40),
    row('b', 'x', 10, 5),
    single('c', 'ms', row('c', 'x', 1, 1).ours),
  ]
  const now = [row('a', 'x', 10, 24), row('a', 'y', 10, 42), row('b', 'z', 10, 5)]
  expect([...costGrowth(before, now)]).toEqual([['a', 1.05]])
})

test('a run over all stores takes the main sections of each, and refuses what needs one store', async () => {
  const { exitCode, stderr } = await bench('--quick', '--only', 'process')
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: expect.stringContaining('--only and --json need a store'),
  })
  for (const suite of await allSuites()) {
    expect(
      chooseSections(suite, suite.main).map(({ name }) => name),
      suite.store,
    ).toEqual(suite.main)
  }
})

test('a row meets its goal by its ratio, or by its value where there is nothing beside it', () => {
  const figure = (value: number) => ({ name: 'a figure', value, samples: [value] })
  expect(compared('a', 'jobs/s', figure(100), figure(90), { atLeast: 0.9 })).toMatchObject({
    ratio: 0.9,
    verdict: 'ok',
  })
  expect(compared('a', 'jobs/s', figure(100), figure(89), { atLeast: 0.9 }).verdict).toBe('short')
  expect(single('a', 'ms', figure(60), { atMost: 60 }).verdict).toBe('ok')
  expect(single('a', 'ms', figure(61), { atMost: 60 }).verdict).toBe('short')
  expect(single('a', 'ms', figure(61)).verdict).toBeNull()
})
