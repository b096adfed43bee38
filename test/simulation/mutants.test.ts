/** The engine with one fault at a time: the simulation must notice. */
import { expect, test } from 'vitest'
import { runProgram } from '../harness/processes.ts'
import { mutants } from './mutants.ts'

const main = new URL('main.ts', import.meta.url)

test('every fault of the engine is noticed', async () => {
  const { exitCode, stdout, stderr } = await runProgram(main, ['--mutants'])
  const lines = stdout.trimEnd().split('\n')
  expect(
    lines.filter((line) => line.startsWith('NOT NOTICED')),
    stderr,
  ).toEqual([])
  expect(lines.at(-1)).toBe(`${mutants.length} of ${mutants.length} mutants noticed`)
  expect(exitCode).toBe(0)
})
