/**
 * Lets a machine live a recorded life again, in virtual time: the events of each checkpoint at their times, and its own
 * timers. Effects are planned and dropped; the answers of actors are among the events.
 */
import type { EventObject } from 'xstate'
import { seededRandom, type Timer } from '../core/clock.ts'
import type { LifeReplay } from '../core/definition.ts'
import type { RecordedLife } from '../core/recorded-life.ts'
import { recordError } from '../core/failure.ts'
import type { CheckpointEntry } from '../core/machine-record.ts'
import type { Json } from '../core/payload.ts'
import { statesIn } from '../core/state-paths.ts'
import type { PlannedLogic } from './actor-kinds.ts'
import { ActorSteps } from './actor-steps.ts'
import { decode } from './codec.ts'
import { LiveMachine, type MachineHost } from './live-machine.ts'
import type { RecordedEvent } from './recorder.ts'
import { unpackState, type MachineState } from './state.ts'
import type { MachineVersion } from './versions.ts'

interface ReplayOptions {
  readonly logic: PlannedLogic
  readonly identity: MachineVersion
  readonly input: unknown
  /** The state of a checkpoint for this machine. @throws JobchartError UNSUPPORTED */
  readonly adopt: (state: Json) => MachineState
}

export function replay(life: RecordedLife, options: ReplayOptions): LifeReplay {
  let machine: VirtualMachine | null = null
  let reached = 0
  let skipped = 0
  try {
    for (const [i, entry] of life.checkpoints.entries()) {
      const { events, job } = unpackState(entry.state)
      const isStart = i === 0 && entry.number === 1 && job === life.id && typeOf(events?.[0]) === initType
      if (events === undefined || events === null || (machine === null && !isStart)) {
        machine?.stop()
        machine = null
        // The state before it is not known, or too much has happened since.
        if (i > 0) skipped++
        const from = attempted(() => options.adopt(entry.state))
        if ('error' in from) return { reached, skipped, divergence: divergence(entry, [], [], from.error) }
        machine = new VirtualMachine(life.id, options, from.value, entry.at)
        continue
      }
      machine ??= new VirtualMachine(life.id, options, null, events[0]?.at ?? entry.at)
      const live = machine
      const expected = expectedStates(entry, options)
      const done = attempted(() => live.live(events))
      const states = live.states
      const error = 'error' in done ? done.error : null
      if (error !== null || states.join() !== expected.join()) {
        return { reached, skipped, divergence: divergence(entry, expected, states, error, events) }
      }
      reached++
    }
    return { reached, skipped, divergence: null }
  } finally {
    machine?.stop()
  }
}

const initType = 'xstate.init'

const typeOf = (recorded: RecordedEvent | undefined): string | undefined =>
  (recorded?.event as { readonly type?: string } | undefined)?.type

function divergence(
  { number }: CheckpointEntry,
  expected: readonly string[],
  reached: readonly string[],
  error: unknown,
  events: readonly RecordedEvent[] = [],
): LifeReplay['divergence'] {
  const reason = error === null ? null : recordError(error).message
  return { checkpoint: number, events: events.map((each) => typeOf(each) ?? ''), expected, reached, reason }
}

/** The states of a checkpoint, as the machine names them; if it cannot go on from it, as they are stored. */
function expectedStates(entry: CheckpointEntry, { adopt }: ReplayOptions): string[] {
  const state = attempted(() => adopt(entry.state))
  return statesIn(('error' in state ? unpackState(entry.state) : state.value).snapshot.value).toSorted()
}

function attempted<T>(act: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: act() }
  } catch (error) {
    return { error }
  }
}

const nothing = (): void => {}

/** A machine whose time is that of the events, and whose effects are dropped. */
class VirtualMachine implements MachineHost {
  readonly jobId: string
  readonly logic: PlannedLogic
  readonly version: MachineVersion
  readonly input: unknown
  readonly steps: ActorSteps
  readonly random = seededRandom(1)
  readonly inspect = null
  readonly jobs = { actorStarted: nothing, actorStopped: nothing }
  readonly log = nothing
  readonly changed = nothing
  private readonly machine: LiveMachine
  private time: number
  private readonly isNew: boolean

  constructor(id: string, { logic, identity, input }: ReplayOptions, from: MachineState | null, now: number) {
    this.jobId = id
    this.logic = logic
    this.version = identity
    this.input = input
    this.time = now
    this.isNew = from === null
    const context = { id, steps: null, saveStep: () => Promise.resolve(null), refusal: () => null }
    this.steps = new ActorSteps(context, nothing)
    this.machine = new LiveMachine(this, from)
    if (from === null) return
    this.machine.start()
    this.settle()
  }

  now(): number {
    return this.time
  }

  after(): Timer {
    return { cancel: nothing }
  }

  traced<T>(_kind: string, _name: string, work: () => T): T {
    return work()
  }

  get states(): string[] {
    return this.machine.standing.states.toSorted()
  }

  /** @throws what the machine throws */
  live(events: readonly RecordedEvent[]): void {
    for (const { at, by = at, to = '', event, timer } of events) {
      this.time = at
      const received = decode(event) as EventObject
      if (received.type === initType && this.isNew) this.machine.start()
      else {
        this.machine.fireTimers(by)
        this.settle()
        // The machine has timers of its own.
        if (timer !== true) this.machine.deliver(to, received)
      }
      this.settle()
    }
  }

  stop(): void {
    this.machine.stop()
  }

  /** Drops the planned effects. @throws what the machine threw */
  private settle(): void {
    this.machine.plan.pending.splice(0)
    if (this.machine.failure !== null) throw this.machine.failure.error
  }
}
