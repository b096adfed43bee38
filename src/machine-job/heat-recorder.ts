/**
 * Counts how a machine goes through its chart: the transitions that it takes, and how long it stays in each state.
 */
import type { AnyStateNode } from 'xstate'
import { HeatTally } from '../core/heat.ts'
import { pathOf } from './machines.ts'
import type { Microstep, TakenTransition } from './xstate-internals.ts'

interface HeatRecorderOptions {
  readonly version: string
  /** ms since the epoch */
  readonly now: () => number
}

/** Ids of transitions are made once for all jobs. */
const ids = new WeakMap<object, string>()

/** The id of a transition in the graph of its chart (`ChartTransition.id`). */
function transitionId(transition: TakenTransition): string {
  let id = ids.get(transition)
  if (id === undefined) {
    const { source, eventType } = transition
    const of = eventType === '' ? source.always : source.transitions.get(eventType)
    id = `${source.id}:${eventType}:${(of ?? []).indexOf(transition as never)}`
    ids.set(transition, id)
  }
  return id
}

export class HeatRecorder {
  private readonly now: () => number
  private readonly tally: HeatTally
  /**
   * When each active state was entered, by its path, ms since the epoch; null: that is not known. The root is left out:
   * it is never left.
   */
  private entered = new Map<string, number | null>()

  constructor({ version, now }: HeatRecorderOptions) {
    this.now = now
    this.tally = new HeatTally(version)
  }

  /**
   * The machine is in these states.
   * @param times when it entered each of them, ms since the epoch; undefined: that is not known
   */
  restore(states: readonly string[], times: readonly number[] | undefined): void {
    const areKnown = times?.length === states.length
    this.entered = new Map(states.map((state, i) => [state, areKnown ? (times[i] ?? null) : null]))
  }

  /** The machine is new, and stands in these states. */
  begin(states: readonly string[]): void {
    const now = this.now()
    for (const state of states) if (!this.entered.has(state)) this.entered.set(state, now)
  }

  step({ transitions, nodes }: Microstep): void {
    if (transitions.length === 0) return
    const now = this.now()
    const active = new Set<string>()
    for (const node of nodes) if (node.path.length > 0) active.add(pathOf(node))
    for (const transition of transitions) if (!isForbidden(transition)) this.tally.took(transitionId(transition))
    for (const [state, at] of this.entered) {
      if (active.has(state) && !isEnteredAgain(state, transitions)) continue
      this.entered.delete(state)
      if (at !== null) this.tally.stayed(state, Math.max(0, now - at))
    }
    for (const state of active) if (!this.entered.has(state)) this.entered.set(state, now)
  }

  /** When each of these states was entered; undefined if that is not known of all of them. */
  timesOf(states: readonly string[]): number[] | undefined {
    const times: number[] = []
    for (const state of states) {
      const at = this.entered.get(state)
      if (at === undefined || at === null) return undefined
      times.push(at)
    }
    return times
  }

  /** What was counted since the last call. */
  take(): ReturnType<HeatTally['take']> {
    return this.tally.take()
  }
}

const isForbidden = ({ target, actions }: TakenTransition): boolean =>
  (target === undefined || target.length === 0) && actions.length === 0

/**
 * Did a transition leave this state and enter it again? One with `reenter` leaves its source and all in it; another one
 * that leads into its own source leaves what is in that.
 */
function isEnteredAgain(state: string, transitions: readonly TakenTransition[]): boolean {
  return transitions.some(({ source, target = [], reenter }) => {
    if (target.length === 0) return false
    const isIn = source.path.length === 0 || state.startsWith(`${pathOf(source)}.`)
    if (reenter) return isIn || state === pathOf(source)
    return isIn && target.every((each) => each !== source && isWithin(each, source))
  })
}

const isWithin = (node: AnyStateNode, around: AnyStateNode): boolean =>
  around.path.length < node.path.length && around.path.every((key, i) => node.path[i] === key)
