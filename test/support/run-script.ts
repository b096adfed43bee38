/** Runs a TypeScript file as a user's process would run, on our sources, in a folder of its own. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { plainEnvironment } from './plain-environment.ts'

export interface ScriptRun {
  exitCode: number | null
  stdout: string
  stderr: string
}

/** A script that hangs ends before its test does: see `testTimeout` in vitest.config.ts. */
const scriptMsMax = 580_000

/** Never rejects for what the script does: a failure is an exit code, a script that was stopped has none. */
export async function runScript(path: string, args: readonly string[] = []): Promise<ScriptRun> {
  const folder = await mkdtemp(join(tmpdir(), 'jobchart-'))
  try {
    return await new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        ['--conditions=@jobchart/source', path, ...args],
        { cwd: folder, timeout: scriptMsMax, killSignal: 'SIGKILL', env: { ...plainEnvironment, NO_COLOR: '1' } },
        (_error, stdout, stderr) => resolve({ exitCode: child.exitCode, stdout, stderr }),
      )
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
