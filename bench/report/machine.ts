/** Where the figures come from: without it they mean nothing. */
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'

export interface Machine {
  readonly node: string
  readonly platform: string
  readonly cores: number
  readonly cpu: string
  readonly memoryMb: number
  /** Of the last minute, before the first measurement. */
  readonly load: number
}

export const machine = (): Machine => ({
  node: process.version,
  platform: `${process.platform}-${process.arch}`,
  cores: availableParallelism(),
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  memoryMb: Math.round(totalmem() / 2 ** 20),
  load: loadavg()[0] ?? 0,
})

export const machineLine = ({ node, platform, cores, cpu, memoryMb, load }: Machine): string =>
  `Node ${node}, ${platform}, ${cores} cores (${cpu}), ${memoryMb} MB, load ${load.toFixed(1)}`
