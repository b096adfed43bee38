/** A chart as a Mermaid state diagram, for pages that draw those (GitHub, GitLab, Notion). */
import { transitionsByEnds } from './arrows.ts'
import { mermaidText } from './escape.ts'
import { lineage, rootState, statesById, type ChartGraph, type ChartState } from './graph.ts'
import { stateLines, transitionLine } from './lines.ts'
import { directionOption, drawnGraph, type ChartOptions } from './options.ts'
import type { ChartSource } from './to-graph.ts'

/** Options of `toMermaid`. */
export interface MermaidOptions extends ChartOptions {
  /** Where arrows lead; Mermaid decides by default. */
  readonly direction?: 'auto' | 'right' | 'down'
}

/**
 * A chart as Mermaid text (`stateDiagram-v2`). Mermaid draws no arrow between a state and one in it: those start or end
 * at a small state of their own, "any state" or "again".
 * @param source what `toGraph` takes
 * @throws JobchartError INVALID_OPTION · CHART_TOO_LARGE
 *
 * @example
 * console.log('```mermaid\n' + toMermaid(orderMachine) + '```')
 */
export function toMermaid(source: ChartSource, options: MermaidOptions = {}): string {
  const direction = directionOption(options.direction, 'direction')
  const writer = new Writer(drawnGraph(source, options))
  const turn = direction === 'auto' ? [] : [`  direction ${direction === 'right' ? 'LR' : 'TB'}`]
  return ['stateDiagram-v2', ...turn, ...writer.write(), ''].join('\n')
}

/** Words that Mermaid reads as its own. */
const reserved =
  /^(?:state|note|end|direction|as|fork|join|choice|class|classDef|style|default|hide|scale|left|right|of|title|acc\w*|click|href|root)$/i

/** Stands for the block around the root. */
const outermost = ''

class Writer {
  readonly #graph: ChartGraph
  readonly #states: ReadonlyMap<string, ChartState>
  readonly #names = new Map<string, string>()
  readonly #used = new Set<string>()
  /** Lines at the end of the block of each state: its arrows, and the small states. */
  readonly #blocks = new Map<string, string[]>()

  constructor(graph: ChartGraph) {
    this.#graph = graph
    this.#states = statesById(graph)
    for (const { id, path, key } of graph.states)
      this.#names.set(id, this.#unique(path.length === 0 ? key : path.join('_')))
  }

  write(): string[] {
    const root = rootState(this.#graph)
    for (const arrow of transitionsByEnds(this.#graph)) this.#arrow(arrow)
    const inside = stateLines(this.#graph, root)
    const isFramed = inside.length > 0 || this.#graph.transitions.some(({ targets }) => targets.includes(root.id))
    if (!isFramed && root.type !== 'parallel') return this.#block(root, '  ')
    const state = this.#state(root, '  ')
    return [...state, ...(this.#blocks.get(outermost) ?? []).map((line) => `  ${line}`)]
  }

  #unique(text: string): string {
    let name = text.replaceAll(/[^A-Za-z0-9_]/g, '_')
    if (name === '' || reserved.test(name) || /^\d/.test(name)) name = `s_${name}`
    let free = name
    for (let number = 2; this.#used.has(free); number += 1) free = `${name}_${number}`
    this.#used.add(free)
    return free
  }

  #name(id: string): string {
    return this.#names.get(id) ?? id
  }

  /**
   * Adds a line to the block of a state; Mermaid takes none between regions, so that of a parallel state comes after
   * it.
   */
  #add(container: string, line: string): void {
    let state = this.#states.get(container)
    while (state?.type === 'parallel') state = this.#states.get(state.parent ?? '')
    const key = state?.id ?? outermost
    const block = this.#blocks.get(key) ?? []
    if (!block.includes(line)) block.push(line)
    this.#blocks.set(key, block)
  }

  /** A small state in `container` that stands for it. */
  #standIn(container: string, word: 'any state' | 'again'): string {
    const key = `${container} ${word}`
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const name = this.#unique(`${this.#name(container)}_${word === 'again' ? 'again' : 'any'}`)
    this.#names.set(key, name)
    const text = word === 'again' ? `${this.#states.get(container)?.key ?? ''} again` : 'any state'
    this.#add(container, `state "${mermaidText(text)}" as ${name}`)
    return name
  }

  #arrow({ source, targets, transitions }: ReturnType<typeof transitionsByEnds>[number]): void {
    const text = transitions.map((each) => mermaidText(transitionLine(each))).join(', ')
    for (const each of targets) {
      const target = this.#reachable(each, source)
      const up = lineage(this.#states, source)
      const down = lineage(this.#states, target)
      const isDown = target !== source && down.includes(source)
      const isUp = target !== source && up.includes(target)
      const from = isDown ? this.#standIn(source, 'any state') : this.#name(source)
      const to = isUp ? this.#standIn(target, 'again') : this.#name(target)
      const shared = up.find((id) => down.includes(id)) ?? this.#graph.id
      const container = target === source ? (this.#states.get(source)?.parent ?? this.#graph.id) : shared
      const full =
        target === each ? text : `${text} → ${mermaidText(this.#states.get(each)?.path.join('.') ?? each)}`.trim()
      this.#add(container, `${from} --> ${to}${full === '' ? '' : `: ${full}`}`)
    }
  }

  /** The target of an arrow, or the parallel state around it: Mermaid draws no arrow into a region from outside. */
  #reachable(target: string, source: string): string {
    const up = lineage(this.#states, source)
    const outer = new Set(lineage(this.#states, target).filter((id) => !up.includes(id) && id !== target))
    const parallel = lineage(this.#states, target).filter(
      (id) => this.#states.get(id)?.type === 'parallel' && id !== target,
    )
    return parallel.findLast((id) => outer.has(id) || this.#isOtherRegion(id, source, target)) ?? target
  }

  /** Do source and target lie in different regions of a parallel state? */
  #isOtherRegion(parallel: string, source: string, target: string): boolean {
    const region = (id: string): string | undefined => {
      const line = lineage(this.#states, id)
      return line[line.indexOf(parallel) - 1]
    }
    return lineage(this.#states, source).includes(parallel) && region(source) !== region(target)
  }

  #state(state: ChartState, indent: string): string[] {
    const name = this.#name(state.id)
    const label = state.type === 'history' ? (state.history === 'deep' ? 'H*' : 'H') : state.key
    const facts = stateLines(this.#graph, state)
    if (state.children.length === 0) {
      // The first line about a state that is not declared so would take the place of its name.
      const declared =
        label === name && facts.length === 0
          ? [`${indent}${name}`]
          : // Mermaid takes no empty text: a name of blanks alone is one blank.
            [`${indent}state "${mermaidText(label) || ' '}" as ${name}`]
      return [...declared, ...facts.map((fact) => `${indent}${name}: ${mermaidText(fact)}`)]
    }
    const title = mermaidText([label, ...facts].join(' · ')) || ' '
    const inner = this.#block(state, `${indent}  `)
    return [`${indent}state "${title}" as ${name} {`, ...inner, `${indent}}`]
  }

  #block(state: ChartState, indent: string): string[] {
    const children = state.children.flatMap((id) => this.#states.get(id) ?? [])
    const blocks = children.map((child) => this.#state(child, indent))
    // Mermaid draws no regions within regions.
    const around = lineage(this.#states, state.id).slice(1)
    const isDivided = state.type === 'parallel' && !around.some((id) => this.#states.get(id)?.type === 'parallel')
    const states = isDivided
      ? blocks.flatMap((block, index) => (index === 0 ? block : [`${indent}--`, ...block]))
      : blocks.flat()
    const starts = state.type === 'compound' ? (state.initial?.targets ?? []) : []
    return [
      ...states,
      ...starts.map((id) => `${indent}[*] --> ${this.#name(id)}${this.#initialText(state)}`),
      ...(this.#blocks.get(state.id) ?? []).map((line) => `${indent}${line}`),
      ...children.flatMap(({ id, type }) => (type === 'final' ? [`${indent}${this.#name(id)} --> [*]`] : [])),
      ...children.flatMap(({ id, type, initial }) =>
        type === 'history'
          ? (initial?.targets ?? []).map((to) => `${indent}${this.#name(id)} --> ${this.#name(to)}`)
          : [],
      ),
    ]
  }

  #initialText({ initial }: ChartState): string {
    return initial === null || initial.actions.length === 0 ? '' : `: ${mermaidText(`/ ${initial.actions.join(', ')}`)}`
  }
}
