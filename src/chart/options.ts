/** What may be said about a picture, and its checks. */
import { checkEnum, checkInteger } from '../core/checks.ts'
import { checkSize, collapse, statesMaxDefault } from './collapse.ts'
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
  /** What computes the layout, for example elkjs in a worker; by default elkjs in this thread, loaded when it is first needed. */
  readonly engine?: LayoutEngine
}

/** The method of an `ELK` of elkjs that is used: takes and gives a graph in ELK's JSON form. */
export interface LayoutEngine {
  readonly layout: (graph: { readonly id: string }) => Promise<object>
}

/** The graph that is drawn: checked for its size and cut at `depth`. */
export function drawnGraph(source: ChartSource, { depth, statesMax = statesMaxDefault }: ChartOptions): ChartGraph {
  const graph = toGraph(source)
  const drawn = depth === undefined ? graph : collapse(graph, checkInteger('depth', depth, 1, 1_000))
  checkSize(drawn, graph, checkInteger('statesMax', statesMax, 1, 10_000))
  return drawn
}

export const checkedDirection = ({ direction = 'auto' }: LayoutOptions): 'auto' | 'right' | 'down' =>
  checkEnum('direction', direction, ['auto', 'right', 'down'])
