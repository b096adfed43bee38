/**
 * The arrows of a picture: transitions with the same ends share one, and so does one event that leads from many states
 * to one.
 */
import { isInside, lineage, statesById, type ChartGraph, type ChartState, type ChartTransition } from './graph.ts'
import { labelContent, type Content } from './content.ts'

export interface Arrow {
  /** Unique in the picture. */
  readonly id: string
  /** More than one if the same transition leads from several states to the same one. */
  readonly sources: readonly string[]
  readonly targets: readonly string[]
  readonly transitions: readonly ChartTransition[]
  /** Null if nothing is written on it. */
  readonly label: Content | null
  /** The id of the state in which the label lies. */
  readonly container: string
  readonly isLoop: boolean
  /**
   * Does it begin at its label, which names how many sources it has, because a line from each of them would hide the
   * rest?
   */
  readonly isBundle: boolean
}

/** From this number of sources on, a transition to one target is drawn as one arrow. */
const sharedMin = 3
/** With more sources than this, no lines lead from them to the label. */
const linesMax = 5

/**
 * The arrows of a chart; a transition without a target is none, it is written in its state.
 * @param withActions are actions written on the labels?
 */
export function arrowsOf(graph: ChartGraph, withActions = true): Arrow[] {
  const states = statesById(graph)
  return groupsOf(graph).flatMap((transitions, index): Arrow[] => {
    const [first] = transitions
    if (first === undefined) return []
    const { targets } = first
    const sources = [...new Set(transitions.map(({ source }) => source))]
    const isLoop = sources.length === 1 && targets.length === 1 && targets[0] === sources[0]
    const container = containerOf(states, [...sources, ...targets])
    const isBundle = sources.length > linesMax
    const written = sources.length > 1 ? [first] : transitions
    const from = isBundle ? sources.map((id) => states.get(id)?.path.join('.') ?? id) : []
    const label = labelContent(written, withActions, from)
    return [{ id: `${index}`, sources, targets, transitions, label, container, isLoop, isBundle }]
  })
}

interface SameEnds {
  readonly source: string
  readonly targets: readonly string[]
  readonly transitions: readonly ChartTransition[]
}

/** The transitions between each two ends, for the formats that draw a line from each source. */
export function transitionsByEnds(graph: ChartGraph): SameEnds[] {
  return [...Map.groupBy(arrowTransitions(graph), endsOf).values()].flatMap((transitions) => {
    const [first] = transitions
    return first === undefined ? [] : [{ source: first.source, targets: first.targets, transitions }]
  })
}

/** The transitions of each arrow, in document order. */
function groupsOf(graph: ChartGraph): ChartTransition[][] {
  const drawn = arrowTransitions(graph)
  const effects = new Map<ChartTransition, string>()
  for (const [effect, alike] of Map.groupBy(drawn, effectOf)) {
    const isShared = new Set(alike.map(({ source }) => source)).size >= sharedMin
    for (const each of alike) if (isShared && !each.self && each.kind !== 'always') effects.set(each, effect)
  }
  return [...Map.groupBy(drawn, (each) => effects.get(each) ?? endsOf(each)).values()]
}

const arrowTransitions = (graph: ChartGraph): ChartTransition[] =>
  graph.transitions.filter((each) => !isInside(each, graph))

const endsOf = ({ source, targets, kind }: ChartTransition): string =>
  JSON.stringify([source, targets, kind === 'always'])

/** What a transition does, without the state it comes from. */
const effectOf = ({ targets, kind, label, guard, otherwise, actions, reenter, self }: ChartTransition): string =>
  JSON.stringify([targets, kind, label, guard, otherwise, actions, reenter, self])

/** The innermost state that holds all ends; an end itself if the others lie in it. */
function containerOf(states: ReadonlyMap<string, ChartState>, ends: readonly string[]): string {
  const shared = ends
    .map((id) => lineage(states, id))
    .reduce((common, line) => {
      const ids = new Set(line)
      return common.filter((id) => ids.has(id))
    })
  const innermost = shared[0] ?? ends[0] ?? ''
  const state = states.get(innermost)
  // All ends are one state: the arrow is a loop around it.
  if (state !== undefined && state.parent !== null && new Set(ends).size === 1) return state.parent
  return innermost
}
