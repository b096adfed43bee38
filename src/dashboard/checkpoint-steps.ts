/** The path of a machine through its chart, from its checkpoints. */
import type { CheckpointEntry } from '../index.ts'
import type { ChartGraph, ChartState, ChartTransition, PathStep } from '../chart/index.ts'
import { lineage, statesById } from '../chart/graph.ts'
import { JobchartError } from '../core/errors.ts'
import { noteEntries } from '../core/event-words.ts'
import { innermost, statesIn } from '../core/state-paths.ts'
import type { MachineRunner } from '../core/definition.ts'

/** A transition leads on at once through so many others at most. */
const chainMax = 12

/**
 * The transitions that were taken, each once for an event that took it: those of the events in the notes, and those
 * that they led on to at once (`always`, `done`).
 * @param entries oldest first
 */
export function checkpointSteps(
  entries: readonly CheckpointEntry[],
  runner: Pick<MachineRunner, 'viewAt'>,
  graph: ChartGraph,
): PathStep[] {
  const chart = new ChartSteps(graph)
  const steps: PathStep[] = []
  let before: readonly string[] = []
  for (const { note, state } of entries) {
    const now = leavesAt(state, runner)
    if (now === null) continue
    for (const { event, leaves } of movesIn(note)) {
      steps.push(...chart.stepsBetween(before, leaves, event))
      before = leaves
    }
    // Not every change has an event: a note is cut, and a new version may put the machine elsewhere.
    steps.push(...chart.stepsBetween(before, now, null))
    before = now
  }
  return steps
}

function leavesAt(state: CheckpointEntry['state'], runner: Pick<MachineRunner, 'viewAt'>): string[] | null {
  const paths = statesAt(state, runner)
  return paths === null ? null : innermost(paths)
}

/** Paths of the active states, the outer ones first; null if the version that wrote them is not known here. */
export function statesAt(state: CheckpointEntry['state'], runner: Pick<MachineRunner, 'viewAt'>): string[] | null {
  try {
    return statesIn(runner.viewAt(state).value)
  } catch (error) {
    if (error instanceof JobchartError) return null
    throw error
  }
}

// ── notes ──────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Move {
  readonly event: string
  /** The innermost states that it led to. */
  readonly leaves: readonly string[]
}

/** A note is `APPROVE → shipping, xstate.done.actor.a → (x.y, z)`. */
function movesIn(note: string): Move[] {
  return noteEntries(note).flatMap((entry) => {
    const [event, states, more] = entry.split(' → ')
    const isWhole = event !== undefined && states !== undefined && more === undefined && !states.endsWith('…')
    return isWhole ? [{ event, leaves: leavesIn(states) }] : []
  })
}

/** Paths of the innermost states of `paid.(stock.reserved, label)`. */
function leavesIn(states: string, around = ''): string[] {
  const at = states.indexOf('(')
  if (at < 0 || !states.endsWith(')')) return [around + states]
  return noteEntries(states.slice(at + 1, -1)).flatMap((part) => leavesIn(part, around + states.slice(0, at)))
}

// ── transitions ────────────────────────────────────────────────────────────────────────────────────────────────────

class ChartSteps {
  private readonly graph: ChartGraph
  private readonly states: ReadonlyMap<string, ChartState>
  /** Ids of states by their paths. */
  private readonly ids: ReadonlyMap<string, string>

  constructor(graph: ChartGraph) {
    this.graph = graph
    this.states = statesById(graph)
    this.ids = new Map(graph.states.map(({ id, path }) => [path.join('.'), id]))
  }

  /** @param event null if it is not known */
  stepsBetween(before: readonly string[], after: readonly string[], event: string | null): PathStep[] {
    const left = before.filter((leaf) => !after.includes(leaf))
    const [from] = left
    const to = after.find((leaf) => !before.includes(leaf))
    if (from === undefined) return []
    if (event === null) return to === undefined ? [] : [{ from, to }]
    const active = new Set(after.flatMap((leaf) => this.around(leaf)))
    const taken = new Map<string, ChartTransition>()
    for (const leaf of left) {
      for (const transition of this.takenFrom(leaf, event, active)) taken.set(transition.id, transition)
    }
    return [...taken.values()].map(({ source, targets, event: own }) => ({
      from: source,
      to: targets[0] ?? source,
      event: own,
    }))
  }

  private around(leaf: string): string[] {
    const id = this.ids.get(leaf)
    return id === undefined ? [] : lineage(this.states, id)
  }

  /** What an event took from a state or one around it, with what followed at once. */
  private takenFrom(leaf: string, event: string, active: ReadonlySet<string>): readonly ChartTransition[] {
    const candidates = this.around(leaf).flatMap((source) =>
      this.graph.transitions.filter(
        (each) => each.source === source && each.targets.length > 0 && isOf(each.event, event),
      ),
    )
    for (const each of candidates) {
      const chain = this.chainTo(active, each)
      if (chain !== null) return chain
    }
    // It led on by events of the machine's own, which the note does not have.
    return candidates.length === 1 ? candidates : []
  }

  /** The shortest way from a transition to an active state through transitions that are taken at once; null: none. */
  private chainTo(active: ReadonlySet<string>, first: ChartTransition): readonly ChartTransition[] | null {
    const seen = new Set([first.id])
    let chains: (readonly ChartTransition[])[] = [[first]]
    for (let length = 1; length <= chainMax && chains.length > 0; length++) {
      const arrived = chains.find((chain) => chain.at(-1)?.targets.some((id) => active.has(id)))
      if (arrived !== undefined) return arrived
      chains = chains.flatMap((chain) => {
        const next = this.following(chain.at(-1)?.targets ?? []).filter(({ id }) => !seen.has(id))
        for (const { id } of next) seen.add(id)
        return next.map((each) => [...chain, each])
      })
    }
    return null
  }

  /** The transitions that may be taken at once when these states are entered. */
  private following(targets: readonly string[]): ChartTransition[] {
    const entered = new Set(targets.flatMap((id) => [...lineage(this.states, id), ...this.within(id)]))
    return this.graph.transitions.filter(
      ({ source, kind, event, targets: to }) =>
        to.length > 0 && entered.has(source) && (kind === 'always' || event === `xstate.done.state.${source}`),
    )
  }

  /** The states that are entered with a state. */
  private within(id: string): string[] {
    const state = this.states.get(id)
    const inner = state?.type === 'parallel' ? state.children : (state?.initial?.targets ?? [])
    return state?.type === 'history' ? [] : inner.flatMap((each) => [each, ...this.within(each)])
  }
}

/** Does a descriptor, `APPROVE` or `mouse.*`, mean an event? */
const isOf = (descriptor: string, event: string): boolean =>
  descriptor === event ||
  descriptor === '*' ||
  (descriptor.endsWith('.*') && `${event}.`.startsWith(descriptor.slice(0, -1)))
