/** What may be said about a picture, and its checks. */
import { byDefault, integer, oneOf } from '../core/checks.ts'
import type { Duration } from '../core/duration.ts'
import { checkSize, collapse, fitsSize, statesMaxDefault } from './collapse.ts'
import type { ChartGraph } from './graph.ts'
import { toGraph, type ChartSource } from './to-graph.ts'

/** Options of every format. */
export interface ChartOptions {
  /** How many levels of states are drawn below the root; deeper ones are shown as a number. All by default. */
  readonly depth?: number
  /** A chart with more states than this is refused with CHART_TOO_LARGE. 300 by default, at most 10,000. */
  readonly statesMax?: number
}

/** Options of what needs a layout. */
export interface LayoutOptions extends ChartOptions {
  /** Where arrows lead: `right`, `down`, or `auto` (the default): the one whose picture has the better shape. */
  readonly direction?: 'auto' | 'right' | 'down'
  /** Are tags drawn? Yes by default. */
  readonly tags?: boolean
  /** Are the actions of transitions drawn? Yes by default. */
  readonly actions?: boolean
  /** Is room kept for a count in each state? No by default; `toSvg` with `counts` keeps it. */
  readonly counted?: boolean
  /** Is room kept for the times in each state? No by default; `toSvg` with `heat` keeps it. */
  readonly timed?: boolean
  /**
   * The longest time of a layout, for example `2_000` or `'2s'`; none by default. What would take longer is drawn to
   * the depth that fits, or else with its transitions written in its states; the picture says so. The time is estimated
   * first, because an engine in this thread cannot be interrupted: a slow computer may exceed it.
   */
  readonly timeLimit?: Duration
  /**
   * What computes the layout, for example elkjs in a worker; by default elkjs in this thread, loaded when it is first
   * needed.
   */
  readonly engine?: LayoutEngine
}

/** The method of an `ELK` of elkjs that is used: takes and gives a graph in ELK's JSON form. */
export interface LayoutEngine {
  readonly layout: (graph: { readonly id: string }) => Promise<object>
}

const depthOption = integer(1, 1_000)
const statesMaxOption = byDefault(statesMaxDefault, integer(1, 10_000))
export const directionOption = byDefault('auto', oneOf('auto', 'right', 'down'))

/**
 * The graph that is drawn: checked for its size and cut at `depth`.
 * @param mayCollapse is a chart that is too large let through, because it has a depth at which it is not?
 */
export function drawnGraph(source: ChartSource, options: ChartOptions, mayCollapse = false): ChartGraph {
  const { depth } = options
  const graph = toGraph(source)
  const drawn = depth === undefined ? graph : collapse(graph, depthOption(depth, 'depth'))
  const statesMax = statesMaxOf(options)
  if (!(mayCollapse && isWithinSize(collapse(drawn, 1), options))) checkSize(drawn, graph, statesMax)
  return drawn
}

const statesMaxOf = ({ statesMax }: ChartOptions): number => statesMaxOption(statesMax, 'statesMax')

/** May a chart of this size be drawn? */
export const isWithinSize = (graph: ChartGraph, options: ChartOptions): boolean => fitsSize(graph, statesMaxOf(options))
