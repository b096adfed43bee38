/** The main job as its users run it: a process of its own, on a folder whose contents are known. */
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, watch } from 'node:fs'
import { mkdir, truncate, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { runProgram, type ProgramRun } from '../harness/processes.ts'
import { repositoryRoot } from '../support/tidy/repository.ts'

const program = join(repositoryRoot, 'examples/main-job/main.ts')

/** Calls the program in `folder`; `meanwhile` sees it as it goes on. */
export async function runIn(
  folder: string,
  args: readonly string[],
  meanwhile: (child: ChildProcess) => void = () => {},
): Promise<ProgramRun> {
  return runProgram(program, args, { folder, meanwhile })
}

/** Calls back at each line of progress. */
export function onProgress(child: ChildProcess, told: (line: string) => void): void {
  child.stderr?.on('data', (text: string) => {
    if (text.includes(' queued ')) told(text)
  })
}

export async function write(path: string, content: string | Buffer): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, content)
}

/** A file that is as large as it says and as empty as it looks. */
export async function hole(path: string, bytes: number): Promise<void> {
  await write(path, '')
  await truncate(path, bytes)
}

/** The cells of the line that begins with these words. */
export function row(stdout: string, ...words: readonly string[]): string[] | undefined {
  const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/))
  return rows.find((cells) => words.every((word, i) => cells[i] === word))
}

/** The figures of all jobs together. */
export function total(stdout: string) {
  const [, jobs = NaN, done = NaN, dead = NaN, retries = NaN] = (row(stdout, 'all') ?? []).map((cell) =>
    Number(cell.replaceAll(',', '')),
  )
  return { jobs, done, dead, retries }
}

/**
 * What the program has written with `--ledger`: how often each piece of work was started and ended, by type and file.
 */
export class Ledger {
  readonly path: string
  private readonly folder: string

  constructor(folder: string) {
    this.folder = folder
    this.path = join(folder, 'ledger')
  }

  count(what: 'start' | 'end'): Map<string, number> {
    const counts = new Map<string, number>()
    for (const line of existsSync(this.path) ? readFileSync(this.path, 'utf8').split('\n') : []) {
      const [event, type = '', , path = ''] = line.split('\t')
      if (event !== what) continue
      const work = this.work(type, path)
      counts.set(work, (counts.get(work) ?? 0) + 1)
    }
    return counts
  }

  work(type: string, path: string): string {
    return `${type} ${relative(this.folder, path)}`
  }

  /** Calls back once, when so many pieces of work have ended. */
  async whenEnded(count: number, told: () => void): Promise<void> {
    await writeFile(this.path, '')
    const watcher = watch(this.path, () => {
      if (this.count('end').size < count) return
      watcher.close()
      told()
    })
  }
}
