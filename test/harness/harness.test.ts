/** What all proofs stand on: their options, exit codes, reports and ledgers, and the programs that they start. */
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { repositoryRoot } from '../support/tidy/repository.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { runCommand } from './command.ts'
import { ledgerAt, readLedger } from './ledger.ts'
import { isLong } from './long-form.ts'
import { choice, choices, flag, optionalWhole, readOptions, seed, text, usageOf, UsageError, whole } from './options.ts'
import { runProgram } from './processes.ts'
import { programOf } from './programs.ts'
import { promiseRows, reportText, spreadOf } from './report.ts'

const table = {
  store: choice('the store', ['sqlite', 'redis'], 'sqlite'),
  parts: choices('some parts', ['a', 'b']),
  kills: whole('SIGKILLs', [1, 100], 10),
  jobs: optionalWhole('jobs', [0, 9]),
  seed: seed(),
  trace: flag('print everything'),
  dir: text('folder', 'where it is kept'),
}

function folder(): string {
  const made = temporaryFolder()
  onTestFinished(() => made.remove())
  return made.path
}

test('options are read as their table says', () => {
  const { seed: first, ...others } = readOptions(table, [])
  expect(others).toEqual({ store: 'sqlite', parts: ['a', 'b'], kills: 10, jobs: null, trace: false, dir: null })
  expect(Number.isInteger(first)).toBe(true)
  const args = ['--store', 'redis', '--kills', '3', '--jobs', '0', '--seed=7', '--trace', '--dir', 'x', '--parts', 'b']
  expect(readOptions(table, args)).toEqual({
    store: 'redis',
    parts: ['b'],
    kills: 3,
    jobs: 0,
    seed: 7,
    trace: true,
    dir: 'x',
  })
  expect(usageOf('npm run it --', table).split('\n').slice(0, 2)).toEqual([
    'npm run it -- [options]',
    '  --store name  the store: sqlite, redis; default sqlite',
  ])
})

test.each([
  [['--store', 'paper'], 'one of sqlite, redis'],
  [['--store', 'constructor'], 'one of sqlite, redis'],
  [['--parts', 'a,c'], 'one of a, b'],
  [['--kills', '0'], 'from 1 to 100'],
  [['--kills', '1.5'], 'whole number'],
  [['--kills', ''], 'whole number'],
  [['--kills', 'many'], 'whole number'],
  [['--kills'], 'kills'],
  [['--kills', '1', '--kills', '1'], 'twice'],
  [['--kill', '1'], 'kill'],
  [['more'], 'more'],
])('%j is refused', (args, says) => {
  expect(() => readOptions(table, args)).toThrow(UsageError)
  expect(() => readOptions(table, args)).toThrow(says)
})

test('a command ends with 0 if what it proves holds, with 1 if not, and with 2 and its usage if it was asked wrongly', async () => {
  const said = vi.spyOn(console, 'error').mockReturnValue()
  const command = (holds: boolean) => ({ name: 'it', options: { kills: table.kills }, run: async () => holds })
  expect(await runCommand(command(true), [])).toBe(0)
  expect(await runCommand(command(false), [])).toBe(1)
  expect(await runCommand(command(true), ['--kills', '0'])).toBe(2)
  expect(said.mock.calls.flat().join('')).toContain('it [options]\n  --kills n  SIGKILLs, default 10')
  const failing = { name: 'it', options: {}, run: () => Promise.reject(new TypeError('a bug')) }
  await expect(runCommand(failing, [])).rejects.toThrow('a bug')
})

test('a report has each promise, the figures, some of the evidence, and one line that says it all', () => {
  const promises = { order: 'in order', once: 'once' }
  const sound = { promises: promiseRows(promises, []), figures: ['10 jobs'], broken: [], seed: 7 }
  expect(reportText(sound)).toBe(
    '  order   in order  holds\n  once    once      holds\n\n  10 jobs\n\nEvery promise was kept. Seed 7.',
  )
  const broken = Array.from({ length: 5 }, (_, i) => ({ promise: 'once', message: `job ${i}`, evidence: ['a line'] }))
  const lines = reportText({ ...sound, promises: promiseRows(promises, broken), broken, folder: 'there' }).split('\n')
  expect(lines).toContain('  once    once      BROKEN 5×')
  expect(lines.filter((line) => line.startsWith('once: '))).toEqual([
    'once: job 0',
    'once: job 1',
    'once: job 2',
    'once: 2 more',
  ])
  expect(lines.at(-1)).toBe('PROMISES WERE BROKEN. Seed 7; histories, store and logs are in there')
  expect(spreadOf([5, 1, 3])).toEqual([3, 5, 5])
  expect(spreadOf([])).toEqual([0, 0, 0])
})

test('a ledger keeps what was written to it, without a line that is torn', () => {
  const path = join(folder(), 'ledger.ndjson')
  expect(readLedger(path)).toEqual([])
  const append = ledgerAt(path)
  for (const n of [1, 2]) append({ n })
  appendFileSync(path, '{"n":')
  expect(readLedger(path)).toEqual([{ n: 1 }, { n: 2 }])
})

test('a program is run from its bundle, or from its sources; what it prints and how it ends are told', async () => {
  const known = programOf(join(repositoryRoot, 'test/storm/worker.ts'))
  expect(known.path.endsWith(isLong ? 'worker.ts' : 'worker.js')).toBe(true)
  const path = join(folder(), 'a.ts')
  writeFileSync(path, "console.log(process.argv[2] as string)\nconsole.error('b')\nprocess.exitCode = 3\n")
  expect(programOf(path).path).toBe(path)
  expect(await runProgram(path, ['a'])).toEqual({ exitCode: 3, signal: null, stdout: 'a\n', stderr: 'b\n' })
})
