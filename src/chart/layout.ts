/**
 * Gives everything in a chart its place. Several plans are tried when the first one is not faultless, and the best is
 * taken.
 */
import type { ElkNode } from 'elkjs/lib/elk-api.js'
import { systemClock } from '../core/clock.ts'
import { durationMs } from '../core/duration.ts'
import { JobchartError } from '../core/errors.ts'
import { collapse, depthOf } from './collapse.ts'
import { effortOf, isWithin } from './effort.ts'
import { fromElk, isLevel, measure, toElk, type Measured, type Plan } from './elk-graph.ts'
import { findFaults } from './faults.ts'
import type { ChartGraph } from './graph.ts'
import type { ChartLayout } from './layout-types.ts'
import { listLayout } from './list-layout.ts'
import { directionOption, drawnGraph, isWithinSize, type LayoutEngine, type LayoutOptions } from './options.ts'
import type { ChartSource } from './to-graph.ts'

/** A picture that is wider than this is shrunk where a page shows it. */
const comfortableWidth = 960
const comfortableHeight = 900
/** Larger pictures than this are cut into rows where that is possible, or lead in the other direction. */
const widthMax = 1_600
const heightMax = 2_000
/** Above this, only as many plans are tried as are needed for a faultless one. */
const quickStates = 60
/** The room in px for the note below the picture. */
const noteHeight = 24

/**
 * Lays a chart out: the box of every state, the box of every label, the line of every arrow. No label lies over a
 * state, a line or another label.
 * @param source what `toGraph` takes
 * @returns the same layout for the same chart, in every process and in a browser; with `timeLimit`, on a computer of
 * the same speed
 * @throws JobchartError INVALID_OPTION · CHART_TOO_LARGE if more than `statesMax` states would be drawn · UNSUPPORTED
 * if the engine finds no layout; `cause` is its error
 *
 * @example
 * const { width, height, states } = await layout(orderMachine, { direction: 'down' })
 */
export async function layout(source: ChartSource, options: LayoutOptions = {}): Promise<ChartLayout> {
  const startedAt = systemClock.monotonic()
  const limitMs = options.timeLimit === undefined ? Infinity : durationMs(options.timeLimit, 'timeLimit')
  const direction = directionOption(options.direction, 'direction')
  const graph = drawnGraph(source, options, limitMs !== Infinity)
  const fitted = limitMs === Infinity ? asItIs(graph, options) : fit(graph, options, limitMs)
  if (fitted === null) return asList(graph, options)
  const engine = options.engine ?? (await loadElk())
  const search = new Search(fitted, engine, startedAt, limitMs)
  await search.run(direction)
  return search.best() ?? asList(fitted.measured.graph, options)
}

/** A chart that is laid out by ELK. */
interface Fitted {
  readonly measured: Measured
  readonly effort: number
  readonly note: string | null
}

function asItIs(
  graph: ChartGraph,
  { tags = true, actions = true, counted = false, timed = false }: LayoutOptions,
): Fitted {
  const measured = measure(graph, { tags, actions, counted, timed })
  return { measured, effort: effortOf(measured), note: null }
}

/** The chart to the greatest depth that can be laid out in time; null if there is none. */
function fit(graph: ChartGraph, options: LayoutOptions, limitMs: number): Fitted | null {
  const levels = depthOf(graph)
  for (let depth = levels; depth >= 1; depth -= 1) {
    const whole = depth === levels
    const drawn = whole ? graph : collapse(graph, depth)
    if (!isWithinSize(drawn, options)) continue
    const fitted = asItIs(drawn, options)
    // Half of the time is for starting the engine and for what follows the layout.
    if (!isWithin(fitted.effort, 'LINEAR_SEGMENTS', limitMs / 2_000)) continue
    const note = whole ? null : `${tooSlow} drawn to depth ${depth} of ${levels}.`
    return { ...fitted, note }
  }
  return null
}

const tooSlow = 'This chart takes too long to lay out:'

function asList(graph: ChartGraph, { tags = true, counted = false, timed = false }: LayoutOptions): ChartLayout {
  return withNote(listLayout(graph, { tags, counted, timed }), `${tooSlow} transitions are written in their states.`)
}

function withNote(placed: ChartLayout, note: string | null): ChartLayout {
  return note === null ? placed : { ...placed, height: placed.height + noteHeight, note }
}

const base = { placement: 'NETWORK_SIMPLEX', roomy: false, wrapped: false } as const
const plans: readonly Omit<Plan, 'direction'>[] = [
  { ...base, cycles: 'DEPTH_FIRST', loops: 'native' },
  { ...base, cycles: 'DEPTH_FIRST', loops: 'label' },
  { ...base, cycles: 'GREEDY', loops: 'native' },
  { ...base, cycles: 'DEPTH_FIRST', loops: 'native', roomy: true },
  { ...base, cycles: 'GREEDY', loops: 'label', roomy: true },
]

interface Scored {
  readonly layout: ChartLayout
  readonly faults: number
  readonly cost: number
}

class Search {
  readonly #scored: Scored[] = []
  readonly #fitted: Fitted
  readonly #engine: LayoutEngine
  readonly #endsAt: number
  /** Is the chart so small that plans may be tried for their looks? */
  readonly #isSmall: boolean
  readonly #placement: Plan['placement']
  #error: unknown
  constructor(fitted: Fitted, engine: LayoutEngine, startedAt: number, limitMs: number) {
    this.#fitted = fitted
    this.#engine = engine
    this.#endsAt = startedAt + limitMs
    // With a time limit, a plan for its looks may take a twentieth of it.
    const isQuick = isWithin(fitted.effort, 'NETWORK_SIMPLEX', Math.min(1, limitMs / 20_000))
    this.#isSmall = isQuick && fitted.measured.graph.states.length <= quickStates
    this.#placement = isQuick ? 'NETWORK_SIMPLEX' : 'LINEAR_SEGMENTS'
  }

  async run(direction: 'auto' | 'right' | 'down'): Promise<void> {
    const directions = direction === 'auto' ? (['right', 'down'] as const) : [direction]
    for (const each of directions) {
      if (each === directions[0] || this.#isSmall || this.#isPoor) await this.#tryDirection(each)
    }
    if (!this.#isPoor || !isLevel(this.#fitted.measured)) return
    for (const each of directions) {
      const rows = { ...base, cycles: 'DEPTH_FIRST', loops: 'native', placement: 'LINEAR_SEGMENTS' } as const
      await this.#try({ ...rows, direction: each, wrapped: true })
    }
  }

  get #isPoor(): boolean {
    return this.#scored.every(({ faults, layout: { width, height } }) => {
      return faults > 0 || width > widthMax || height > heightMax
    })
  }

  /** Tries plans until one is faultless. */
  async #tryDirection(direction: 'right' | 'down'): Promise<void> {
    const placement = this.#placement
    for (const plan of placement === 'NETWORK_SIMPLEX' ? plans : plans.slice(0, 2)) {
      const scored = await this.#try({ ...plan, direction, placement })
      if (scored?.faults === 0) return
    }
  }

  async #try(plan: Plan): Promise<Scored | null> {
    if (systemClock.monotonic() >= this.#endsAt) return null
    try {
      const { measured } = this.#fitted
      const picture = (await this.#engine.layout(toElk(measured, plan))) as ElkNode
      const scored = score(fromElk(picture, measured, plan))
      this.#scored.push(scored)
      return scored
    } catch (error) {
      // ELK fails at some charts with one strategy and not with another; its error is thrown if all fail.
      this.#error = error
      return null
    }
  }

  /**
   * The best layout; null if no time was left for one.
   * @throws JobchartError UNSUPPORTED if the engine failed with all plans
   */
  best(): ChartLayout | null {
    const [best] = this.#scored.toSorted((a, b) => a.faults - b.faults || a.cost - b.cost)
    const { measured, note } = this.#fitted
    if (best !== undefined) return withNote(best.layout, note)
    if (this.#error === undefined) return null
    const message = `chart ${measured.graph.id} could not be laid out`
    const hint = 'Draw a part of it with `depth`, or use toMermaid, toDot or toText.'
    throw new JobchartError('UNSUPPORTED', message, { hint, cause: this.#error })
  }
}

function score(layout: ChartLayout): Scored {
  const { overlaps, headings, crossings } = findFaults(layout)
  const { width, height } = layout
  const bends = layout.edges.reduce((sum, { points }) => sum + points.length - 2, 0)
  const shrunk = Math.max(0, 1 - comfortableWidth / width) * 60 + Math.max(0, 1 - comfortableHeight / height) * 60
  const excess = Math.max(0, width - widthMax) / 8 + Math.max(0, height - heightMax) / 16
  const shape = Math.abs(Math.log(width / height / 1.5)) * 12
  return {
    layout,
    faults: overlaps * 10 + headings,
    cost: crossings * 2 + bends * 0.4 + shrunk + excess + shape + (width * height) / 60_000,
  }
}

/** The layout engine; it takes 200 ms to load. */
export async function loadElk(): Promise<LayoutEngine> {
  const { default: elk } = await import('elkjs/lib/elk.bundled.js')
  return new elk.default()
}
