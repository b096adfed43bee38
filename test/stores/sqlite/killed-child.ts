/**
 * Plays the script on a file, tells of each answer as soon as it has it, and dies at a point: `path point`, or at the
 * end: `path null`.
 */
import { writeSync } from 'node:fs'
import { playerOn, script } from './script.ts'

const [path = '', fatal] = process.argv.slice(2)
let point = 0

const { play } = await playerOn(path, () => {
  if (point++ === Number(fatal)) process.kill(process.pid, 'SIGKILL')
})
for (const index of script.keys()) {
  const answer = await play(index)
  // With the system when the call returns, whatever becomes of this process.
  writeSync(1, `${JSON.stringify(answer)}\n`)
}
// Let go of nothing: what the last step left behind is looked at too.
process.kill(process.pid, 'SIGKILL')
