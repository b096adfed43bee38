/** The main job as its users run it: what it says, how it ends, and that it goes on where it was. */
import { randomBytes } from 'node:crypto'
import { appendFile, mkdtemp, readdir, readFile, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type JobRecord, type JobState } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ProgramRun } from '../harness/processes.ts'
import { hole, Ledger, onProgress, row, runIn, total, write } from './program.ts'

let folder = ''

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'jobchart-')))
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const at = (path: string): string => join(folder, path)
const run = (...[args, meanwhile]: [readonly string[], Parameters<typeof runIn>[2]?]): Promise<ProgramRun> =>
  runIn(folder, args, meanwhile)

test('sums up what is in a folder: duplicates, what does not compress, the longest lines', async () => {
  const noise = randomBytes(20_000)
  await write(at('files/a/one.bin'), noise)
  await write(at('files/b/two.bin'), noise)
  await write(at('files/b/three.bin'), noise)
  await write(at('files/easy.txt'), 'easy\n'.repeat(4_000))
  await write(at('files/wide.txt'), `short\n${'wide'.repeat(25)}\nno newline at the end`)
  await write(at('files/empty-1'), '')
  await write(at('files/empty-2'), '')
  await symlink('nowhere', join(folder, 'files/broken'))

  const { exitCode, stdout, stderr } = await run(['files'])

  expect(exitCode).toBe(0)
  expect(stderr).toMatch(/^Jobs are kept in \.jobchart\/files-[\da-f]{8}\.db \(process \d+\)\n/)
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
  expect(await readFile(at('.jobchart/.gitignore'), 'utf8'), 'its own folder is no business of git').toBe('*\n')
})

test('asks a person about a file with a line that nobody can read, and the next start has the answer', async () => {
  await write(at('files/bundle.js'), 'x'.repeat(600_000))
  await write(at('files/other.js'), 'x\n')

  const first = await run(['files', '--db', 'jobs.db'])
  expect(first).toMatchObject({ exitCode: 0 })
  expect(first.stderr).toMatch(/^Dashboard: http:\/\/127\.0\.0\.1:\d+\/token=[\w-]{32}\/$/m)
  expect(first.stdout).toContain('Suspicious files: 1 to decide on within ten minutes')
  expect(row(first.stdout, '600 kB', 'files/bundle.js')).toBeDefined()
  const [waiting] = await jobsIn('jobs.db', 'waiting')
  expect(waiting).toMatchObject({ type: 'review', machineStates: ['deciding'] })

  await using client = createClient({ jobs: [], store: sqliteStore({ path: at('jobs.db') }) })
  await client.send(waiting!.id, { type: 'ACCEPT' }, { accept: 'always' })
  const second = await run(['files', '--db', 'jobs.db'])
  expect(second.stdout).toContain('Suspicious files: 1 decided')
  expect((await (await client.job(waiting!.id))!.record()).state).toBe('done')
})

test('with --open it serves the dashboard after its work, until Ctrl-C', async () => {
  await write(at('files/a'), 'a\n')
  let title: unknown
  const { exitCode, stdout } = await run(['files', '--open', '--store', 'memory'], (child) => {
    child.stderr?.on('data', (text: string) => {
      const [, url] = /stays at (\S+)/.exec(text) ?? []
      if (url === undefined) return
      void fetch(`${url}api/v1`)
        .then(async (response) => ({ title } = (await response.json()) as { title: string }))
        .finally(() => child.kill('SIGINT'))
    })
  })
  expect({ exitCode, title }).toEqual({ exitCode: 0, title: 'files' })
  expect(stdout).toMatch(/^files: 1 file, 3 jobs in /)
})

test('lets attempts fail on request, the same ones for the same seed, and names the dead', async () => {
  for (let n = 0; n < 20; n++) await write(at(`files/${n}.txt`), `file ${n}\n`)

  const runs = await Promise.all(
    [1, 2].map(async () => run(['files', '--fail', '0.7', '--seed', '7', '--store', 'memory'])),
  )

  const [first, second] = runs.map(({ stdout }) => total(stdout))
  expect(second).toEqual(first)
  const { jobs, done, dead, retries } = first!
  expect(jobs).toBe(60)
  expect(dead).toBeGreaterThan(0)
  expect(done).toBe(60 - dead)
  // Whoever is dead has been tried five times.
  expect(retries).toBeGreaterThanOrEqual(4 * dead)
  for (const { exitCode, stdout, stderr } of runs) {
    expect(exitCode).toBe(1)
    expect(stderr).not.toMatch(/Error|kept in/)
    expect(stdout).toContain(`Dead jobs: ${dead}`)
    expect(stdout).toMatch(/5 +failed on request +files\/\d+\.txt/)
  }
  expect(await readdir(folder), 'a store in memory leaves nothing behind').toEqual(['files'])
})

test('ends at a Ctrl-C: what runs is finished, the rest is counted as left undone', async () => {
  // Holes cost no disk, but time: enough to be in the middle of it when the first line of progress is out.
  for (let n = 0; n < 400; n++) await hole(at(`files/${n}`), 30_000_000)

  // Once, and not before a job has ended, however slow the machine is: a second signal would abort what runs.
  let asked = false
  const { exitCode, stdout } = await run(['files', '--concurrency', '2', '--store', 'memory'], (child) =>
    onProgress(child, (line) => {
      if (!asked && /s {3}[1-9]/.test(line)) asked = child.kill('SIGINT')
    }),
  )

  expect(exitCode).toBe(130)
  const { jobs, done, dead } = total(stdout)
  expect(done).toBeGreaterThan(0)
  expect(done).toBeLessThan(jobs)
  expect(dead).toBe(0)
  expect(stdout).toContain(`Interrupted: ${(jobs - done).toLocaleString('en-US')} jobs left undone`)
})

test('a second Ctrl-C aborts what runs', async () => {
  await hole(at('files/endless'), 500_000_000_000)

  const { exitCode, stdout, stderr } = await run(['files'], (child) => onProgress(child, () => child.kill('SIGINT')))

  expect(exitCode, stderr).toBe(130)
  // Counting lines is over at the first zero byte, if it comes to that in time; hashing and compressing would take
  // hours.
  const { done } = total(stdout)
  expect(done).toBeLessThanOrEqual(1)
  expect(total(stdout)).toEqual({ jobs: 3, done, dead: 0, retries: 0 })
  expect(stdout).toContain(`Interrupted: ${3 - done} jobs left undone`)
})

const fileCount = 120
const jobCount = 3 * fileCount
const types = ['hash', 'compress', 'lines']

async function manyFiles(): Promise<void> {
  for (let n = 0; n < fileCount; n++) await write(at(`files/${n}.txt`), `file ${n}\n`.repeat(1 + (n % 50)))
}

/** What the program has left in its file. */
async function jobsIn(db: string, state: JobState): Promise<JobRecord[]> {
  await using client = createClient({ jobs: [], store: sqliteStore({ path: at(db) }) })
  const found: JobRecord[] = []
  let after: string | undefined
  do {
    const page = await client.list({ state, limit: 1_000, ...(after !== undefined && { after }) })
    found.push(...page)
    after = page.next
  } while (after !== undefined)
  return found
}

const moreThanOnce = (counts: ReadonlyMap<string, number>): string[] =>
  [...counts].filter(([, count]) => count > 1).map(([work]) => work)

test('killed in the middle and started again it does every file, and none twice but those it had in hand', async () => {
  await manyFiles()
  const ledger = new Ledger(folder)
  const args = ['files', '--db', 'jobs.db', '--ledger', 'ledger']

  const killed = await run(args, (child) => void ledger.whenEnded(100, () => child.kill('SIGKILL')))

  expect(killed).toMatchObject({ exitCode: null, stdout: '' })
  const workOf = ({ type, input }: JobRecord) => ledger.work(type, (input as { path: string }).path)
  const done = (await jobsIn('jobs.db', 'done')).map(workOf)
  const inHand = (await jobsIn('jobs.db', 'running')).map(workOf)
  expect(done.length).toBeGreaterThan(50)
  expect(done.length).toBeLessThan(jobCount)
  expect(inHand.length).toBeLessThanOrEqual(8)

  const { exitCode, stdout, stderr } = await run(args)

  expect(exitCode).toBe(0)
  expect(stderr).toMatch(
    new RegExp(`^Going on: \\d+ of ${fileCount} files are done, ${done.length} of ${jobCount} jobs$`, 'm'),
  )
  expect(stdout).toMatch(
    new RegExp(`^files: ${fileCount} files, ${jobCount} jobs: ${done.length} before, ${jobCount - done.length} in `),
  )
  expect(total(stdout)).toMatchObject({ jobs: jobCount, done: jobCount, dead: 0 })
  const everything = types.flatMap((type) => Array.from({ length: fileCount }, (_, n) => `${type} files/${n}.txt`))
  expect([...ledger.count('end').keys()].toSorted()).toEqual(everything.toSorted())
  const starts = ledger.count('start')
  expect(done.filter((work) => starts.get(work) !== 1)).toEqual([])
  expect(moreThanOnce(starts).filter((work) => !inHand.includes(work))).toEqual([])
})

test('started twice at the same time the two share the work, and both say what came of it', async () => {
  await manyFiles()
  const ledger = new Ledger(folder)
  const args = ['files', '--ledger', 'ledger']

  const runs = await Promise.all([run(args), run(args)])

  for (const { exitCode, stdout } of runs) {
    expect(exitCode).toBe(0)
    expect(total(stdout)).toEqual({ jobs: jobCount, done: jobCount, dead: 0, retries: 0 })
  }
  const starts = ledger.count('start')
  expect(starts.size).toBe(jobCount)
  expect(moreThanOnce(starts)).toEqual([])
  const [first, second] = runs.map(({ stdout }) => stdout.slice(stdout.indexOf('Duplicates')))
  expect(second).toBe(first)
})

test('what is done stays done, until its file changes or --fresh says so', async () => {
  for (const name of ['a', 'b', 'c']) await write(at(`files/${name}`), `${name}\n`)
  const ledger = new Ledger(folder)
  const starts = (): number => [...ledger.count('start').values()].reduce((sum, count) => sum + count, 0)
  // The folder it looks through is the one it writes to, by another name.
  await symlink('files', at('link'))
  const args = ['../link', '--db', 'jobs.db', '--ledger', '../ledger']
  const inFiles = (more: string[] = []): Promise<ProgramRun> => runIn(at('files'), [...args, ...more])

  await inFiles()
  expect(starts()).toBe(9)
  const again = await inFiles()
  expect(starts()).toBe(9)
  expect(again.stderr).toContain('All 3 files are done already')
  expect(again.stdout).toMatch(/^\.\.\/link: 3 files, 9 jobs, all done before/)
  expect(total(again.stdout)).toMatchObject({ jobs: 9, done: 9 })

  await appendFile(at('files/b'), 'more\n')
  const changed = await inFiles()
  expect(starts()).toBe(12)
  expect(changed.stderr).toContain('Going on: 2 of 3 files are done, 6 of 9 jobs')
  expect(row(changed.stdout, '4 B')).toEqual(['4 B', '2', '../link/b'])

  const fresh = await inFiles(['--fresh'])
  expect(starts()).toBe(21)
  expect(fresh.stdout).toMatch(/^\.\.\/link: 3 files, 9 jobs in /)
})

test('what waits for a file that has changed or gone is taken back', async () => {
  for (let n = 0; n < 20; n++) await hole(at(`files/${n}`), 300_000_000)
  const args = ['files', '--db', 'jobs.db', '--concurrency', '1']
  const interrupted = await run(args, (child) => onProgress(child, () => child.kill('SIGINT')))
  expect(interrupted.exitCode).toBe(130)
  expect(interrupted.stdout).toContain('left undone; the next start goes on')
  const waiting = (await jobsIn('jobs.db', 'queued')).length
  expect(waiting).toBeGreaterThan(0)

  await rm(at('files/0'))
  for (let n = 1; n < 20; n++) await write(at(`files/${n}`), `now ${n}\n`)
  const { exitCode, stdout } = await run(args)

  expect({ exitCode, ...total(stdout) }).toMatchObject({ exitCode: 0, jobs: 57, done: 57, dead: 0 })
  expect(await jobsIn('jobs.db', 'cancelled')).toHaveLength(waiting)
})

test('what is dead stays dead until --retry', async () => {
  await write(at('files/a'), 'a\n')
  const dead = await run(['files', '--fail', '1'])
  expect(dead.exitCode).toBe(1)
  expect(total(dead.stdout)).toMatchObject({ jobs: 3, done: 0, dead: 3 })

  const still = await run(['files'])
  expect(still.exitCode).toBe(1)
  expect(still.stderr).toContain('3 jobs dead, --retry does them again')
  expect(still.stdout).toContain('Dead jobs: 3')

  const retried = await run(['files', '--retry'])
  expect(retried.exitCode).toBe(0)
  expect(total(retried.stdout)).toMatchObject({ jobs: 3, done: 3, dead: 0 })
})
