/**
 * Death in the middle of a commit: SQLite appends the pages of a transaction to its log (`-wal`), frame after frame,
 * the last one marked. So every beginning of the log is what a process may leave that dies while it writes.
 */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { complaintsAbout } from './consistency.ts'
import { playUntilDeath, textOf, type Reference } from './kill-points.ts'
import { playerOn } from './script.ts'

interface Cut {
  readonly bytes: number
  /** Transactions that are whole. */
  readonly commits: number
}

const headerBytes = 32
const frameHeaderBytes = 24

/** Where a log is cut: after each transaction, and within the header and the page of each frame. */
function cutsOf(wal: Buffer): { between: Cut[]; within: Cut[] } {
  const pageBytes = wal.readUInt32BE(8)
  const between: Cut[] = [{ bytes: 0, commits: 0 }]
  const within: Cut[] = []
  const frameBytes = frameHeaderBytes + pageBytes
  for (let at = headerBytes; at + frameBytes <= wal.length; at += frameBytes) {
    const commits = between.length - 1
    within.push({ bytes: at + 4, commits }, { bytes: at + frameBytes - 4, commits })
    // The size of the file after a commit; 0 in all other frames.
    if (wal.readUInt32BE(at + 4) !== 0) between.push({ bytes: at + frameBytes, commits: commits + 1 })
  }
  return { between, within }
}

/**
 * Cuts the log of the whole script after every commit, and within every so many frames.
 * @param cutting is called before each cut, with how many were before it and how many there are
 * @returns in how many places
 * @throws AssertionError
 */
export async function dieWithinCommits(
  { contents, answers }: Reference,
  stride: number,
  cutting: (before: number, of: number) => void = () => {},
): Promise<number> {
  const folder = temporaryFolder()
  const path = join(folder.path, 'jobs.db')
  assert.deepEqual(await playUntilDeath(path, null), answers)
  const wal = readFileSync(`${path}-wal`)
  const found = async ({ bytes, commits }: Cut): Promise<string> => {
    const copy = join(folder.path, `${bytes}.db`)
    copyFileSync(path, copy)
    writeFileSync(`${copy}-wal`, wal.subarray(0, bytes))
    // Whoever comes next makes the tables, if there are none.
    await (await playerOn(copy)).store.close()
    assert.deepEqual(complaintsAbout(copy), [], `after ${commits} commits, cut to ${bytes} bytes`)
    return textOf(copy)
  }
  const { between, within } = cutsOf(wal)
  const tried = within.filter((_, i) => i % stride === 0)
  const cuts = between.length + tried.length
  const after: string[] = []
  for (const [i, cut] of between.entries()) {
    cutting(i, cuts)
    after.push(await found(cut))
  }
  // The first commit makes the tables; some others change nothing.
  assert.deepEqual(withoutRepeats(after), withoutRepeats(contents))
  for (const [i, cut] of tried.entries()) {
    cutting(between.length + i, cuts)
    assert.equal(await found(cut), after[cut.commits], `within commit ${cut.commits + 1}, cut to ${cut.bytes} bytes`)
  }
  folder.remove()
  return cuts
}

const withoutRepeats = (texts: readonly string[]): string[] => texts.filter((text, i) => text !== texts[i - 1])
