/** How busy the machine is with other work, before a measurement begins. */
import { cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

/** Long enough for the system's clock, which counts in hundredths of a second. */
const watchedMs = 250

interface Spent {
  readonly idle: number
  readonly all: number
}

function spent(): Spent {
  const times = cpus().map((cpu) => cpu.times)
  return {
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    all: times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0),
  }
}

/** The share of all processors that is in use, 0 to 1, watched for a quarter of a second. */
export async function busyShare(): Promise<number> {
  const before = spent()
  await pause(watchedMs)
  const after = spent()
  const all = after.all - before.all
  return all === 0 ? 0 : 1 - (after.idle - before.idle) / all
}
