/** `npm run examples`: every numbered example in order, each under its name. */
import { readExamples } from './examples.ts'
import { runScript } from './run-script.ts'

for (const { name, path } of readExamples()) {
  console.log(`── ${name} ${'─'.repeat(Math.max(0, 76 - name.length))}`)
  const { exitCode, stdout, stderr } = await runScript(path)
  console.log(`${stdout}${stderr}`)
  if (exitCode !== 0) process.exitCode = 1
}
