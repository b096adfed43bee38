/** Runs a TypeScript file as a user's process would run, on our sources, in a folder of its own. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface ScriptRun {
  exitCode: number | null
  stdout: string
  stderr: string
}

const scriptMsMax = 30_000

/** Never rejects for what the script does: a failure is an exit code, a script that was stopped has none. */
export async function runScript(path: string): Promise<ScriptRun> {
  const folder = await mkdtemp(join(tmpdir(), 'jobchart-'))
  try {
    return await new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        ['--conditions=@jobchart/source', path],
        // Only what any process has: a test runner's own variables must not change what an example does.
        { cwd: folder, timeout: scriptMsMax, killSignal: 'SIGKILL', env: { PATH: process.env['PATH'], NO_COLOR: '1' } },
        (_error, stdout, stderr) => resolve({ exitCode: child.exitCode, stdout, stderr }),
      )
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
