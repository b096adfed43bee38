/** `npm run storm:order`: kills processes of examples/order at random instants. */
import { runCommand } from '../harness/command.ts'
import { seed, whole } from '../harness/options.ts'
import { Progress } from '../harness/progress.ts'
import { reportText, spreadText } from '../harness/report.ts'
import { stormOrders, type OrderVerdict } from './order/storm.ts'

const ordersPerWave = 250

process.exitCode = await runCommand({
  name: 'npm run storm:order --',
  options: {
    kills: whole('SIGKILLs over the run', [1, 100_000], 100),
    workers: whole('processes at once', [1, 64], 4),
    seed: seed(),
    lease: whole('ms', [1_000, 60_000], 2_000),
  },
  async run({ lease: leaseMs, ...options }) {
    const progress = new Progress()
    const storm = stormOrders({ ...options, leaseMs, ordersPerWave }, (line) => progress.say(line))
    const { promises, broken, figures, folder } = await storm.finally(() => progress.end())
    console.log(reportText({ promises, figures: figureRows(figures), broken, seed: options.seed, folder }))
    return broken.length === 0
  },
})

function figureRows(figures: OrderVerdict['figures']): string[] {
  const { orders, durationMs, waves, killed, started, attempts, rescues, effects, again, timers, pauses } = figures
  const { lateMs, lateMsMax, unattendedMs } = figures
  const seconds = (durationMs / 1_000).toFixed(1)
  return [
    `orders ${orders} in ${seconds} s, in ${waves} waves; processes ${started}: killed ${killed}`,
    `attempts ${attempts}, of them rescued ${rescues}; effects ${effects}, begun again ${again}`,
    `timers ${timers}, late by ${spreadText(lateMs)}, of ${Math.round(lateMsMax)} ms`,
    `no process that had done anything: ${Math.round(unattendedMs)} ms at the longest; the machine paused ${pauses}×`,
  ]
}
