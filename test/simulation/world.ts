/** A world: its time, a store, the processes that use it, and those who watch whether promises are kept. */
import type { Store } from 'jobchart'
import { checkHistory, finalState, recordingStore, recordRuns, type HistoryLine } from 'jobchart/store-testing'
import { VirtualClock } from 'jobchart/testing'
import { Dice } from './dice.ts'
import { door } from './door.ts'
import { Floor } from './floor.ts'
import { Host } from './host.ts'
import { Ledger } from './ledger.ts'
import { drawPlan, type Plan } from './plan.ts'
import { Process } from './process.ts'
import type { MadeStore, StoreFactory } from './stores.ts'
import { atHand, farAway, onDisk, type Wire } from './wire.ts'

export class World {
  readonly clock = new VirtualClock()
  readonly dice: Dice
  readonly plan: Plan
  /** The machine of the store. */
  readonly storeHost: Host
  readonly ledger: Ledger
  readonly floor: Floor
  /** The store as its operator sees it. */
  readonly store: Store
  readonly processes: Process[] = []
  readonly broken: string[] = []
  readonly seen: Record<string, number> = {}
  /** Do calls still fail? */
  stormy = true
  private readonly dispose: MadeStore['dispose']
  private readonly door: Store
  private opened = 0
  private readonly history: HistoryLine[] = []
  /** Calls that are not answered yet, and whose they are. */
  private readonly open = new Map<symbol, Process>()

  constructor(seed: number, makeStore: StoreFactory) {
    const dice = (this.dice = new Dice(seed))
    this.plan = drawPlan(dice)
    this.storeHost = new Host('store', this.clock)
    const shared = {
      trueNow: () => this.clock.monotonic(),
      broken: (what: string) => this.breaks(what),
      count: (what: string) => this.count(what),
    }
    this.ledger = new Ledger({
      ...shared,
      expired: (lease) => this.floor.expired(lease),
      stepsForgotten: (id) => this.floor.forgetSteps(id),
    })
    this.floor = new Floor({ ...shared, ledger: this.ledger, dice, plan: this.plan })
    const made = makeStore()
    this.dispose = made.dispose
    if (made.settled !== undefined) this.clock.alsoSettle(made.settled)
    this.door = this.counted(door(made, this.ledger))
    this.store = this.recorded(this.door)
  }

  /** Processes that have not come to their end. */
  get living(): Process[] {
    return this.processes.filter(({ over }) => !over)
  }

  /** What is asked by living processes and not answered yet. */
  get unanswered(): string[] {
    return [...this.open].flatMap(([what, { state }]) => (state === 'crashed' ? [] : [what.description ?? '']))
  }

  async begin(): Promise<void> {
    await this.answer(this.store.open({ clock: this.storeHost }))
  }

  /** Waits for an answer; a store may take its time over it. */
  async answer<T>(asked: T | Promise<T>): Promise<T> {
    const now = { answered: false }
    const answer = Promise.resolve(asked).finally(() => (now.answered = true))
    // It is awaited below, and may fail before.
    answer.catch(() => {})
    for (await this.clock.settle(); !now.answered;) await this.clock.advance(1)
    return answer
  }

  async end(): Promise<void> {
    // Who died, or did not hear that the store was open, has never closed it.
    while (this.opened > 0) await this.answer(this.store.close())
    if (this.clock.pending > 0) this.breaks(`${this.clock.pending} timers are left`)
    await this.dispose()
  }

  /** Another process comes up. */
  start(): void {
    const number = this.processes.length
    const host = this.plan.fleet ? new Host(`p.${number}`, this.clock) : this.storeHost
    const wire = this.wire(host)
    const middleware = this.plan.steady ? [recordRuns(this.sink, this.storeHost)] : []
    const store = this.recorded(wire.store)
    const process = new Process(wire, { host, store, floor: this.floor, middleware, dice: this.fork() })
    this.ledger.name(process.worker, `p.${number}`)
    this.processes.push(process)
    this.call('start', process, process.start())
  }

  /** Something was asked: it must be answered, unless whoever asked has died. */
  call(what: string, process: Process, call: Promise<unknown>): void {
    const key = Symbol(what)
    this.open.set(key, process)
    const answered = (how: string): void => {
      this.open.delete(key)
      this.ledger.say(`${process.host.name} answers ${how}`)
      this.count(how)
    }
    call.then(
      () => answered(what),
      (error: Error & { code?: string }) => answered(`${what} ${error.code ?? error.message}`),
    )
  }

  /** A promise was broken. */
  breaks(what: string): void {
    this.broken.push(what)
    this.ledger.say(`BROKEN ${what}`)
  }

  count(what: string): void {
    this.seen[what] = (this.seen[what] ?? 0) + 1
  }

  /** Holds what all processes have seen, each for itself, against what the store promises. */
  async checkHistory(): Promise<void> {
    if (!this.plan.steady) return
    const limits = Object.fromEntries((this.processes[0]?.jobs ?? []).map(({ type, limits }) => [type, limits]))
    const { violations } = checkHistory(this.history, { final: await this.answer(finalState(this.door)), limits })
    for (const { invariant, message } of violations) {
      // A handler that was abandoned may go on beside the next attempt, which a history cannot tell; the floor looks at
      // it.
      if (invariant !== 'I5') this.breaks(`${invariant}: ${message}`)
    }
  }

  private readonly sink = (line: HistoryLine): void => void this.history.push(line)

  private counted(store: Store): Store {
    return {
      ...store,
      open: (host) => {
        this.opened++
        return store.open(host)
      },
      close: () => {
        this.opened--
        return store.close()
      },
    }
  }

  private recorded(store: Store): Store {
    return this.plan.steady ? recordingStore(store, this.sink) : store
  }

  private wire(host: Host): Wire {
    const { door, clock, plan } = this
    const dice = this.fork()
    const weather = this.stormy ? plan : { ...plan, faults: {} }
    if (plan.fleet) return farAway(door, host, clock, dice, weather)
    return plan.far ? onDisk(door, host, clock, dice, weather) : atHand(door, host)
  }

  private fork(): Dice {
    return new Dice(this.dice.below(2 ** 32))
  }
}
