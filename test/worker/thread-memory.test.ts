/** What becomes of a process one of whose threads needs more memory than it may have. */
import { expect, test } from 'vitest'
import { runProgram } from '../harness/processes.ts'

const program = new URL('thread-memory/fill-process.ts', import.meta.url)
const failed = { stdout: 'THREAD_FAILED\n', exitCode: 0, signal: null }

test('a process that has nothing else to do waits for the end of a thread that has a job', async () => {
  expect(await runProgram(program, ['objects'])).toMatchObject(failed)
})

test('a handler that keeps all that it parses ends its thread, and not the process', async () => {
  expect(await runProgram(program, ['parsed'])).toMatchObject(failed)
})
