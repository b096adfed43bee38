/** Gives everything in a chart its place. Several plans are tried when the first one is not faultless, and the best is taken. */
import type { ElkNode } from 'elkjs/lib/elk-api.js'
import { JobchartError } from '../core/errors.ts'
import { fromElk, measure, toElk, type Measured, type Plan } from './elk-graph.ts'
import { findFaults } from './faults.ts'
import type { ChartLayout } from './layout-types.ts'
import { checkedDirection, drawnGraph, type LayoutEngine, type LayoutOptions } from './options.ts'
import type { ChartSource } from './to-graph.ts'

/** A picture that is wider than this is shrunk where a page shows it. */
const comfortableWidth = 960
const comfortableHeight = 900
/** Above this, only as many plans are tried as are needed for a faultless one. */
const quickStates = 60

/**
 * Lays a chart out: the box of every state, the box of every label, the line of every arrow. No label lies over a state, a line
 * or another label.
 * @param source what `toGraph` takes
 * @returns the same layout for the same chart, in every process and in a browser
 * @throws JobchartError INVALID_OPTION · CHART_TOO_LARGE if more than `statesMax` states would be drawn · UNSUPPORTED if the
 * engine finds no layout; `cause` is its error
 *
 * @example
 * const { width, height, states } = await layout(orderMachine, { direction: 'down' })
 */
export async function layout(source: ChartSource, options: LayoutOptions = {}): Promise<ChartLayout> {
  const direction = checkedDirection(options)
  const graph = drawnGraph(source, options)
  const { tags = true, actions = true, counted = false } = options
  const measured = measure(graph, { tags, actions, counted })
  const engine = options.engine ?? (await loadElk())
  const search = new Search(measured, engine)
  const directions = direction === 'auto' ? (['right', 'down'] as const) : [direction]
  const small = graph.states.length <= quickStates
  for (const each of directions) {
    if (each === 'right' || small || search.isPoor || direction !== 'auto') await search.tryDirection(each)
  }
  return search.best()
}

const plans: readonly Omit<Plan, 'direction'>[] = [
  { cycles: 'DEPTH_FIRST', loops: 'native', roomy: false },
  { cycles: 'DEPTH_FIRST', loops: 'label', roomy: false },
  { cycles: 'GREEDY', loops: 'native', roomy: false },
  { cycles: 'DEPTH_FIRST', loops: 'native', roomy: true },
  { cycles: 'GREEDY', loops: 'label', roomy: true },
]

interface Scored {
  readonly layout: ChartLayout
  readonly faults: number
  readonly cost: number
}

class Search {
  readonly #found: Scored[] = []
  readonly #measured: Measured
  readonly #engine: LayoutEngine
  #error: unknown
  constructor(measured: Measured, engine: LayoutEngine) {
    this.#measured = measured
    this.#engine = engine
  }

  get isPoor(): boolean {
    return this.#found.every(({ faults }) => faults > 0)
  }

  /** Tries plans until one is faultless. */
  async tryDirection(direction: 'right' | 'down'): Promise<void> {
    for (const { cycles, loops, roomy } of plans) {
      const scored = await this.#try({ direction, cycles, loops, roomy })
      if (scored?.faults === 0) return
    }
  }

  async #try(plan: Plan): Promise<Scored | null> {
    try {
      const picture = (await this.#engine.layout(toElk(this.#measured, plan))) as ElkNode
      const layout = fromElk(picture, this.#measured, plan)
      const scored = score(layout)
      this.#found.push(scored)
      return scored
    } catch (error) {
      // ELK fails at some charts with one strategy and not with another; its error is thrown if all fail.
      this.#error = error
      return null
    }
  }

  best(): ChartLayout {
    const [best] = this.#found.toSorted((a, b) => a.faults - b.faults || a.cost - b.cost)
    if (best !== undefined) return best.layout
    const message = `chart ${this.#measured.graph.id} could not be laid out`
    const hint = 'Draw a part of it with `depth`, or use toMermaid, toDot or toText.'
    throw new JobchartError('UNSUPPORTED', message, { hint, cause: this.#error })
  }
}

function score(layout: ChartLayout): Scored {
  const { overlaps, headings, crossings } = findFaults(layout)
  const { width, height } = layout
  const bends = layout.edges.reduce((sum, { points }) => sum + points.length - 2, 0)
  const shrunk = Math.max(0, 1 - comfortableWidth / width) * 60 + Math.max(0, 1 - comfortableHeight / height) * 60
  const shape = Math.abs(Math.log(width / height / 1.5)) * 12
  return {
    layout,
    faults: overlaps * 10 + headings,
    cost: crossings * 2 + bends * 0.4 + shrunk + shape + (width * height) / 60_000,
  }
}

async function loadElk(): Promise<LayoutEngine> {
  const { default: elk } = await import('elkjs/lib/elk.bundled.js')
  return new elk.default()
}
