/**
 * Processes of the example on one file and one ledger, killed at random instants and started again. Orders come in waves:
 * a wave is over when a process of the example says that all have ended, and then more are ordered.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { seededRandom } from 'jobchart/testing'
import { pulse } from '../pulse.ts'
import { sleep } from '../jobs.ts'

export interface OrderOptions {
  readonly kills: number
  readonly workers: number
  /** Ordered beside those that were, once they have ended. */
  readonly ordersPerWave: number
  readonly seed: number
  readonly leaseMs: number
}

/** Of a wave, before it does not get on. */
const waveMsMax = 60_000
/** A process that has lived so long does its work. */
const attendedMs = 1_000
/** One that has lived for less has hardly begun: to kill it proves little. */
const victimMs = 500

const example = fileURLToPath(new URL('../../../examples/order/main.ts', import.meta.url))
const record = new URL('record.ts', import.meta.url).href

export class Crowd {
  killed = 0
  started = 0
  waves = 0
  orders = 0
  /** How often this process itself got nothing done for half a lease. */
  pauses = 0
  /** The longest time in which no process lived that had lived for a second. */
  unattendedMs = 0
  readonly problems: string[] = []
  private readonly options: OrderOptions
  private readonly folder: string
  private readonly random: () => number
  private readonly alive = new Map<ChildProcess, number>()
  private readonly output: number
  private attendedAt = Infinity
  private killAt = 0
  /** Has a process said that all orders of this wave have ended? */
  private isOver = false

  constructor(options: OrderOptions, folder: string) {
    this.options = options
    this.folder = folder
    this.random = seededRandom(options.seed)
    this.output = openSync(join(folder, 'output.txt'), 'a')
  }

  /** Until everybody was killed who was to be, and all that was ordered has ended. */
  async rage(say: (line: string) => void): Promise<void> {
    const beat = pulse((lateMs) => this.beat(lateMs))
    try {
      while (this.killed < this.options.kills && this.problems.length === 0) {
        this.waves++
        this.orders += this.options.ordersPerWave
        await this.wave(say)
      }
    } finally {
      clearInterval(beat)
      for (const child of this.alive.keys()) child.kill('SIGKILL')
    }
  }

  /** The lines that processes of the example have printed at their end, each once. */
  lines(): string[] {
    return [...new Set(readFileSync(join(this.folder, 'output.txt'), 'utf8').trim().split('\n'))]
  }

  private async wave(say: (line: string) => void): Promise<void> {
    this.isOver = false
    const startedAt = performance.now()
    while (!this.isOver || this.alive.size > 0) {
      while (!this.isOver && this.alive.size < this.options.workers) this.start()
      const now = performance.now()
      if (now >= this.killAt && this.killed < this.options.kills) {
        if (this.kill()) this.killAt = now + 200 + 300 * this.random()
        say(`wave ${this.waves} · orders ${this.orders} · kills ${this.killed}/${this.options.kills}`)
      }
      if (now > startedAt + waveMsMax) {
        this.problems.push(`wave ${this.waves} does not end`)
        return
      }
      await sleep(20)
    }
  }

  private start(): void {
    const args = ['--db', join(this.folder, 'jobs.db'), '--ledger', join(this.folder, 'ledger.jsonl'), '--work']
    args.push('--orders', `${this.orders}`, '--lease', `${this.options.leaseMs}`)
    const child = spawn(process.execPath, ['--conditions=@jobchart/source', `--import=${record}`, example, ...args], {
      env: { PATH: process.env['PATH'], ORDER_HISTORY: join(this.folder, 'history') },
      stdio: ['ignore', this.output, this.output],
    })
    this.started++
    this.alive.set(child, performance.now())
    child.on('exit', (code, signal) => {
      this.alive.delete(child)
      if (code === 0) this.isOver = true
      else if (signal !== 'SIGKILL') this.problems.push(`a process ended by itself with ${code ?? signal}`)
    })
  }

  /** False if nobody is there to be killed. */
  private kill(): boolean {
    const now = performance.now()
    const all = [...this.alive].filter(([, since]) => since < now - victimMs)
    const [victim] = all[Math.floor(this.random() * all.length)] ?? []
    if (victim?.kill('SIGKILL') !== true) return false
    this.killed++
    return true
  }

  private beat(lateMs: number): void {
    const now = performance.now()
    if (lateMs > this.options.leaseMs / 2) this.pauses++
    if ([...this.alive.values()].some((since) => since < now - attendedMs)) this.attendedAt = now
    this.unattendedMs = Math.max(this.unattendedMs, now - this.attendedAt)
  }
}
