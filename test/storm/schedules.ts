/** `npm run storm:schedules`: processes that fire the same schedules, and are killed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../harness/command.ts'
import { choice, seed, whole } from '../harness/options.ts'
import { reportText, spreadText } from '../harness/report.ts'
import { stormSchedules } from './schedules/storm.ts'
import { stores } from './stores.ts'

process.exitCode = await runCommand({
  name: 'npm run storm:schedules --',
  options: {
    store: choice('the store', Object.keys(stores), 'sqlite'),
    processes: whole('processes at once', [1, 64], 8),
    seconds: whole('how long they fire', [1, 86_400], 60),
    killEvery: whole('seconds from kill to kill, 0: nobody is killed', [0, 86_400], 5),
    seed: seed(),
  },
  async run({ killEvery: killEverySeconds, ...options }) {
    const folder = mkdtempSync(join(tmpdir(), 'jobchart-'))
    const { promises, broken, ...report } = await stormSchedules({ ...options, folder, killEverySeconds })
    const figures = [
      `ticks ${JSON.stringify(report.ticks)}, runs ${report.runs}, processes killed ${report.killed}`,
      `from the tick to its job: ${spreadText(report.lateMs)}`,
    ]
    console.log(reportText({ promises, figures, broken, seed: options.seed, folder }))
    if (broken.length === 0) rmSync(folder, { recursive: true, force: true })
    return broken.length === 0
  },
})
