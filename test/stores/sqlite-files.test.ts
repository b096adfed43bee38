/**
 * Files that are not what they should be. Whatever is wrong with one, it is refused with an error that says what to do,
 * and left as it was found.
 *
 * What cannot be noticed, because a SQLite file carries no checksums: a bit that flips within a value (a word of a
 * payload, a number) and leaves it one that could stand there; a file that was emptied, since an empty one is a new
 * one; and the end of a log, since a torn one is what a crash leaves.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { dirname, join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { JobchartError } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock } from '../../src/core/clock.ts'
import { applicationId, fileVersion } from '../../src/stores/sqlite/migrations/index.ts'
import { newJob, put } from '../../src/store-testing/conformance/acts.ts'
import { isLong } from '../harness/long-form.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { complaintsAbout, contentsOf } from './sqlite/consistency.ts'
import { playUntilDeath, textOf } from './sqlite/kill-points.ts'
import { playerOn, script } from './sqlite/script.ts'
import { damagedJob, settleWithDamagedInbox, unsupportedFiles, withContradictions } from './sqlite/strange-files.ts'

/** A sound file with jobs of all kinds, as bytes. */
let sound: Buffer

beforeAll(async () => {
  const path = join(
    newFolder(() => {}),
    'jobs.db',
  )
  const { store, play } = await playerOn(path)
  for (const index of script.keys()) await play(index)
  await store.close()
  sound = readFileSync(path)
})

function newFolder(later: (remove: () => void) => void = onTestFinished): string {
  const folder = temporaryFolder()
  later(() => folder.remove())
  return folder.path
}

function fileOf(bytes: Buffer | string): string {
  const path = join(newFolder(), 'jobs.db')
  writeFileSync(path, bytes)
  return path
}

/** What opening a file says, if it is refused. */
async function refusalOf(path: string): Promise<JobchartError | null> {
  const store = sqliteStore({ path })
  try {
    await store.open({ clock: systemClock })
  } catch (error) {
    expect(error).toBeInstanceOf(JobchartError)
    expect((error as JobchartError).hint).toBeTypeOf('string')
    expect((error as JobchartError).message).toContain(path)
    return error as JobchartError
  }
  await store.close()
  return null
}

function changed(sql: string): string {
  const path = fileOf(sound)
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  db.exec(sql)
  db.close()
  return path
}

test('a file of a newer version is refused, and both versions are named', async () => {
  const path = changed('PRAGMA user_version = 99')
  const before = readFileSync(path)
  const refusal = await refusalOf(path)
  expect(refusal?.code).toBe('UNSUPPORTED')
  expect(refusal?.message).toMatch(new RegExp(`version 99\\b.*\\b${fileVersion}$`))
  expect(readFileSync(path)).toEqual(before)
})

test('a file that a newer version migrates while it is open is refused from then on, and not written', async () => {
  const path = fileOf(sound)
  const store = sqliteStore({ path })
  await store.open({ clock: systemClock })
  await put(store, newJob('before'))
  const other = new DatabaseSync(path)
  other.exec('ALTER TABLE queues RENAME COLUMN counts TO figures; PRAGMA user_version = 99')
  const refused = { code: 'UNSUPPORTED', message: expect.stringContaining('version 99') }
  await expect(put(store, newJob('after'))).rejects.toMatchObject(refused)
  await expect(store.counts()).rejects.toMatchObject(refused)
  other.exec('ALTER TABLE queues RENAME COLUMN figures TO counts')
  expect(other.prepare(`SELECT count(*) AS jobs FROM jobs WHERE id = 'after'`).get()).toEqual({ jobs: 0 })
  other.close()
  await store.close()
})

/** A file that SQLite has written, in rollback mode unless it is said otherwise. */
function sqliteFile(sql: string): string {
  const path = join(newFolder(), 'jobs.db')
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
  return path
}

/** A file whose last transactions are in its log only, as a killed process leaves it. */
function withHotLog(sql: string): string {
  const path = sqliteFile(`PRAGMA journal_mode = WAL; ${sql}`)
  const db = new DatabaseSync(path)
  db.exec('CREATE TABLE later (a); INSERT INTO later VALUES (1)')
  const copy = join(newFolder(), 'jobs.db')
  for (const end of ['', '-wal']) copyFileSync(`${path}${end}`, `${copy}${end}`)
  db.close()
  return copy
}

/** All files of the folder of a file, with their contents. */
function folderOf(path: string): Record<string, Buffer> {
  const folder = dirname(path)
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]))
}

const ourMark = `PRAGMA application_id = ${applicationId}`
const anotherProgram = 'another program'

test.each<[name: string, make: () => string, what: string | RegExp]>([
  ...Object.entries(unsupportedFiles).map(([name, { sql, says }]): [string, () => string, RegExp] => {
    return [name, () => changed(sql), says]
  }),
  ['of another program in WAL mode', () => sqliteFile('PRAGMA journal_mode = WAL; CREATE TABLE t (a)'), anotherProgram],
  ['of another program that was killed', () => withHotLog('CREATE TABLE t (a)'), anotherProgram],
  ['with a table and no version', () => sqliteFile('CREATE TABLE t (a)'), anotherProgram],
  ['with a table and version -5', () => sqliteFile('CREATE TABLE t (a); PRAGMA user_version = -5'), anotherProgram],
  ['without tables, with a version', () => sqliteFile('PRAGMA user_version = -5'), anotherProgram],
  ['without tables, with a mark', () => sqliteFile('PRAGMA application_id = 77'), anotherProgram],
  [
    'with our mark and version -5',
    () => sqliteFile(`${ourMark}; CREATE TABLE t (a); PRAGMA user_version = -5`),
    'version -5',
  ],
  ['with our mark and version 0', () => sqliteFile(`${ourMark}; CREATE TABLE jobs (a)`), 'version 0'],
  ['of a newer version that was killed', () => withHotLog(`${ourMark}; PRAGMA user_version = 99`), 'version 99'],
])('a SQLite file %s is refused, and nothing is written to it or beside it', async (_name, make, what) => {
  const path = make()
  const before = folderOf(path)
  const refusal = await refusalOf(path)
  expect([refusal?.code, refusal?.message]).toEqual(['UNSUPPORTED', expect.stringMatching(what)])
  expect(folderOf(path)).toEqual(before)
})

test.each([
  ['text', 'Dear diary,\n'.repeat(1_000)],
  ['a word', 'hello'],
  ['zeros', Buffer.alloc(8_192)],
])('a file of %s is refused and left alone', async (_name, bytes) => {
  const path = fileOf(bytes)
  const refusal = await refusalOf(path)
  expect(refusal).toMatchObject({ code: 'STORE_CORRUPT', message: expect.stringContaining('no SQLite file') })
  expect(refusal?.hint).toContain('another file')
  expect(readFileSync(path)).toEqual(Buffer.from(bytes))
})

test('a file that was cut off is refused, wherever', async () => {
  const pageBytes = 4_096
  const sizes = [2, 15, 16, 50, 99, 100, 511, 512, 4_095, 4_096, 4_097, 20_000, 36_864]
  for (const size of [...sizes, sound.length - pageBytes, sound.length - 512, sound.length - 1]) {
    const path = fileOf(sound.subarray(0, size))
    const refusal = await refusalOf(path)
    // The mark that says whose it is may be what is cut off.
    expect(['STORE_CORRUPT', 'UNSUPPORTED'], `${size} bytes`).toContain(refusal?.code)
    expect(readFileSync(path).length, `${size} bytes`).toBe(size)
  }
})

/** Everything that a store tells. */
async function answersOf(path: string): Promise<string> {
  const { store } = await playerOn(path)
  try {
    const states = ['queued', ['done', 'dead', 'cancelled'], ['running', 'cancelling'], 'scheduled'] as const
    const lists = states.map((state) => store.list({ state }))
    const ways = ['m1', 'm2', 'm3'].map((id) => store.checkpoints(id))
    const rest = [
      store.list({ limit: 1_000 }),
      store.counts(),
      store.workers(),
      store.transitions(null, 1_000),
      ...ways,
    ]
    return JSON.stringify(await Promise.all([...lists, ...rest]))
  } finally {
    await store.close()
  }
}

/** Rows that are not the same in two files; null if one has more. */
function differences(path: string, other: string): number | null {
  const [a, b] = [contentsOf(path), contentsOf(other)]
  let found = 0
  for (const [table, rows] of Object.entries(a)) {
    if (rows.length !== b[table]?.length) return null
    found += rows.filter((row, i) => JSON.stringify(row) !== JSON.stringify(b[table]?.[i])).length
  }
  return found
}

test('a flipped bit is refused as damage, changes nothing, changes a value of one row, or sets one job aside', async () => {
  const stride = isLong ? 101 : 797
  const original = fileOf(sound)
  const path = fileOf(sound)
  const expected = await answersOf(path)
  const seen = { same: 0, refused: 0, otherValue: 0, setAside: 0 }
  for (let at = 0; at < sound.length; at += stride) {
    const bytes = Buffer.from(sound)
    bytes[at] = (sound[at] ?? 0) ^ (1 << (at % 8))
    writeFileSync(path, bytes)
    const about = `bit ${at % 8} of byte ${at}`
    try {
      const answers = await answersOf(path)
      const { jobs_aside: aside = [], jobs = [] } = contentsOf(path)
      if (answers === expected) seen.same++
      else if (aside.length > 0) {
        seen.setAside++
        expect([aside.length, jobs.length], about).toEqual([1, contentsOf(original)['jobs']!.length - 1])
      } else {
        seen.otherValue++
        expect(differences(path, original), about).toBe(1)
      }
    } catch (error) {
      if (!(error instanceof JobchartError)) throw error
      seen.refused++
      expect(['STORE_CORRUPT', 'UNSUPPORTED'], `${about}: ${error.message}`).toContain(error.code)
    }
  }
  expect(seen.refused).toBeGreaterThan(5)
  expect(seen.setAside).toBeGreaterThan(0)
  console.log(`bits flipped: ${JSON.stringify(seen)}`)
})

test('an index that contradicts its table is refused, whichever', async () => {
  const files = withContradictions(fileOf(sound), sound)
  for (const { name, bytes } of files) expect((await refusalOf(fileOf(bytes)))?.code, name).toBe('STORE_CORRUPT')
  expect(files.length).toBeGreaterThan(5)
})

test('a damaged job is set aside, the others are not', async () => {
  const { store } = await playerOn(changed(damagedJob.sql))
  const [[broken], [other]] = await Promise.all([store.get([damagedJob.id]), store.get([damagedJob.other])])
  expect([broken, other?.id]).toEqual([null, damagedJob.other])
  expect(await store.unreadable?.()).toEqual([damagedJob.id])
  await store.close()
})

test('a settlement that meets damage is taken back, and those beside it are kept', () =>
  settleWithDamagedInbox(join(newFolder(), 'jobs.db')))

test('a job whose checkpoint is damaged, or gone, is set aside', async () => {
  for (const sql of [`UPDATE checkpoints SET state = '{"n":'`, 'DELETE FROM checkpoints']) {
    const { store } = await playerOn(changed(sql))
    const [[broken], [other]] = await Promise.all([store.get(['m2']), store.get(['m1'])])
    expect(broken, sql).toBe(null)
    expect(other, sql).toMatchObject({ id: 'm1', checkpoint: null, lastMessageNumber: 7 })
    expect(await store.unreadable?.(), sql).toContain('m2')
    await store.close()
  }
})

test('from a flipped bit in the log on, what it holds is forgotten as after a torn write, and what came before is not', async () => {
  const folder = newFolder()
  const whole = join(folder, 'whole.db')
  const contents = [textOf(whole)]
  const { store, play } = await playerOn(whole)
  for (const index of script.keys()) {
    await play(index)
    contents.push(textOf(whole))
  }
  await store.close()
  const path = join(folder, 'jobs.db')
  await playUntilDeath(path, null)
  const [file, log] = [readFileSync(path), readFileSync(`${path}-wal`)]
  const found: number[] = []
  for (let at = log.length - 1_000; at > log.length / 2; at -= 60_000) {
    const bytes = Buffer.from(log)
    bytes[at] = (log[at] ?? 0) ^ 1
    const copy = join(folder, `${at}.db`)
    writeFileSync(copy, file)
    writeFileSync(`${copy}-wal`, bytes)
    await (await playerOn(copy)).store.close()
    found.push(contents.indexOf(textOf(copy)))
  }
  expect(found).not.toContain(-1)
  expect(found).toEqual(found.toSorted((a, b) => b - a))
  expect(found.length).toBeGreaterThan(3)
})

/** As somebody whom permissions bind: to root they mean nothing. */
async function asOrdinaryUser<T>(run: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return run()
  process.seteuid?.(65_534)
  try {
    return await run()
  } finally {
    process.seteuid?.(0)
  }
}

/** A folder and a file in it, with these permissions, until the test is over. */
function guarded(folderMode: number, fileMode: number | null): string {
  const outer = newFolder()
  chmodSync(outer, 0o755)
  const folder = join(outer, 'guarded')
  mkdirSync(folder)
  const path = join(folder, 'jobs.db')
  if (fileMode !== null) {
    writeFileSync(path, sound)
    chmodSync(path, fileMode)
  }
  chmodSync(folder, folderMode)
  onTestFinished(() => chmodSync(folder, 0o755))
  return path
}

test.each([
  ['a file in a folder that cannot be written', 0o555, 0o666, 'cannot be written'],
  ['a new file in a folder that cannot be written', 0o555, null, 'cannot be opened'],
  ['a file that cannot be read', 0o777, 0o000, 'cannot be opened'],
  ['a file and a folder that cannot be written', 0o555, 0o444, 'cannot be written'],
])('%s is refused', async (_name, folderMode, fileMode, what) => {
  const path = guarded(folderMode, fileMode)
  const refusal = await asOrdinaryUser(() => refusalOf(path))
  expect(refusal).toMatchObject({ code: 'STORE_UNAVAILABLE', message: `${path} ${what}` })
  expect(refusal?.hint).toMatch(/write/)
})

test('a file that cannot be written can be read, and refuses every write until it can', async () => {
  const path = guarded(0o777, 0o444)
  await asOrdinaryUser(async () => {
    const store = sqliteStore({ path })
    await store.open({ clock: systemClock })
    expect((await store.counts()).queued).toBeGreaterThan(0)
    const refused = { code: 'STORE_UNAVAILABLE', message: `${path} cannot be written` }
    await expect(put(store, newJob('new'))).rejects.toMatchObject(refused)
    await expect(put(store, newJob('new'))).rejects.toMatchObject(refused)
    await store.close()
  })
})

test.each([
  ['in a folder that is not there', (folder: string) => join(folder, 'none', 'jobs.db'), 'there is no folder'],
  ['that is a folder', (folder: string) => folder, 'it is a folder'],
  ['in a file', (folder: string) => join(folder, 'file', 'jobs.db'), 'cannot be opened'],
  ['with a name that is too long', (folder: string) => join(folder, 'n'.repeat(300)), 'its name is too long'],
  ['that is too long', (folder: string) => longPath(folder), 'its path has'],
  ['of a device', () => '/dev/null', 'it is not a regular file'],
])('a path %s is refused', async (_name, pathIn, what) => {
  const folder = newFolder()
  writeFileSync(join(folder, 'file'), 'x')
  const refusal = await refusalOf(pathIn(folder))
  expect([refusal?.code, refusal?.message]).toEqual(['STORE_UNAVAILABLE', expect.stringContaining(what)])
  expect(existsSync(join(folder, 'none'))).toBe(false)
})

function longPath(folder: string): string {
  const long = join(folder, ...Array.from({ length: 3 }, () => 'd'.repeat(200)))
  mkdirSync(long, { recursive: true })
  return join(long, 'jobs.db')
}

test('the longest path that is possible is opened', async () => {
  const folder = join(newFolder(), 'd'.repeat(200), 'e'.repeat(150))
  mkdirSync(folder, { recursive: true })
  expect(await refusalOf(join(folder, 'n'.repeat(500 - folder.length - 1)))).toBeNull()
})

test.each([false, true])('a relative path is of the folder in which the store was made, thread: %j', async (thread) => {
  const [folder, before] = [newFolder(), process.cwd()]
  onTestFinished(() => process.chdir(before))
  process.chdir(folder)
  const store = sqliteStore({ path: 'jobs.db', thread })
  process.chdir(before)
  await store.open({ clock: systemClock })
  await put(store, newJob('a'))
  process.chdir('/')
  await put(store, newJob('b'))
  expect((await store.counts()).queued).toBe(2)
  await store.close()
  expect(existsSync(join(folder, 'jobs.db'))).toBe(true)
})

test.each(['a\0b', 'folder/', ''])('the path %j is refused before anything is opened', (path) => {
  expect(() => sqliteStore({ path })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test.each(['-wal', '-shm'])(
  'when %s is removed beside a file in use, every process is told so, and what was acknowledged is saved',
  async (end) => {
    const path = fileOf(sound)
    const stores = [sqliteStore({ path }), sqliteStore({ path })] as const
    for (const store of stores) await store.open({ clock: systemClock })
    const [one, other] = stores
    await put(one, newJob('of one'))
    await put(other, newJob('of the other'))
    rmSync(`${path}${end}`)
    const refused = {
      code: 'STORE_UNAVAILABLE',
      message: `${path}${end} was removed while ${path} was in use`,
      hint: expect.stringContaining('Stop every process'),
    }
    await expect(put(one, newJob('lost'))).rejects.toMatchObject(refused)
    // It stays so: a file beside the database that is made anew is not the one that other processes have.
    await expect(one.counts()).rejects.toMatchObject(refused)
    await expect(put(other, newJob('lost'))).rejects.toMatchObject(refused)
    for (const store of stores) await store.close()
    const again = sqliteStore({ path })
    await again.open({ clock: systemClock })
    const [first, second, lost] = await again.get(['of one', 'of the other', 'lost'])
    expect([first?.id, second?.id, lost]).toEqual(['of one', 'of the other', null])
    await again.close()
    expect(complaintsAbout(path)).toEqual([])
  },
)

test.each(['jobs.db', 'link.db'])(
  'a backup in the place of a file in use, %s, is not damaged by the log of that file',
  async (name) => {
    const path = fileOf(sound)
    const folder = dirname(path)
    symlinkSync(path, join(folder, 'link.db'))
    const store = sqliteStore({ path: join(folder, name) })
    await store.open({ clock: systemClock })
    const { queued } = await store.counts()
    await put(store, newJob('in the log'))
    const backup = join(folder, 'backup.db')
    writeFileSync(backup, sound)
    renameSync(backup, path)
    const refused = { code: 'STORE_UNAVAILABLE', hint: expect.stringContaining('without the -wal and -shm') }
    await expect(store.counts()).rejects.toMatchObject(refused)
    await expect(put(store, newJob('lost'))).rejects.toMatchObject(refused)
    expect(readFileSync(path).equals(sound)).toBe(true)
    for (const beside of ['-wal', '-shm']) rmSync(`${path}${beside}`)
    expect((await store.counts()).queued).toBe(queued)
    await store.close()
    expect(complaintsAbout(path)).toEqual([])
  },
)

test('a file that is removed while it is in use is missed, and one that is put in its place is used', async () => {
  const path = fileOf(sound)
  const store = sqliteStore({ path })
  await store.open({ clock: systemClock })
  const { queued } = await store.counts()
  await put(store, newJob('one more'))
  rmSync(path)
  const refused = { code: 'STORE_UNAVAILABLE', message: `${path} was removed while it was in use` }
  await expect(put(store, newJob('lost'))).rejects.toMatchObject(refused)
  await expect(store.counts()).rejects.toMatchObject(refused)
  expect(existsSync(path)).toBe(false)
  for (const beside of ['-wal', '-shm']) rmSync(`${path}${beside}`, { force: true })
  writeFileSync(path, sound)
  expect((await store.counts()).queued).toBe(queued)
  await put(store, newJob('another'))
  expect((await store.counts()).queued).toBe(queued + 1)
  await store.close()
})
