/** Cuts a chart at a depth, so that a large one can be drawn: what lies deeper is shown as one state with a number. */
import { counted } from '../core/counted.ts'
import { JobchartError } from '../core/errors.ts'
import { lineage, statesById, type ChartGraph, type ChartState, type ChartTransition } from './graph.ts'

/** How many states a picture may have if `statesMax` is not given: about a second of layout. */
export const statesMaxDefault = 300

/** How many levels of states a chart has below its root. */
export const depthOf = (graph: ChartGraph): number =>
  graph.states.reduce((deepest, { path }) => Math.max(deepest, path.length), 0)

/**
 * The chart without the states that lie deeper than `depth` (1: only the children of the root). Transitions from and to
 * them start and end at the state that stands for them; those between two states that one state stands for are left
 * out.
 */
export function collapse(graph: ChartGraph, depth: number): ChartGraph {
  const states = statesById(graph)
  const standIn = (id: string): string => {
    const line = lineage(states, id)
    return line[Math.max(0, line.length - 1 - depth)] ?? id
  }
  const hiddenIn = new Map<string, number>()
  for (const { id } of graph.states) {
    const shown = standIn(id)
    if (shown !== id) hiddenIn.set(shown, (hiddenIn.get(shown) ?? 0) + 1)
  }
  const seen = new Set<string>()
  const transitions = graph.transitions.flatMap((transition): ChartTransition[] => {
    const source = standIn(transition.source)
    const targets = [...new Set(transition.targets.map(standIn))]
    const lifted = source !== transition.source || targets.some((id) => !transition.targets.includes(id))
    if (!lifted) return [transition]
    if (targets.length === 0 || (targets.length === 1 && targets[0] === source)) return []
    const same = JSON.stringify([source, targets, transition.event, transition.guard, transition.actions])
    if (seen.has(same)) return []
    seen.add(same)
    return [{ ...transition, source, targets, self: false }]
  })
  const shown = graph.states.filter(({ id }) => standIn(id) === id)
  return { ...graph, states: shown.map((state) => cut(state, hiddenIn.get(state.id) ?? 0, standIn)), transitions }
}

function cut(state: ChartState, hidden: number, standIn: (id: string) => string): ChartState {
  if (hidden > 0) return { ...state, type: 'atomic', children: [], initial: null, hidden }
  if (state.initial === null) return state
  return { ...state, initial: { ...state.initial, targets: [...new Set(state.initial.targets.map(standIn))] } }
}

const transitionsPerState = 10

/** Has a chart no more states than `statesMax`, and no more than ten times as many transitions? */
export const fitsSize = ({ states, transitions }: ChartGraph, statesMax: number): boolean =>
  states.length <= statesMax && transitions.length <= transitionsPerState * statesMax

/**
 * @param drawn the chart after it was cut
 * @param whole the chart before
 * @throws JobchartError CHART_TOO_LARGE if more than `statesMax` states would be drawn, or ten times as many
 * transitions; the hint says which depth would do
 */
export function checkSize(drawn: ChartGraph, whole: ChartGraph, statesMax: number): void {
  if (fitsSize(drawn, statesMax)) return
  const size = drawn.states.length
  const transitionsMax = transitionsPerState * statesMax
  if (size <= statesMax) {
    const hint = 'Draw fewer levels with `depth`, or raise `statesMax`: ten transitions are allowed for each state.'
    const message = `chart ${drawn.id} has ${counted(drawn.transitions.length, 'transition')} to draw, ${transitionsMax} at most`
    throw new JobchartError('CHART_TOO_LARGE', message, { hint })
  }
  const depths = whole.states.map(({ path }) => path.length)
  let depth = 0
  while (depths.filter((each) => each <= depth + 1).length <= statesMax) depth += 1
  const hint =
    depth === 0
      ? 'Draw a part of it, or raise `statesMax` if you can wait.'
      : `Pass \`depth: ${depth}\`: it draws ${depths.filter((each) => each <= depth).length} of them. Or raise \`statesMax\`.`
  throw new JobchartError(
    'CHART_TOO_LARGE',
    `chart ${drawn.id} has ${counted(size, 'state')} to draw, ${statesMax} at most`,
    {
      hint,
    },
  )
}
