/** The benchmarks, as a real process and very small: that they run, what they write, and that a lost job is noticed. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Ledger, NotVerified } from '../../bench/harness/ledger.ts'
import type { Report } from '../../bench/report/report.ts'
import { compared, single } from '../../bench/suite.ts'

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
const tiny = ['--quick', '--scale', '0.0005', '--rounds', '1', '--no-peers']

interface Ended {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

const bench = (...args: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [main, ...args],
      // A test runner's own variables must not change what is measured.
      { timeout: 100_000, env: { PATH: process.env['PATH'] } },
      (_error, stdout, stderr) => resolve({ exitCode: child.exitCode, stdout, stderr }),
    )
  })

// Left out: the import of the built package, which would build it, and what runs through the same code as another.
const measured = ['throughput', 'growth-backlog', 'growth-subscribers', 'latency', 'cancel', 'memory', 'garbage']

test(
  'a run prints tables to people and JSON to scripts, every figure of it verified',
  { timeout: 110_000 },
  async () => {
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
    const rows = report.sections.flatMap(({ rows }) => rows)
    for (const { name, ours, ratio, base, goal, verdict } of rows) {
      expect(ours.value, name).toBeTypeOf('number')
      expect(ours.samples.length, name).toBeGreaterThan(0)
      expect(ratio === null, name).toBe(base === null)
      expect(verdict === null, name).toBe(goal === null)
    }
    expect(rows.some(({ name, unit }) => name === 'plain' && unit === 'jobs/s')).toBe(true)
  },
)

test('a run in which a job is lost says so and fails', async () => {
  const { exitCode, stdout } = await bench('memory', ...tiny, '--only', 'self-test')
  expect({ exitCode, stdout }).toEqual({
    exitCode: 1,
    stdout: expect.stringContaining('NOT VERIFIED: of the jobs, 1 of 50 never ran, the first is job 0'),
  })
})

test('a store without a benchmark is refused with the names of those that have one', async () => {
  const { exitCode, stderr } = await bench('redis')
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('for now there is: memory') })
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
