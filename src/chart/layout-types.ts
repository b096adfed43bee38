/** A chart with a place for everything in it. */
import type { Content } from './content.ts'
import type { Box, Point } from './geometry.ts'
import type { ChartGraph, ChartState, ChartTransition } from './graph.ts'

/** A chart that was laid out; positions and sizes in px. */
export interface ChartLayout {
  readonly width: number
  readonly height: number
  readonly direction: 'right' | 'down'
  /** The chart that is drawn: cut at `depth`. */
  readonly graph: ChartGraph
  /** Outer states before the states in them. */
  readonly states: readonly PlacedState[]
  readonly labels: readonly PlacedLabel[]
  readonly edges: readonly PlacedEdge[]
  /** The dots at which compound states start. */
  readonly dots: readonly PlacedDot[]
  /** The dashed lines between the regions of parallel states. */
  readonly separators: readonly (readonly [Point, Point])[]
  /** What is not drawn as it would be with more time, in words; null if nothing. */
  readonly note: string | null
}

/** A state with its box and what is written in it. */
export interface PlacedState {
  readonly state: ChartState
  readonly box: Box
  readonly content: Content
  /** How far the content is moved to the right, in px, because a line runs where it would stand. */
  readonly shift: number
  /** Is it a region of a parallel state, with lines instead of a border? */
  readonly region: 'separated' | 'boxed' | null
}

/** The label of an arrow. */
export interface PlacedLabel {
  /** The arrow's. */
  readonly id: string
  /** The states it comes from; more than one if the same transition leads from several states to one. */
  readonly sources: readonly string[]
  readonly targets: readonly string[]
  readonly transitions: readonly ChartTransition[]
  readonly box: Box
  readonly content: Content
  /** The id of the state in which it lies. */
  readonly container: string
}

/** A line of an arrow: an arrow with a label has one to it, and one from it to each target. */
export interface PlacedEdge {
  /** The arrow's; null for the arrow of an initial dot. */
  readonly arrow: string | null
  readonly transitions: readonly ChartTransition[]
  /** The state it comes from; null if from a dot, or from a label that several states share. */
  readonly source: string | null
  /** The state it leads to, after the label if it has one. */
  readonly targets: readonly string[]
  /** Does it end at a state, with a head? */
  readonly isHead: boolean
  readonly points: readonly Point[]
}

/** The dot at which a compound state starts; its middle. */
export interface PlacedDot extends Point {
  readonly radius: number
  /** The state that starts here. */
  readonly state: string
}
