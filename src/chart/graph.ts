/**
 * A chart as plain data: what every picture is drawn from. It holds names and structure, no functions, and is strict
 * JSON.
 */

/**
 * A chart: its states in document order (the root first), and its transitions in the order in which XState asks them.
 */
export interface ChartGraph {
  /** The machine's id; also the id of the root state. */
  readonly id: string
  readonly description: string | null
  readonly states: readonly ChartState[]
  readonly transitions: readonly ChartTransition[]
}

/** XState's types of state nodes. */
export type ChartStateType = 'atomic' | 'compound' | 'parallel' | 'final' | 'history'

/** A state, with the names of what it does. */
export interface ChartState {
  /** XState's id, unique in the chart: `order.paid.shipping`, or the id that the state gives itself. */
  readonly id: string
  /** Its name among its siblings. */
  readonly key: string
  /** The keys from the root to this state; empty for the root. */
  readonly path: readonly string[]
  /** The id of the state around it; null for the root. */
  readonly parent: string | null
  /** The ids of the states in it. */
  readonly children: readonly string[]
  readonly type: ChartStateType
  /** What a history state recalls; null for other states. */
  readonly history: 'shallow' | 'deep' | null
  /** Where a compound state starts, or where a history state leads the first time if it says so; null if nowhere. */
  readonly initial: { readonly targets: readonly string[]; readonly actions: readonly string[] } | null
  readonly description: string | null
  readonly tags: readonly string[]
  /** The names of the actions on entry. */
  readonly entry: readonly string[]
  /** The names of the actions on exit. */
  readonly exit: readonly string[]
  readonly invokes: readonly ChartInvoke[]
  /** How many states in it are not drawn, because the chart was cut at a depth; 0 otherwise. */
  readonly hidden: number
}

/** An actor that a state invokes. */
export interface ChartInvoke {
  /** The actor's id; XState derives it from the state if the machine gives none. */
  readonly id: string
  /** The name of the actor's logic; `inline` if it has none. */
  readonly source: string
}

/** Has the machine given the actor its id? XState names the others by their place in the state: `0.order.paid`. */
export const hasOwnId = ({ id }: ChartInvoke): boolean => !/^\d+\./.test(id)

/** What a transition waits for. */
export type ChartEventKind = 'event' | 'wildcard' | 'always' | 'after' | 'done' | 'error' | 'snapshot'

/** A transition from one state to others, or within its state. */
export interface ChartTransition {
  /** Unique in the chart: the source's id, the event, and its place among the transitions of that event. */
  readonly id: string
  /** The id of the state it belongs to. */
  readonly source: string
  /** The ids of the states it leads to; none if it stays where it is. */
  readonly targets: readonly string[]
  readonly kind: ChartEventKind
  /** XState's name of the event (`xstate.after.5000.order.paid`); empty for `always`. */
  readonly event: string
  /** The event in words: `APPROVE`, `after 5 s`, `charge done`, `any event`; empty for `always`. */
  readonly label: string
  /** The delay of an `after` in words (`1 min 30 s`, or its name); null for other transitions. */
  readonly delay: string | null
  /** The guard in words; null if it has none. */
  readonly guard: string | null
  /** Is it asked only when the transitions of this event before it were not taken? */
  readonly otherwise: boolean
  /** The names of its actions. */
  readonly actions: readonly string[]
  /** Does it stay where it is, without leaving a state? */
  readonly targetless: boolean
  /** Does it lead back to its own source? */
  readonly self: boolean
  /** Does it do nothing, so that the event does not reach the states around? */
  readonly forbidden: boolean
  /** Does it leave and enter its source although its target lies in it? */
  readonly reenter: boolean
  readonly description: string | null
}

/** The states of a chart by id. */
export const statesById = (graph: ChartGraph): ReadonlyMap<string, ChartState> =>
  new Map(graph.states.map((state) => [state.id, state]))

/** The root of a chart. */
export function rootState(graph: ChartGraph): ChartState {
  const root = graph.states[0]
  if (root === undefined) throw new RangeError(`chart ${graph.id} has no states`)
  return root
}

/**
 * The ids from the state up to the root, the state itself first. A graph whose parents go in a circle has no end: it is
 * cut.
 */
export function lineage(states: ReadonlyMap<string, ChartState>, id: string): string[] {
  const ids: string[] = []
  let state = states.get(id)
  while (state !== undefined && ids.length < states.size) {
    ids.push(state.id)
    state = state.parent === null ? undefined : states.get(state.parent)
  }
  return ids
}

/** Is a transition written in its state? So are loops of the root, around which there is no room for an arrow. */
export const isInside = ({ targetless, self, source }: ChartTransition, graph: ChartGraph): boolean =>
  targetless || (self && source === graph.id)

/** The transitions that are written in a state. */
export const transitionsInside = (graph: ChartGraph, { id }: ChartState): readonly ChartTransition[] =>
  graph.transitions.filter((each) => each.source === id && isInside(each, graph))
