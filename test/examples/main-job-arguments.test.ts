/** How the main job is called: what it refuses, and how it says so. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readArguments, UsageError } from '../../examples/main-job/arguments.ts'
import type { ProgramRun } from '../harness/processes.ts'
import { runIn, write } from './program.ts'

let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobchart-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const at = (path: string): string => join(folder, path)
const run = (args: readonly string[]): Promise<ProgramRun> => runIn(folder, args)

test('an empty folder is no mistake', async () => {
  await mkdir(join(folder, 'files'))
  expect(await run(['files'])).toMatchObject({ exitCode: 0, stdout: 'files: no files\n' })
})

test.each([
  { args: ['nowhere'], says: 'there is no folder nowhere' },
  { args: [import.meta.filename], says: `${import.meta.filename} is not a folder` },
  { args: ['a', 'b'], says: 'one folder at a time, got a, b' },
  { args: ['--fail', '5'], says: '--fail takes a number from 0 to 1, got "5"' },
  { args: ['--fail', ''], says: '--fail takes a number from 0 to 1, got ""' },
  { args: ['--concurrency', '0'], says: '--concurrency takes a number from 1 to 256, got "0"' },
  { args: ['--seed', '1.5'], says: '--seed takes a whole number, got 1.5' },
  { args: ['--store', 'redis'], says: '--store takes sqlite or memory, got "redis"' },
  { args: ['--store', 'memory', '--db', 'x.db'], says: '--db goes with --store sqlite only' },
  { args: ['--db', ''], says: '--db takes the path of a file' },
  { args: ['--bogus'], says: "Unknown option '--bogus'" },
])('refuses $args', ({ args, says }) => {
  const read = (): unknown => readArguments(args)
  expect(read).toThrow(UsageError)
  expect(read).toThrow(says)
})

test('says in a sentence what it refuses, and how it is called', async () => {
  const { exitCode, stdout, stderr } = await run(['--fail', '5'])
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
  expect(stderr).toBe('--fail takes a number from 0 to 1, got "5"\n\n--help says how to call it.\n')
})

test('--help says what it can do', async () => {
  const { exitCode, stdout } = await run(['--help'])
  expect(exitCode).toBe(0)
  for (const option of [
    '--fail',
    '--seed',
    '--concurrency',
    '--store',
    '--db',
    '--fresh',
    '--retry',
    '--open',
    '--ledger',
  ])
    expect(stdout).toContain(option)
})

test('a file that is none of its own is refused and left as it is, even with --fresh', async () => {
  await write(at('files/a'), 'a\n')
  await write(at('notes.txt'), 'remember the milk\n'.repeat(100))
  const { exitCode, stdout, stderr } = await run(['files', '--db', 'notes.txt', '--fresh'])
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
  expect(stderr).toMatch(/^\S+notes\.txt is no SQLite file/)
  expect(stderr).not.toContain('    at ')
  expect(await readFile(at('notes.txt'), 'utf8')).toBe('remember the milk\n'.repeat(100))
  expect(existsSync(at('notes.txt-wal'))).toBe(false)
})
