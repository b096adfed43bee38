/** The arrows of a picture: transitions with the same ends share one, so that six events need one line and not six. */
import { isInside, lineage, statesById, type ChartGraph, type ChartTransition } from './graph.ts'
import { labelContent, type Content } from './content.ts'

export interface Arrow {
  /** Unique in the picture. */
  readonly id: string
  readonly source: string
  readonly targets: readonly string[]
  readonly transitions: readonly ChartTransition[]
  /** Null if nothing is written on it. */
  readonly label: Content | null
  /** The id of the state in which the label lies. */
  readonly container: string
  readonly isLoop: boolean
}

/**
 * The arrows of a chart; a transition without a target is none, it is written in its state.
 * @param withActions are actions written on the labels?
 */
export function arrowsOf(graph: ChartGraph, withActions = true): Arrow[] {
  const states = statesById(graph)
  const groups = new Map<string, ChartTransition[]>()
  for (const transition of graph.transitions) {
    if (isInside(transition, graph)) continue
    const key = JSON.stringify([transition.source, transition.targets, transition.kind === 'always'])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [transition])
    else group.push(transition)
  }
  return [...groups.values()].flatMap((transitions, index): Arrow[] => {
    const first = transitions[0]
    if (first === undefined) return []
    const { source, targets } = first
    const isLoop = targets.length === 1 && targets[0] === source
    const container = containerOf(states, source, targets)
    const label = labelContent(transitions, withActions)
    return [{ id: `${index}`, source, targets, transitions, label, container, isLoop }]
  })
}

/** The innermost state that holds the source and all targets; the source or a target itself if the others lie in it. */
function containerOf(states: Parameters<typeof lineage>[0], source: string, targets: readonly string[]): string {
  const lines = [source, ...targets].map((id) => lineage(states, id))
  const shared = lines.reduce((common, line) => common.filter((id) => line.includes(id)))
  const innermost = shared[0] ?? source
  const state = states.get(innermost)
  const ends = new Set([source, ...targets])
  // All ends are one state: the arrow is a loop around it.
  if (state !== undefined && state.parent !== null && ends.size === 1) return state.parent
  return innermost
}
