/**
 * The processes of a storm, as seen from outside: each has a place, and whoever dies in it is followed by another. Says
 * how each ended, and what should not have been.
 */
import type { ChildProcess } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkProgram } from '../harness/processes.ts'
import type { Witness } from './back.ts'
import { sleep } from '../harness/sleep.ts'
import { pulse } from '../harness/pulse.ts'
import { emptyTally } from './tally.ts'
import { tasksOf } from './plan.ts'
import { graceMs, unavailableCode, type Assignment, type Order, type Told } from './member.ts'

export type Role = 'worker' | 'producer'

/** What a SIGTERM may take beyond the grace. */
const stopSlackMs = 1_000
/** A worker that has lived so long has looked for what others have left. */
const attendedMs = 1_000
/** What the start of a process may take on a busy computer, and how often it is looked at. */
const startMs = 15_000
const startLookMs = 20
/** How long the last processes may take to end, before they are made to. */
const endMs = 20_000

interface Process {
  readonly child: ChildProcess
  readonly name: string
  /** Its runtime's id, once it works. */
  id: string | null
  /** Of a worker; performance.now(). */
  readyAt: number
  killed: boolean
  stopped: boolean
  readonly isRemote: boolean
  /** Is it remote, or was it ever stopped or blocked? Then its leases may have run out. */
  disturbed: boolean
  /** Its event loop is blocked until then; performance.now(). */
  blockedUntil: number
  terminatedAt: number | null
  /** How late this process had been in all by then, ms. */
  lateMsBefore: number
  /** How long it has been ready to run without a core: by the time of its SIGTERM, and when it was looked at last. */
  coreWait: { beforeMs: number; ms: number }
  /** That it was there when the server of the store was back, the last time. */
  witness: Witness | null
}

export interface Place {
  readonly role: Role
  readonly number: number
  /** How many processes it has seen. */
  count: number
  /** Of a producer: the task to go on with, and that it has done all. */
  from: number
  done: boolean
  process: Process | null
}

export class Fleet {
  readonly places: readonly Place[]
  readonly tally = emptyTally()
  /** What should not have been. */
  readonly problems: string[] = []
  /** Runtimes that were terminated, and ended undisturbed, with the wall time of their SIGTERM. */
  readonly stoppedWell = new Map<string, number>()
  /** Workers that were there when the server of the store was back. */
  readonly witnesses: Witness[] = []
  /** Ids of workers that are not in the list of workers, at the end. */
  unlisted: readonly string[] = []
  private readonly assignment: Omit<Assignment, 'name' | 'from' | 'startedAt' | 'isRemote'>
  private readonly timers = new Set<NodeJS.Timeout>()
  private readonly outputPath: string
  private readonly output: number
  private ending = false
  /** When a stopped process, or the whole machine, was continued last. */
  private thawedAt = -Infinity
  private readonly pulse: NodeJS.Timeout
  /** How late this process was in all, ms: on a busy machine so is everybody. */
  private lateMs = 0
  private attendedAt = Infinity
  /** When production began. */
  startedAt = 0

  constructor(assignment: Omit<Assignment, 'name' | 'from' | 'startedAt' | 'isRemote'>) {
    this.assignment = assignment
    this.outputPath = join(assignment.folder, 'output.txt')
    this.output = openSync(this.outputPath, 'a')
    const { workers, producers } = assignment.options
    this.pulse = pulse((lateMs) => this.beat(lateMs))
    const place = (role: Role, number: number): Place => {
      return { role, number, count: 0, from: number, done: false, process: null }
    }
    this.places = [
      ...Array.from({ length: workers }, (_, n) => place('worker', n)),
      ...Array.from({ length: producers }, (_, n) => place('producer', n)),
    ]
  }

  /** Resolves when all work. The first worker goes ahead, and leaves to the others what it has compiled. */
  async start(): Promise<void> {
    const [first, ...others] = Map.groupBy(this.places, ({ role }) => role).get('worker') ?? []
    if (first !== undefined) await this.spawn(first)
    await Promise.all(others.map((place) => this.spawn(place)))
    this.startedAt = Date.now()
    for (const place of this.places) if (place.role === 'producer') void this.spawn(place)
  }

  get productionDone(): boolean {
    return this.places.every(({ role, done }) => role === 'worker' || done)
  }

  /** The ids of the workers that work and were not told to end. */
  get workerIds(): string[] {
    return this.places.flatMap(({ role, process }) =>
      role === 'worker' && process?.terminatedAt === null && process.id !== null ? [process.id] : [],
    )
  }

  /** Of the processes that work, are not stopped and were not told to end, the one at 0…1; null if there is none. */
  pick(at: number, roles: readonly Role[]): Place | null {
    const all = this.places.filter(({ role, process }) => {
      if (process === null || process.id === null || !roles.includes(role)) return false
      return !process.stopped && process.terminatedAt === null && process.blockedUntil < performance.now()
    })
    return all[Math.floor(at * all.length)] ?? null
  }

  /** Any that lives, whatever it does. */
  pickAny(at: number): Place | null {
    const all = this.places.filter(({ process }) => process !== null && !process.killed)
    return all[Math.floor(at * all.length)] ?? null
  }

  kill({ process }: Place): void {
    if (process === null) return
    process.killed = true
    this.tally.killed++
    process.child.kill('SIGKILL')
  }

  /**
   * Resolves when another process works in the place of one that was killed; false if none does so in the time for a
   * start.
   */
  async hasFollower(place: Place): Promise<boolean> {
    const gone = place.process
    for (let looks = 0; looks < startMs / startLookMs; looks++) {
      const { process } = place
      if (process !== gone && process !== null && process.id !== null) return true
      await sleep(startLookMs)
    }
    return false
  }

  /** Stops a process and continues it later, should it still be there. */
  freeze({ process }: Place, ms: number): void {
    if (process === null) return
    process.stopped = true
    process.disturbed = true
    dismiss(process)
    this.tally.zombies++
    process.child.kill('SIGSTOP')
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      this.thaw(process)
    }, ms)
    this.timers.add(timer)
  }

  block({ process }: Place, ms: number): void {
    if (process === null) return
    process.disturbed = true
    dismiss(process)
    process.blockedUntil = performance.now() + ms
    this.tally.blocked++
    // It may have died a moment ago: that is no news.
    process.child.send({ block: ms } satisfies Order, () => {})
  }

  terminate({ process }: Place): void {
    if (process === null || process.terminatedAt !== null) return
    process.terminatedAt = performance.now()
    process.lateMsBefore = this.lateMs
    const waitedMs = coreWaitMs(process.child.pid) ?? 0
    process.coreWait = { beforeMs: waitedMs, ms: waitedMs }
    dismiss(process)
    this.tally.terminated++
    process.child.kill('SIGTERM')
  }

  /** The server of the store will not answer for a while. */
  serverAway(): void {
    for (const { process } of this.places) if (process !== null) dismiss(process)
  }

  /** The server of the store answers again. */
  serverBack(): void {
    for (const { role, process } of this.places) {
      if (role !== 'worker' || process === null || process.id === null) continue
      if (process.disturbed || process.terminatedAt !== null) continue
      process.witness = { name: process.name, from: Date.now(), until: Infinity }
      this.witnesses.push(process.witness)
    }
  }

  /** Lets all go on that were stopped. */
  thawAll(): void {
    for (const timer of this.timers) clearTimeout(timer)
    this.timers.clear()
    for (const { process } of this.places) if (process?.stopped === true) this.thaw(process)
  }

  /** Terminates all, and kills who does not go. */
  async end(): Promise<void> {
    this.ending = true
    this.thawAll()
    const gone = this.places.map(
      ({ process }) => process && new Promise((resolve) => process.child.once('close', resolve)),
    )
    for (const place of this.places) {
      if (place.role === 'worker') this.terminate(place)
      else place.process?.child.kill('SIGKILL')
    }
    const last = setTimeout(() => {
      for (const { process } of this.places) {
        if (process === null) continue
        this.problems.push(`${process.name} did not end`)
        process.child.kill('SIGKILL')
      }
    }, endMs)
    await Promise.all(gone)
    clearTimeout(last)
  }

  /** The end of what processes have printed. */
  lastWords(): string {
    return readFileSync(this.outputPath, 'utf8').slice(-2_000)
  }

  /** At once, whatever they do. */
  abandon(): void {
    this.ending = true
    clearInterval(this.pulse)
    for (const { process } of this.places) process?.child.kill('SIGKILL')
  }

  private beat(lateMs: number): void {
    this.lateMs += Math.max(0, lateMs)
    for (const { process } of this.places) {
      if (process === null || process.terminatedAt === null) continue
      process.coreWait.ms = coreWaitMs(process.child.pid) ?? process.coreWait.ms
    }
    if (this.ending) return
    const now = performance.now()
    if (lateMs > this.assignment.options.leaseMs / 2) {
      this.tally.pauses++
      this.thawedAt = now
    }
    const isAttended = this.places.some(({ process }) => process !== null && process.readyAt < now - attendedMs)
    if (isAttended) this.attendedAt = now
    this.tally.unattendedMs = Math.max(this.tally.unattendedMs, now - this.attendedAt)
  }

  /** Then, or not long before: what it has done to leases may show only now. */
  private wasPausedSince(at: number): boolean {
    return this.thawedAt > at - 2 * this.assignment.options.leaseMs
  }

  private thaw(process: Process): void {
    process.stopped = false
    this.thawedAt = performance.now()
    process.child.kill('SIGCONT')
  }

  /** Resolves when the process works, or has died. */
  private spawn(place: Place): Promise<void> {
    const { role, number, from } = place
    const name = `${role}-${number}.${++place.count}`
    const isRemote = role === 'worker' && number === 0 && this.assignment.options.zombies > 0
    const assignment: Assignment = { ...this.assignment, name, from, isRemote, startedAt: this.startedAt }
    this.tally.started++
    const child = forkProgram(new URL(`${role}.ts`, import.meta.url), [JSON.stringify(assignment)], {
      stdio: ['ignore', this.output, this.output, 'ipc'],
    })
    const born: Process = {
      child,
      name,
      id: null,
      readyAt: Infinity,
      killed: false,
      stopped: false,
      isRemote,
      disturbed: isRemote,
      blockedUntil: 0,
      terminatedAt: null,
      lateMsBefore: 0,
      coreWait: { beforeMs: 0, ms: 0 },
      witness: null,
    }
    place.process = born
    child.on('message', ({ ready, doneBelow }: Told) => {
      if (ready !== undefined) born.id = ready
      if (ready !== undefined && role === 'worker') born.readyAt = performance.now()
      if (doneBelow === undefined) return
      place.from = Math.max(place.from, doneBelow)
      place.done = doneBelow >= tasksOf(this.assignment.options)
    })
    child.on('error', (error) => this.problems.push(`${name}: ${error.message}`))
    // A process may be known to have ended before what it has said last is read; then its channel is closed.
    child.on('close', (code, signal) => this.exited(place, born, code, signal))
    return new Promise((resolve) => {
      child.once('message', () => resolve())
      child.once('close', () => resolve())
    })
  }

  private exited(place: Place, gone: Process, code: number | null, signal: NodeJS.Signals | null): void {
    place.process = null
    dismiss(gone)
    const { name, killed, terminatedAt, lateMsBefore, coreWait, blockedUntil, disturbed, isRemote, id } = gone
    // Who is stopped may hold the store, and nobody can write how a run has ended; who is remote may not get through.
    const isFrozen = isRemote || this.places.some(({ process }) => process?.stopped === true)
    if (signal === 'SIGKILL') {
      if (!killed && !this.ending) this.tally.selfKilled++
    } else if (terminatedAt !== null) {
      const tookMs = isFrozen ? 0 : performance.now() - Math.max(terminatedAt, blockedUntil, this.thawedAt)
      // Its time, without what the machine took from it or from this process.
      const ownMs = tookMs - Math.max(this.lateMs - lateMsBefore, coreWait.ms - coreWait.beforeMs)
      this.tally.slowestStopMs = Math.max(this.tally.slowestStopMs, ownMs)
      // Before its code runs a process has no signal handlers: the signal ends it.
      const unborn = id === null
      const undisturbed = !disturbed && !isFrozen && !this.wasPausedSince(terminatedAt)
      // After a pause the grace is over before its handlers have run on: then the signal ends the process, too.
      // Nor can a handler end in its grace that waits for a server which is away.
      const mayEndBySignal = signal === 'SIGTERM' && (unborn || !undisturbed || this.assignment.options.restarts > 0)
      if (code !== 0 && !mayEndBySignal) this.problems.push(`${name} ended with ${code ?? signal} after SIGTERM`)
      else if (id !== null && undisturbed) this.stoppedWell.set(id, Date.now() - tookMs)
      if (ownMs > graceMs + stopSlackMs) this.problems.push(`${name} took ${Math.round(ownMs)} ms to stop`)
    } else if (code === unavailableCode) {
      this.tally.turnedAway++
    } else if (place.role === 'worker' || !place.done || code !== 0) {
      this.problems.push(`${name} ended by itself with ${code ?? signal}`)
    }
    if (!this.ending && !(place.role === 'producer' && place.done)) void this.spawn(place)
  }
}

/** From now on it may be without an answer. */
function dismiss({ witness }: Process): void {
  if (witness !== null) witness.until = Math.min(witness.until, Date.now())
}

/**
 * How long the main thread of a process has waited for a core, ms; null where the system does not say, or when it is
 * gone.
 */
function coreWaitMs(pid: number | undefined): number | null {
  try {
    // The time on a core and the time on a run queue, in ns, and the number of slices.
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return null
  }
}
