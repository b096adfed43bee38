/**
 * Processes of the example on one file and one ledger, killed at random instants and started again. Orders come in
 * waves: a wave is over when a process of the example says that all have ended, and then more are ordered.
 */
import type { ChildProcess } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom } from 'jobchart/testing'
import { forkProgram } from '../../harness/processes.ts'
import { plainEnvironment } from '../../support/plain-environment.ts'
import { pulse } from '../../harness/pulse.ts'
import { LedgerTail } from './ledger.ts'
import { sleep } from '../../harness/sleep.ts'

export interface OrderOptions {
  readonly kills: number
  readonly workers: number
  /** Ordered beside those that were, once they have ended. */
  readonly ordersPerWave: number
  readonly seed: number
  readonly leaseMs: number
}

/** A wave in which nothing is written for so long does not get on. */
const silenceMsMax = 60_000
/**
 * A process that has written for so long, and not longer ago, is at work: to kill one that is starting or waits proves
 * little.
 */
const atWorkMs = 300

export class Crowd {
  killed = 0
  started = 0
  waves = 0
  orders = 0
  /** How often this process itself got nothing done for half a lease. */
  pauses = 0
  /** The longest time in which no process lived that had done anything. */
  unattendedMs = 0
  /** When processes were killed, ms since the epoch. */
  readonly killedAt: number[] = []
  readonly problems: string[] = []
  private readonly options: OrderOptions
  private readonly folder: string
  private readonly random: () => number
  private readonly alive = new Set<ChildProcess>()
  private readonly ledger: LedgerTail
  private readonly output: number
  private attendedAt = Infinity
  private killAt = 0
  /** Has a process said that all orders of this wave have ended? */
  private isOver = false

  constructor(options: OrderOptions, folder: string) {
    this.options = options
    this.folder = folder
    this.random = seededRandom(options.seed)
    this.ledger = new LedgerTail(join(folder, 'ledger.jsonl'))
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
      for (const child of this.alive) child.kill('SIGKILL')
    }
  }

  /** The lines that processes of the example have printed at their end, each once. */
  lines(): string[] {
    return [...new Set(readFileSync(join(this.folder, 'output.txt'), 'utf8').trim().split('\n'))]
  }

  private async wave(say: (line: string) => void): Promise<void> {
    this.isOver = false
    let wroteAt = performance.now()
    while (!this.isOver || this.alive.size > 0) {
      while (!this.isOver && this.alive.size < this.options.workers) this.start()
      const now = performance.now()
      if (this.ledger.read()) wroteAt = now
      if (now >= this.killAt && this.killed < this.options.kills) {
        if (this.kill()) this.killAt = now + 200 + 300 * this.random()
        say(`wave ${this.waves} · orders ${this.orders} · kills ${this.killed}/${this.options.kills}`)
      }
      if (now > wroteAt + silenceMsMax) {
        this.problems.push(`wave ${this.waves} does not end: nothing was written for ${silenceMsMax} ms`)
        return
      }
      await sleep(20)
    }
  }

  private start(): void {
    const args = ['--db', join(this.folder, 'jobs.db'), '--ledger', join(this.folder, 'ledger.jsonl'), '--work']
    args.push('--orders', `${this.orders}`, '--lease', `${this.options.leaseMs}`)
    const child = forkProgram(new URL('member.ts', import.meta.url), args, {
      env: { ...plainEnvironment, ORDER_HISTORY: join(this.folder, 'history') },
      stdio: ['ignore', this.output, this.output, 'ipc'],
    })
    // A channel would keep it.
    child.disconnect()
    this.started++
    this.alive.add(child)
    child.on('exit', (code, signal) => {
      this.alive.delete(child)
      if (code === 0) this.isOver = true
      else if (signal !== 'SIGKILL') this.problems.push(`a process ended by itself with ${code ?? signal}`)
    })
  }

  /** Kills a process that is at work. False if none is. */
  private kill(): boolean {
    const since = Date.now() - atWorkMs
    const all = [...this.alive].filter(({ pid }) => {
      const writer = this.ledger.writer(pid)
      return writer !== null && writer.firstAt <= since && writer.lastAt > since
    })
    const victim = all[Math.floor(this.random() * all.length)]
    if (victim?.kill('SIGKILL') !== true) return false
    this.killed++
    this.killedAt.push(Date.now())
    return true
  }

  private beat(lateMs: number): void {
    const now = performance.now()
    if (lateMs > this.options.leaseMs / 2) this.pauses++
    const isAttended = [...this.alive].some(({ pid }) => this.ledger.writer(pid) !== null)
    if (isAttended) this.attendedAt = now
    this.unattendedMs = Math.max(this.unattendedMs, now - this.attendedAt)
  }
}
