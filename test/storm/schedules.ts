/**
 * `npm run storm:schedules`: processes that fire the same schedules, and are killed. Ends with 1 if a tick was lost or
 * fired twice.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { stormSchedules } from './schedules/storm.ts'
import { stores } from './stores.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    processes: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '60' },
    killEvery: { type: 'string', default: '5' },
    seed: { type: 'string', default: `${Math.floor(Math.random() * 2 ** 32)}` },
  },
})
if (!Object.hasOwn(stores, values.store)) throw new TypeError(`--store is ${Object.keys(stores).join(' or ')}`)
const folder = mkdtempSync(join(tmpdir(), 'jobchart-'))
const seed = Number(values.seed)
const { ticks, killed, runs, lateMs, faults } = await stormSchedules({
  store: values.store,
  folder,
  processes: Number(values.processes),
  seconds: Number(values.seconds),
  killEverySeconds: Number(values.killEvery),
  seed,
})
console.log(`ticks ${JSON.stringify(ticks)}, runs ${runs}, processes killed ${killed}`)
console.log(`from the tick to its job: ${lateMs[0]} ms (median), ${lateMs[1]} ms (the last)`)
for (const fault of faults.slice(0, 20)) console.log(fault)
console.log(
  faults.length === 0 ? `Each tick made one job. Seed ${seed}.` : `TICKS WERE LOST OR REPEATED. All is in ${folder}`,
)
if (faults.length === 0) rmSync(folder, { recursive: true, force: true })
else process.exitCode = 1
