/**
 * A process on a machine of its own. Its wall clock may be set wrong; it may be frozen, fall asleep with its machine,
 * and die without a word. Whatever reaches it (its timers, the answers to its calls) comes through `enter`.
 */
import type { Clock, Timer } from 'jobchart'
import type { VirtualClock } from 'jobchart/testing'

interface Alarm {
  /** By the host's monotonic clock, which stands still while the machine sleeps. */
  readonly at: number
  readonly ring: () => void
  readonly keepAlive: boolean
  armed: Timer
}

export class Host implements Clock {
  readonly name: string
  private readonly world: VirtualClock
  private state: 'awake' | 'frozen' | 'asleep' | 'thawing' | 'dead' = 'awake'
  /** What has arrived while it could not look. */
  private held: (() => void)[] = []
  private readonly alarms = new Set<Alarm>()
  private wallOffsetMs = 0
  private wallOffsetMsMax = 0
  private sleptMs = 0
  private wokenAt = -Infinity
  private asleepSince = 0

  constructor(name: string, world: VirtualClock) {
    this.name = name
    this.world = world
  }

  get awake(): boolean {
    return this.state === 'awake'
  }

  /** For how long it has been awake, ms of true time. */
  get awakeMs(): number {
    return this.awake ? this.world.monotonic() - this.wokenAt : 0
  }

  get dead(): boolean {
    return this.state === 'dead'
  }

  /** Timers that are set. */
  get pending(): number {
    return this.alarms.size
  }

  now(): number {
    return this.world.now() + this.wallOffsetMs
  }

  monotonic(): number {
    const world = this.state === 'asleep' ? this.asleepSince : this.world.monotonic()
    return world - this.sleptMs
  }

  boot(): number {
    return this.world.monotonic()
  }

  timer(run: () => void, delayMs: number, { keepAlive }: { readonly keepAlive: boolean }): Timer {
    const at = this.monotonic() + Math.max(0, delayMs)
    const ring = (): void =>
      this.enter(() => {
        // It may have been cancelled after it rang at a closed door.
        if (this.alarms.delete(alarm)) run()
      })
    const alarm: Alarm = { at, ring, keepAlive, armed: this.world.timer(ring, delayMs, { keepAlive }) }
    if (!this.dead) this.alarms.add(alarm)
    else alarm.armed.cancel()
    return {
      cancel: () => {
        this.alarms.delete(alarm)
        alarm.armed.cancel()
      },
    }
  }

  nextTurn(run: () => void): void {
    this.world.nextTurn(() => this.enter(run))
  }

  /** Runs what has arrived: now, when it is awake again, or never. */
  enter(run: () => void): void {
    if (this.dead) return
    if (this.awake) run()
    else this.held.push(run)
  }

  /** Sleeps as a handler does. Rejects with the signal's reason if it aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const aborted = (): void => {
        timer.cancel()
        reject(signal?.reason as Error)
      }
      const rung = (): void => {
        signal?.removeEventListener('abort', aborted)
        resolve()
      }
      const timer = this.timer(rung, delayMs, { keepAlive: true })
      signal?.addEventListener('abort', aborted, { once: true })
    })
  }

  /** Sets the wall clock forward or back; nothing notices. */
  jump(ms: number): void {
    this.wallOffsetMs += ms
    this.wallOffsetMsMax = Math.max(this.wallOffsetMsMax, this.wallOffsetMs)
  }

  /**
   * Sets the wall clock to the latest it has ever shown: no time that was set by it lies further ahead than was meant.
   */
  catchUp(): void {
    this.wallOffsetMs = this.wallOffsetMsMax
  }

  /** SIGSTOP, a long collection of garbage, a blocked loop: its clocks go on, nothing else does. */
  freeze(): void {
    if (this.awake) this.state = 'frozen'
  }

  /** The lid is closed: its monotonic clock and its timers stand still, too. */
  fallAsleep(): void {
    if (!this.awake) return
    this.asleepSince = this.world.monotonic()
    this.state = 'asleep'
    for (const { armed } of this.alarms) armed.cancel()
  }

  /** Goes on, with what was held first, one turn each. */
  thaw(): void {
    if (this.state === 'asleep') {
      const monotonic = this.monotonic()
      this.sleptMs += this.world.monotonic() - this.asleepSince
      for (const alarm of this.alarms) {
        const { at, ring, keepAlive } = alarm
        alarm.armed = this.world.timer(ring, at - monotonic, { keepAlive })
      }
    } else if (this.state !== 'frozen') return
    this.state = 'thawing'
    const next = (): void => {
      if (this.dead) return
      const run = this.held.shift()
      if (run === undefined) {
        this.state = 'awake'
        this.wokenAt = this.world.monotonic()
        return
      }
      run()
      this.world.timer(next, 0, { keepAlive: true })
    }
    next()
  }

  /** Power off: its handlers never end, its timers never fire, its calls are never made. */
  die(): void {
    this.state = 'dead'
    this.held = []
    for (const { armed } of this.alarms) armed.cancel()
    this.alarms.clear()
  }
}
