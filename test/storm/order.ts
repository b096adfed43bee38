/** `npm run storm:order`: kills processes of examples/order at random instants. Ends with 1 if a promise was broken. */
import { parseArgs } from 'node:util'
import { stormOrders } from './order/storm.ts'
import { Progress } from './report.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    workers: { type: 'string', default: '4' },
    seed: { type: 'string', default: `${Math.floor(Math.random() * 2 ** 32)}` },
    lease: { type: 'string', default: '2000' },
  },
})
const options = {
  kills: Number(values.kills),
  workers: Number(values.workers),
  ordersPerWave: 250,
  seed: Number(values.seed),
  leaseMs: Number(values.lease),
}
const progress = new Progress()
const { promises, broken, figures, folder } = await stormOrders(options, (line) => progress.say(line))
progress.end()
const width = Math.max(...promises.map(([, says]) => says.length))
for (const [name, says, times] of promises) {
  console.log(`  ${name.padEnd(7)} ${says.padEnd(width)}  ${times === 0 ? 'holds' : `BROKEN ${times}×`}`)
}
const { orders, durationMs, waves, killed, started, attempts, rescues, effects, again, timers, pauses } = figures
const [median, p99, max] = figures.lateMs
console.log(`
  orders ${orders} in ${(durationMs / 1_000).toFixed(1)} s, in ${waves} waves; processes ${started}: killed ${killed}
  attempts ${attempts}, of them rescued ${rescues}; effects ${effects}, begun again ${again}
  timers ${timers}, late by ${median} ms (median), ${p99} ms (99 of 100), ${max} ms (the last), of ${Math.round(figures.lateMsMax)} ms
  no process that had done anything: ${Math.round(figures.unattendedMs)} ms at the longest; the machine paused ${pauses}×
`)
for (const { promise, message, evidence } of broken.slice(0, 20)) {
  console.log([`${promise}: ${message}`, ...evidence.slice(0, 30).map((each) => `    ${each}`)].join('\n'))
}
console.log(
  broken.length === 0 ? `Every promise was kept. Seed ${options.seed}.` : `PROMISES WERE BROKEN. All is in ${folder}`,
)
if (broken.length > 0) process.exitCode = 1
