/**
 * Counts how a machine goes through its chart: the transitions that it takes, and how long it stays in each state.
 */
import type { AnyStateNode } from 'xstate'
import { HeatTally, stayName, transitionName, timeBucket } from '../core/heat.ts'
import { pathOf } from './machines.ts'
import type { Microstep, TakenTransition } from './xstate-internals.ts'

interface Clock {
  /** ms since the epoch */
  now(): number
}

interface TransitionFacts {
  /** What it is counted by; null: it does nothing, and is not counted. */
  readonly name: string | null
  /**
   * What it leaves and enters again, if that is active: its source and all in it (`reenter`), what is in its source, or
   * nothing.
   */
  readonly entersAgain: 'source' | 'inside' | 'nothing'
}

/**
 * What is known of the transitions and nodes of charts, made once for all jobs: each definition has a copy of its chart
 * for each version.
 */
const transitions = new WeakMap<object, TransitionFacts>()
const stays = new WeakMap<AnyStateNode, string[]>()

export class HeatRecorder {
  private readonly version: string
  private readonly clock: Clock
  private readonly tally = new HeatTally()
  /**
   * When each active state was entered, ms since the epoch; null: that is not known. The root is left out: it is never
   * left.
   */
  private readonly entered = new Map<AnyStateNode, number | null>()

  /** @param version that of the machine */
  constructor(version: string, clock: Clock) {
    this.version = version
    this.clock = clock
  }

  /**
   * The machine is in these states.
   * @param times when it entered each of them, ms since the epoch; undefined: that is not known
   */
  restore(nodes: readonly AnyStateNode[], times: readonly number[] | undefined): void {
    const areKnown = times?.length === nodes.length
    this.entered.clear()
    for (const [i, node] of nodes.entries()) this.entered.set(node, areKnown ? (times[i] ?? null) : null)
  }

  /** The machine is new, and stands in these states. */
  begin(nodes: readonly AnyStateNode[]): void {
    const now = this.clock.now()
    for (const node of nodes) if (!this.entered.has(node)) this.entered.set(node, now)
  }

  step({ transitions: taken, nodes }: Microstep): void {
    if (taken.length === 0) return
    const { entered, tally, version } = this
    const now = this.clock.now()
    for (const transition of taken) {
      const { name } = factsOf(transition, version)
      if (name !== null) tally.add(name)
    }
    for (const [node, at] of entered) {
      if (nodes.includes(node) && !isEnteredAgain(node, taken, version)) continue
      entered.delete(node)
      if (at !== null) tally.add(nameOfStay(node, version, now - at))
    }
    for (const node of nodes) if (node.path.length > 0 && !entered.has(node)) entered.set(node, now)
  }

  /** When each of these states was entered; undefined if that is not known of all of them. */
  timesOf(nodes: readonly AnyStateNode[]): number[] | undefined {
    const times = nodes.map((node) => this.entered.get(node) ?? null)
    return times.every((at) => at !== null) ? times : undefined
  }

  /** What was counted since the last call. */
  take(): ReturnType<HeatTally['take']> {
    return this.tally.take()
  }
}

function factsOf(transition: TakenTransition, version: string): TransitionFacts {
  let facts = transitions.get(transition)
  if (facts === undefined) {
    const { source, eventType, target = [], actions, reenter } = transition
    const of = eventType === '' ? source.always : source.transitions.get(eventType)
    const id = `${source.id}:${eventType}:${(of ?? []).indexOf(transition as never)}`
    const leadsInside = target.length > 0 && target.every((each) => isWithin(each, source))
    facts = {
      name: target.length === 0 && actions.length === 0 ? null : transitionName(version, id),
      entersAgain: target.length > 0 && reenter ? 'source' : leadsInside ? 'inside' : 'nothing',
    }
    transitions.set(transition, facts)
  }
  return facts
}

function nameOfStay(node: AnyStateNode, version: string, ms: number): string {
  let names = stays.get(node)
  if (names === undefined) stays.set(node, (names = []))
  const bucket = timeBucket(ms)
  return (names[bucket] ??= stayName(version, pathOf(node), bucket))
}

const isEnteredAgain = (node: AnyStateNode, taken: readonly TakenTransition[], version: string): boolean =>
  taken.some((transition) => {
    const { entersAgain } = factsOf(transition, version)
    if (entersAgain === 'nothing') return false
    const { source } = transition
    return isWithin(node, source) || (entersAgain === 'source' && node === source)
  })

const isWithin = (node: AnyStateNode, around: AnyStateNode): boolean =>
  around.path.length < node.path.length && around.path.every((key, i) => node.path[i] === key)
