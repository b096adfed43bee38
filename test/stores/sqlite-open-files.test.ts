/** That the files beside an open database are still there is noticed also where their folder alone is looked at. */
import { mkdirSync, renameSync, rmSync, rmdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { OpenFiles } from '../../src/stores/sqlite/open-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const later = { now: () => Date.now() + 60_000 }

function newFolder(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return folder.path
}

/** Empty files with the names of a database. @returns the path of the database */
function newFiles(): string {
  const path = join(newFolder(), 'jobs.db')
  for (const end of ['', '-wal', '-shm']) writeFileSync(path + end, '')
  return path
}

/** Files that were checked when their folder was long unchanged. */
function checkedFiles(path: string): OpenFiles {
  const files = new OpenFiles(path, later)
  for (const _ of ['complete', 'of the folder']) files.checkBeside()
  return files
}

/** Returns when the next change of a folder gives it another time. */
function untilNextTime(folder: string): void {
  const { ctimeMs } = statSync(folder)
  const other = join(folder, 'other')
  while (statSync(folder).ctimeMs === ctimeMs) {
    mkdirSync(other)
    rmdirSync(other)
  }
}

/** A log that is a link: its target may be removed, and the folder of the database does not change. */
function newFilesWithHiddenLog(): { readonly path: string; readonly log: string } {
  const path = newFiles()
  const log = join(newFolder(), 'wal')
  rmSync(`${path}-wal`)
  writeFileSync(log, '')
  symlinkSync(log, `${path}-wal`)
  return { path, log }
}

const unavailable = expect.objectContaining({ code: 'STORE_UNAVAILABLE' })

test.each(['-wal', '-shm'])('that %s was removed or replaced is noticed after checks of the folder', (end) => {
  for (const isReplaced of [false, true]) {
    const path = newFiles()
    untilNextTime(dirname(path))
    const files = checkedFiles(path)
    if (isReplaced) {
      writeFileSync(`${path}.new`, '')
      renameSync(`${path}.new`, path + end)
    } else {
      rmSync(path + end)
    }
    untilNextTime(dirname(path))
    expect(files.isSame()).toBe(true)
    expect(() => files.checkBeside()).toThrow(unavailable)
  }
})

test('a folder in the place of another is noticed', () => {
  const path = newFiles()
  const files = checkedFiles(path)
  const moved = `${dirname(path)}-moved`
  renameSync(dirname(path), moved)
  onTestFinished(() => rmSync(moved, { recursive: true }))
  mkdirSync(dirname(path))
  expect(files.isSame()).toBe(null)
  expect(() => files.checkBeside()).toThrow(unavailable)
})

test('while the folder does not change, the files themselves are not looked at', () => {
  const { path, log } = newFilesWithHiddenLog()
  const files = checkedFiles(path)
  rmSync(log)
  expect(() => files.checkBeside()).not.toThrow()
  untilNextTime(dirname(path))
  expect(() => files.checkBeside()).toThrow(unavailable)
})

test('a folder that has just changed is not relied on', () => {
  const { path, log } = newFilesWithHiddenLog()
  const files = new OpenFiles(path, { now: () => statSync(dirname(path)).ctimeMs })
  files.checkBeside()
  rmSync(log)
  expect(() => files.checkBeside()).toThrow(unavailable)
})

test.each(['removed', 'replaced'])('that the database was %s is noticed after checks of the folder', (how) => {
  const path = newFiles()
  untilNextTime(dirname(path))
  const files = checkedFiles(path)
  expect(files.isSame()).toBe(true)
  if (how === 'replaced') {
    writeFileSync(`${path}.new`, '')
    renameSync(`${path}.new`, path)
  } else rmSync(path)
  untilNextTime(dirname(path))
  expect(files.isSame()).toBe(how === 'removed' ? null : false)
})

test('the target of a link to a database is looked at itself: its removal does not change the folder of the link', () => {
  const target = newFiles()
  const path = join(newFolder(), 'jobs.db')
  symlinkSync(target, path)
  for (const end of ['-wal', '-shm']) writeFileSync(path + end, '')
  const files = checkedFiles(path)
  expect(files.isSame()).toBe(true)
  rmSync(target)
  expect(files.isSame()).toBe(null)
})
