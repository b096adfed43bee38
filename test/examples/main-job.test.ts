/** The main job as its users run it: a process of its own, on a folder whose contents are known. */
import { execFile, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { repositoryRoot } from '../support/tidy/repository.ts'

const program = join(repositoryRoot, 'examples/main-job/main.ts')

interface Run {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobchart-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** Calls the program in `folder`; `meanwhile` sees it as it goes on. */
async function run(args: readonly string[], meanwhile: (child: ChildProcess) => void = () => {}): Promise<Run> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--conditions=@jobchart/source', program, ...args],
      { cwd: folder, timeout: 30_000, killSignal: 'SIGKILL', env: { PATH: process.env['PATH'], NO_COLOR: '1' } },
      (_error, stdout, stderr) => resolve({ exitCode: child.exitCode, stdout, stderr }),
    )
    meanwhile(child)
  })
}

async function write(path: string, content: string | Buffer): Promise<void> {
  await mkdir(join(folder, path, '..'), { recursive: true })
  await writeFile(join(folder, path), content)
}

/** A file that is as large as it says and as empty as it looks. */
async function hole(path: string, bytes: number): Promise<void> {
  await write(path, '')
  await truncate(join(folder, path), bytes)
}

/** The cells of the line that begins with these words. */
function row(stdout: string, ...words: readonly string[]): string[] | undefined {
  const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/))
  return rows.find((cells) => words.every((word, i) => cells[i] === word))
}

/** The figures of all jobs together. */
function total(stdout: string) {
  const [, jobs = NaN, done = NaN, dead = NaN, retries = NaN] = (row(stdout, 'all') ?? []).map((cell) =>
    Number(cell.replaceAll(',', '')),
  )
  return { jobs, done, dead, retries }
}

test('sums up what is in a folder: duplicates, what does not compress, the longest lines', async () => {
  const noise = randomBytes(20_000)
  await write('files/a/one.bin', noise)
  await write('files/b/two.bin', noise)
  await write('files/b/three.bin', noise)
  await write('files/easy.txt', 'easy\n'.repeat(4_000))
  await write('files/wide.txt', `short\n${'wide'.repeat(25)}\nno newline at the end`)
  await write('files/empty-1', '')
  await write('files/empty-2', '')
  await symlink('nowhere', join(folder, 'files/broken'))

  const { exitCode, stdout, stderr } = await run(['files'])

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(stdout).toMatch(/^files: 7 files, 21 jobs in /)
  for (const type of ['hash', 'compress', 'lines']) {
    const [, jobs, done, dead, retries] = row(stdout, type) ?? []
    expect({ type, jobs, done, dead, retries }).toEqual({ type, jobs: '7', done: '7', dead: '0', retries: '0' })
  }
  expect(stdout).toContain('Duplicates: 2 copies of other files, 40 kB wasted')
  expect(row(stdout, '40 kB', '3')).toEqual(['40 kB', '3', 'files/a/one.bin'])
  expect(row(stdout, '100 %')).toEqual(['100 %', '20 kB', 'files/a/one.bin'])
  expect(row(stdout, '100 B')).toEqual(['100 B', '3', 'files/wide.txt'])
  expect(row(stdout, '4 B')).toEqual(['4 B', '4,000', 'files/easy.txt'])
  expect(stdout).toContain('Left out: 1 symbolic link')
  expect(stdout).not.toContain('Dead jobs')
})

test('lets attempts fail on request, the same ones for the same seed, and names the dead', async () => {
  for (let n = 0; n < 20; n++) await write(`files/${n}.txt`, `file ${n}\n`)

  const runs = await Promise.all([1, 2].map(async () => run(['files', '--fail', '0.7', '--seed', '7'])))

  const [first, second] = runs.map(({ stdout }) => total(stdout))
  expect(second).toEqual(first)
  const { jobs, done, dead, retries } = first!
  expect(jobs).toBe(60)
  expect(dead).toBeGreaterThan(0)
  expect(done).toBe(60 - dead)
  // Whoever is dead has been tried three times.
  expect(retries).toBeGreaterThanOrEqual(2 * dead)
  for (const { exitCode, stdout, stderr } of runs) {
    expect(exitCode).toBe(1)
    expect(stderr).not.toContain('Error')
    expect(stdout).toContain(`Dead jobs: ${dead}`)
    expect(stdout).toMatch(/3 +failed on request +files\/\d+\.txt/)
  }
})

test('ends at a Ctrl-C: what runs is finished, the rest is counted as left undone', async () => {
  // Holes cost no disk, but time: enough to be in the middle of it when the first line of progress is out.
  for (let n = 0; n < 400; n++) await hole(`files/${n}`, 30_000_000)

  const { exitCode, stdout } = await run(['files', '--concurrency', '2'], (child) =>
    child.stderr?.once('data', () => child.kill('SIGINT')),
  )

  expect(exitCode).toBe(130)
  const { jobs, done, dead } = total(stdout)
  expect(done).toBeGreaterThan(0)
  expect(done).toBeLessThan(jobs)
  expect(dead).toBe(0)
  expect(stdout).toContain(`Interrupted: ${(jobs - done).toLocaleString('en-US')} jobs left undone`)
})

test('a second Ctrl-C aborts what runs', async () => {
  await hole('files/endless', 500_000_000_000)

  const { exitCode, stdout } = await run(['files'], (child) => child.stderr?.on('data', () => child.kill('SIGINT')))

  expect(exitCode).toBe(130)
  // Counting lines is over at the first zero byte; hashing and compressing would take hours.
  expect(total(stdout)).toEqual({ jobs: 3, done: 1, dead: 0, retries: 0 })
  expect(stdout).toContain('Interrupted: 2 jobs left undone')
})

test('an empty folder is no mistake', async () => {
  await mkdir(join(folder, 'files'))
  expect(await run(['files'])).toEqual({ exitCode: 0, stdout: 'files: no files\n', stderr: '' })
})

test.each([
  { args: ['nowhere'], says: 'there is no folder nowhere' },
  { args: ['file'], says: 'file is not a folder' },
  { args: ['a', 'b'], says: 'one folder at a time, got a, b' },
  { args: ['--fail', '5'], says: '--fail takes a number from 0 to 1, got "5"' },
  { args: ['--fail', ''], says: '--fail takes a number from 0 to 1, got ""' },
  { args: ['--concurrency', '0'], says: '--concurrency takes a number from 1 to 256, got "0"' },
  { args: ['--seed', '1.5'], says: '--seed takes a whole number, got 1.5' },
  { args: ['--bogus'], says: "Unknown option '--bogus'" },
])('refuses $args in a sentence', async ({ args, says }) => {
  await write('file', '')
  const { exitCode, stdout, stderr } = await run(args)
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
  expect(stderr).toContain(says)
  expect(stderr).toContain('--help says how to call it.')
  expect(stderr).not.toContain('    at ')
})

test('--help says what it can do', async () => {
  const { exitCode, stdout } = await run(['--help'])
  expect(exitCode).toBe(0)
  for (const option of ['--fail', '--seed', '--concurrency']) expect(stdout).toContain(option)
})
