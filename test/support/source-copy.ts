/** A copy of the repository in which tests can be run on sources that say something else. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A mistake that somebody could make. */
export interface Mistake {
  readonly name: string
  readonly file: string
  /** What stands there, exactly once. */
  readonly right: string
  readonly wrong: string
}

/** The text of the file with the mistake in it. @throws TypeError if the file does not say once what is right */
export function mistaken({ name, file, right, wrong }: Mistake, folder = root): string {
  const text = readFileSync(join(folder, file), 'utf8')
  if (text.split(right).length !== 2) throw new TypeError(`${name}: ${file} does not say once: ${right}`)
  return text.replace(right, () => wrong)
}

export interface Verdict {
  /** Names of the tests that failed; the first of them, since it stops there. */
  readonly failed: readonly string[]
  readonly seconds: number
}

export class SourceCopy {
  private readonly folder = mkdtempSync(join(tmpdir(), 'jobchart-copy-'))

  constructor() {
    for (const part of ['src', 'machines', 'test', 'package.json', 'tsconfig.json']) {
      cpSync(join(root, part), join(this.folder, part), { recursive: true })
    }
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'))
  }

  /** Runs a test file with a mistake in the sources, or with none. @throws Error if it does not run at all */
  async test(file: string, mistake: Mistake | null): Promise<Verdict> {
    if (mistake === null) return this.run(file)
    const path = join(this.folder, mistake.file)
    const sound = readFileSync(path)
    writeFileSync(path, mistaken(mistake, this.folder))
    try {
      return await this.run(file)
    } finally {
      writeFileSync(path, sound)
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  private run(file: string): Promise<Verdict> {
    const vitest = join(this.folder, 'node_modules/vitest/vitest.mjs')
    const report = join(this.folder, 'report.json')
    rmSync(report, { force: true })
    const how = ['--config', 'test/vitest.config.ts', '--bail', '1', '--reporter', 'json', '--outputFile', report]
    const start = performance.now()
    return new Promise((resolve, reject) => {
      const options = { cwd: this.folder, timeout: 300_000, maxBuffer: 1e8, env: { PATH: process.env['PATH'] } }
      const child = execFile(process.execPath, [vitest, 'run', ...how, file], options, (_error, stdout, stderr) => {
        try {
          const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report
          const failed = testResults.flatMap(({ status, message, assertionResults }) => {
            const names = assertionResults.filter((each) => each.status === 'failed').map(({ fullName }) => fullName)
            // A file that fails before its tests have a name.
            return status === 'failed' && names.length === 0 ? [message.split('\n')[0] ?? 'the file'] : names
          })
          // What is thrown outside of all tests fails the run, and none of them.
          if (child.exitCode !== 0 && failed.length === 0) failed.push('an error that no test has caught')
          resolve({ failed, seconds: (performance.now() - start) / 1_000 })
        } catch (cause) {
          reject(new Error(`${file} did not run: ${stderr}\n${stdout.slice(0, 2_000)}`, { cause }))
        }
      })
    })
  }
}

/** What vitest's JSON reporter tells. */
interface Report {
  readonly testResults: readonly {
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}
