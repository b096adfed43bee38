/**
 * A disk without room. The room is taken in two ways: by a limit on the size of files, which any user may set on a
 * process of his own, and by a small filesystem, where this process may mount one.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkHistory, type HistoryLine } from 'jobchart/store-testing'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startChild, type Child } from '../harness/processes.ts'
import { complaintsAbout } from './sqlite/consistency.ts'
import type { Told } from './sqlite/disk-child.ts'

interface Disk {
  readonly name: string
  /** What SQLite makes of it. */
  readonly says: RegExp
  /** Before anything is written, in the folder. */
  prepare(folder: string, later: (undo: () => void) => void): void
  take(child: Child): void
  free(child: Child, folder: string): void
}

const run = (command: string, ...args: readonly string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

const limited: Disk = {
  name: 'files may not grow beyond 1 MB',
  says: /could not be read or written/,
  prepare() {},
  take: ({ process }) => void run('prlimit', `--pid=${process.pid}`, '--fsize=1000000:'),
  free: ({ process }) => void run('prlimit', `--pid=${process.pid}`, '--fsize=unlimited:'),
}

const small: Disk = {
  name: 'a filesystem of 2 MB',
  says: /has no room: the disk is full/,
  prepare(folder, later) {
    run('mount', '-t', 'tmpfs', '-o', 'size=2m', 'jobchart', folder)
    later(() => void run('umount', '--lazy', folder))
  },
  take() {},
  free: (_child, folder) => void run('mount', '-o', 'remount,size=64m', folder),
}

function mayMount(): boolean {
  const folder = temporaryFolder()
  try {
    run('mount', '-t', 'tmpfs', '-o', 'size=1m', 'jobchart', folder.path)
    run('umount', folder.path)
    return true
  } catch {
    return false
  } finally {
    folder.remove()
  }
}

const disks = mayMount() ? [limited, small] : [limited]

test.concurrent.for(disks)(
  '$name: nothing is acknowledged that is not kept, and work goes on when there is room',
  async (disk, { onTestFinished }) => {
    const outer = temporaryFolder()
    onTestFinished(() => outer.remove())
    const folder = join(outer.path, 'disk')
    mkdirSync(folder)
    disk.prepare(folder, onTestFinished)
    const path = join(folder, 'jobs.db')
    const child = startChild(new URL('sqlite/disk-child.ts', import.meta.url), path)
    onTestFinished(() => void child.process.kill('SIGKILL'))
    const lines: HistoryLine[] = []
    const next = async <K extends Told['kind']>(kind: K): Promise<Told & { kind: K }> => {
      for (;;) {
        const told = (await child.heard()) as Told
        if (told.kind === 'line') lines.push(told.line)
        else if (told.kind === kind) return told as Told & { kind: K }
      }
    }
    await next('ready')
    disk.take(child)
    child.tell('go')
    const { acknowledged, refusals, trouble, logged } = await next('full')
    expect(acknowledged.length).toBeGreaterThan(10)
    for (const refusal of refusals) {
      expect(refusal).toEqual({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(disk.says),
        hint: expect.stringMatching(/disk|space/),
      })
    }
    expect(trouble).toMatch(disk.says)
    expect(logged).toContain('a claim failed; it is repeated until the store answers')
    const startsUntilFull = lines.filter((line) => line.op === 'run' && 'invoke' in line).length
    // What waits now waits for room.
    expect(startsUntilFull).toBeLessThan(acknowledged.length)

    disk.free(child, folder)
    child.tell('freed')
    const { final } = await next('over')
    await child.ended()
    const done = final.records.filter(({ state }) => state === 'done').map(({ id }) => id)
    expect(done).toEqual(expect.arrayContaining([...acknowledged, 'last']))
    expect(done.length).toBe(acknowledged.length + 1)
    const starts = lines.flatMap((line) => (line.op === 'run' && 'invoke' in line ? [line.invoke.id] : []))
    expect(starts.toSorted(), 'each ran once').toEqual(done.toSorted())
    expect(checkHistory(lines, { final }).violations).toEqual([])
    expect(complaintsAbout(path)).toEqual([])
  },
)
