/** A process with one runtime: its host, its way to the store, and the jobs it knows. */
import { createRuntime, type Logger, type Middleware, type Runtime, type Store } from 'jobchart'
import type { Dice } from './dice.ts'
import type { Floor, SimulatedJob, Workplace } from './floor.ts'
import type { Host } from './host.ts'
import type { Wire } from './wire.ts'

const slotsMax = 3
const selections = ['weighted', 'random', 'strict'] as const
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** What its life has come to. */
export type ProcessState = 'starting' | 'up' | 'stopping' | 'stopped' | 'failed' | 'crashed'

export interface ProcessOptions {
  readonly host: Host
  /** The store at the end of its wire. */
  readonly store: Store
  readonly floor: Floor
  readonly middleware: readonly Middleware[]
  readonly dice: Dice
}

export class Process implements Workplace {
  readonly host: Host
  readonly runtime: Runtime
  readonly jobs: readonly SimulatedJob[]
  readonly wire: Wire
  state: ProcessState = 'starting'
  readonly pauses = new Map<string, number>()

  constructor(wire: Wire, { host, store, floor, middleware, dice }: ProcessOptions) {
    this.host = host
    this.wire = wire
    this.jobs = floor.jobs(() => this)
    this.runtime = createRuntime({
      jobs: this.jobs,
      store,
      clock: host,
      random: dice.random,
      selection: dice.pick(selections),
      concurrency: slotsMax,
      middleware,
      lease: '5s',
      grace: '1s',
      logger: silent,
    })
  }

  get worker(): string {
    return this.runtime.id
  }

  get slots(): number {
    return this.runtime.concurrency
  }

  get closed(): string | null {
    const { state } = this.runtime
    return state === 'paused' || state === 'stopping' || state === 'stopped' ? state : null
  }

  /** Can anything be asked of it now? */
  get answers(): boolean {
    return this.host.awake && (this.state === 'starting' || this.state === 'up')
  }

  get over(): boolean {
    return this.state === 'stopped' || this.state === 'failed' || this.state === 'crashed'
  }

  async start(): Promise<void> {
    try {
      await this.runtime.start()
      if (this.state === 'starting') this.state = 'up'
    } catch (error) {
      if (this.state === 'starting') this.state = 'failed'
      await this.runtime.stop()
      throw error
    }
  }

  resize(dice: Dice): void {
    this.runtime.concurrency = 1 + dice.below(slotsMax)
  }

  crash(): void {
    if (this.over) return
    this.state = 'crashed'
    this.host.die()
    this.wire.cut()
  }
}
