/** A chart in the DOT language of Graphviz. */
import { byDefault, oneOf } from '../core/checks.ts'
import { transitionsByEnds } from './arrows.ts'
import { dotString } from './escape.ts'
import { lineage, rootState, statesById, type ChartGraph, type ChartState } from './graph.ts'
import { stateLines, transitionLine } from './lines.ts'
import { drawnGraph, type ChartOptions } from './options.ts'
import type { ChartSource } from './to-graph.ts'

/** Options of `toDot`. */
export interface DotOptions extends ChartOptions {
  /** Where arrows lead; `down` by default. */
  readonly direction?: 'right' | 'down'
}

const directionOption = byDefault('down', oneOf('right', 'down'))

/**
 * A chart as DOT text. States with states in them are clusters.
 * @param source what `toGraph` takes
 * @throws JobchartError INVALID_OPTION · CHART_TOO_LARGE
 *
 * @example
 * await writeFile('order.dot', toDot(orderMachine)) // dot -Tpdf order.dot
 */
export function toDot(source: ChartSource, options: DotOptions = {}): string {
  const direction = directionOption(options.direction, 'direction')
  const graph = drawnGraph(source, options)
  const states = statesById(graph)
  const names = new Map(graph.states.map(({ id }, index) => [id, `s${index}`]))
  const writer = { graph, states, name: (id: string): string => names.get(id) ?? 's0' }
  return [
    `digraph ${dotString(graph.id)} {`,
    `  graph [rankdir=${direction === 'right' ? 'LR' : 'TB'}, compound=true, fontname="Helvetica", fontsize=12]`,
    '  node [shape=box, style=rounded, fontname="Helvetica", fontsize=12]',
    '  edge [fontname="Helvetica", fontsize=10]',
    ...nodeLines(rootState(graph), writer, '  '),
    ...edgeLines(writer),
    '}',
    '',
  ].join('\n')
}

interface Writer {
  readonly graph: ChartGraph
  readonly states: ReadonlyMap<string, ChartState>
  readonly name: (id: string) => string
}

function nodeLines(state: ChartState, writer: Writer, indent: string): string[] {
  const name = writer.name(state.id)
  const label = dotString([state.key, ...stateLines(writer.graph, state)].join('\n'))
  if (state.type === 'history') {
    const text = state.history === 'deep' ? 'H*' : 'H'
    return [`${indent}${name} [label="${text}", shape=circle, style=solid, width=0.3, fixedsize=true]`]
  }
  if (state.children.length === 0) {
    return [`${indent}${name} [label=${label}${state.type === 'final' ? ', peripheries=2' : ''}]`]
  }
  const isRegion = writer.states.get(state.parent ?? '')?.type === 'parallel'
  const children = state.children.flatMap((id) => writer.states.get(id) ?? [])
  const starts = state.type === 'compound' ? (state.initial?.targets ?? []) : []
  return [
    `${indent}subgraph ${dotString(`cluster_${name}`)} {`,
    `${indent}  label=${label}; style=${isRegion ? 'dashed' : 'rounded'}`,
    `${indent}  ${name} [label="", shape=point, style=${starts.length > 0 ? 'filled, width=0.1' : 'invis'}]`,
    ...children.flatMap((child) => nodeLines(child, writer, `${indent}  `)),
    ...starts.map((id) => `${indent}  ${name} -> ${writer.name(id)}`),
    `${indent}}`,
  ]
}

function edgeLines({ graph, states, name }: Writer): string[] {
  /** The attribute that cuts an edge at the border of a cluster, unless the other end lies in it. */
  const border = (side: 'lhead' | 'ltail', id: string, other: string): string[] =>
    (states.get(id)?.children.length ?? 0) === 0 || lineage(states, other).includes(id)
      ? []
      : [`${side}=${dotString(`cluster_${name(id)}`)}`]
  const edge = (source: string, target: string, text: readonly string[]): string => {
    const label = text.length === 0 ? [] : [`label=${dotString(text.join('\n'))}`]
    const attributes = [...label, ...border('ltail', source, target), ...border('lhead', target, source)]
    return `  ${name(source)} -> ${name(target)}${attributes.length === 0 ? '' : ` [${attributes.join(', ')}]`}`
  }
  const lines = transitionsByEnds(graph).flatMap(({ source, targets, transitions }) => {
    const text = transitions.map(transitionLine).filter((each) => each !== '')
    return targets.map((target) => edge(source, target, text))
  })
  const defaults = graph.states.flatMap(({ id, type, initial }) =>
    type === 'history' ? (initial?.targets ?? []).map((to) => edge(id, to, [])) : [],
  )
  return [...lines, ...defaults]
}
