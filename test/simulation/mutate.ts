/** Lets a mutant live: makes the mistake in a copy of the sources, and runs the simulation there. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Mutant } from './mutants.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

const lifeMsMax = 600_000

export interface Sighting {
  /** Was a promise broken? */
  readonly caught: boolean
  readonly output: string
}

/** A copy of the sources, to make mistakes in. */
export class Copy {
  private readonly folder = mkdtempSync(join(tmpdir(), 'jobchart-mutants-'))
  /** Most of the sources are the same for all: they are compiled once. */
  private readonly cache = join(this.folder, 'cache')

  constructor() {
    for (const part of ['src', 'machines', 'test/simulation', 'package.json']) {
      cpSync(join(root, part), join(this.folder, part), { recursive: true })
    }
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'))
  }

  /**
   * Simulates with one mistake, until a promise is broken.
   * @throws TypeError if the sources no longer say what is right exactly once
   */
  async simulate({ name, file, right, wrong }: Mutant, args: readonly string[]): Promise<Sighting> {
    const path = join(this.folder, file)
    const source = readFileSync(path, 'utf8')
    if (source.split(right).length !== 2) throw new TypeError(`${name}: ${file} does not say once: ${right}`)
    writeFileSync(
      path,
      source.replace(right, () => wrong),
    )
    try {
      return await this.run(args)
    } finally {
      writeFileSync(path, source)
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true })
  }

  private run(args: readonly string[]): Promise<Sighting> {
    const command = ['--conditions=@jobchart/source', 'test/simulation/main.ts', '--first', ...args]
    return new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        command,
        { cwd: this.folder, timeout: lifeMsMax, env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: this.cache } },
        (_error, stdout, stderr) => resolve({ caught: child.exitCode === 1, output: stdout + stderr }),
      )
    })
  }
}
