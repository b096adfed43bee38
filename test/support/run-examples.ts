/** `npm run examples`: every numbered example in order, each under its name. */
import { readExamples } from './examples.ts'
import { runProgram } from '../harness/processes.ts'

for (const { name, path } of readExamples()) {
  console.log(`── ${name} ${'─'.repeat(Math.max(0, 76 - name.length))}`)
  const { exitCode, stdout, stderr } = await runProgram(path)
  console.log(`${stdout}${stderr}`)
  if (exitCode !== 0) process.exitCode = 1
}
