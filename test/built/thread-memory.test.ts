/** What becomes of a process one of whose threads needs more memory than it may have. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { plainEnvironment } from '../support/plain-environment.ts'

const program = fileURLToPath(new URL('thread-memory/fill-process.mjs', import.meta.url))

const fill = (what: string) =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, [program, what], { env: plainEnvironment }, (_, stdout) =>
      resolve({ stdout, exitCode: child.exitCode, signal: child.signalCode }),
    )
  })
const failed = { stdout: 'THREAD_FAILED\n', exitCode: 0, signal: null }

test('a process that has nothing else to do waits for the end of a thread that has a job', async () => {
  expect(await fill('objects')).toEqual(failed)
})

test('a handler that keeps all that it parses ends its thread, and not the process', async () => {
  expect(await fill('parsed')).toEqual(failed)
})
