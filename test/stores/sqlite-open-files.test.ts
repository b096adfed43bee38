/** That the files of an open database are still there is noticed also where the folder alone was looked at. */
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
  for (const _ of ['complete', 'of the folder']) {
    expect(files.isSame()).toBe(true)
    files.checkBeside()
  }
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
    expect(() => files.checkBeside()).toThrow(expect.objectContaining({ code: 'STORE_UNAVAILABLE' }))
  }
})

test('that the database was removed or replaced is noticed after checks of the folder', () => {
  for (const isReplaced of [false, true]) {
    const path = newFiles()
    untilNextTime(dirname(path))
    const files = checkedFiles(path)
    if (isReplaced) {
      writeFileSync(`${path}.new`, '')
      renameSync(`${path}.new`, path)
    } else {
      rmSync(path)
    }
    untilNextTime(dirname(path))
    expect(files.isSame()).toBe(isReplaced ? false : null)
  }
})

test('a database that a link leads to, and a folder in the place of another, are noticed', () => {
  const target = newFiles()
  const path = join(newFolder(), 'link.db')
  symlinkSync(target, path)
  const linked = checkedFiles(path)
  rmSync(target)
  expect(linked.isSame()).toBe(null)

  const inFolder = newFiles()
  const moved = checkedFiles(inFolder)
  renameSync(dirname(inFolder), `${dirname(inFolder)}-moved`)
  onTestFinished(() => rmSync(`${dirname(inFolder)}-moved`, { recursive: true }))
  mkdirSync(dirname(inFolder))
  expect(moved.isSame()).toBe(null)
})

test('a folder that has just changed is not relied on', () => {
  // A change that the folder of the database does not show.
  const path = newFiles()
  const beside = join(newFolder(), 'wal')
  rmSync(`${path}-wal`)
  writeFileSync(beside, '')
  symlinkSync(beside, `${path}-wal`)
  const relying = checkedFiles(path)
  const files = new OpenFiles(path, { now: () => statSync(dirname(path)).ctimeMs })
  expect(files.isSame()).toBe(true)
  files.checkBeside()
  rmSync(beside)
  expect(relying.isSame()).toBe(true)
  expect(() => relying.checkBeside()).not.toThrow()
  expect(files.isSame()).toBe(true)
  expect(() => files.checkBeside()).toThrow(expect.objectContaining({ code: 'STORE_UNAVAILABLE' }))
})
