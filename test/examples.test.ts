import { expect, test } from 'vitest'
import { promisedOutput, readExamples } from './support/examples.ts'
import { runProgram } from './harness/processes.ts'

const lineCountMax = 60
const examples = readExamples()

test('there is an example to start from', () => {
  expect(examples).not.toEqual([])
})

test('what an example promises is read from its header', () => {
  expect(promisedOutput('// Title\n//\n// prints:\n//   one\n//     two\n//\n//   three\n\nrun()\n')).toBe(
    'one\n  two\n\nthree',
  )
  expect(promisedOutput('// prints: one\n')).toBeNull()
})

test.each(examples)('$name prints what its header says, in sixty lines at most', async (example) => {
  expect(example.lineCount).toBeLessThanOrEqual(lineCountMax)
  expect(example.prints, 'the header has a line `// prints:`, followed by the output').not.toBeNull()
  const { exitCode, stdout, stderr } = await runProgram(example.path)
  expect({ stdout: stdout.trimEnd(), stderr, exitCode }).toEqual({ stdout: example.prints, stderr: '', exitCode: 0 })
})
