/** A chart as a Mermaid state diagram, for pages that draw those (GitHub, GitLab, Notion). */
import { checkEnum } from '../core/checks.ts'
import { arrowsOf, isInside } from './arrows.ts'
import { guardLabel } from './content.ts'
import { mermaidText } from './escape.ts'
import { lineage, rootState, statesById, type ChartGraph, type ChartState, type ChartTransition } from './graph.ts'
import { drawnGraph, type ChartOptions } from './options.ts'
import type { ChartSource } from './to-graph.ts'

export interface MermaidOptions extends ChartOptions {
  /** Where arrows lead; Mermaid decides by default. */
  readonly direction?: 'auto' | 'right' | 'down'
}

/**
 * A chart as Mermaid text (`stateDiagram-v2`). Mermaid draws no arrow between a state and one in it: those start or end at a
 * small state of their own, "any state" or "again".
 * @param source what `toGraph` takes
 * @throws JobchartError INVALID_OPTION · CHART_TOO_LARGE
 *
 * @example
 * console.log('```mermaid\n' + toMermaid(orderMachine) + '```')
 */
export function toMermaid(source: ChartSource, options: MermaidOptions = {}): string {
  const direction = checkEnum('direction', options.direction ?? 'auto', ['auto', 'right', 'down'])
  const writer = new Writer(drawnGraph(source, options))
  const turn = direction === 'auto' ? [] : [`  direction ${direction === 'right' ? 'LR' : 'TB'}`]
  return ['stateDiagram-v2', ...turn, ...writer.write(), ''].join('\n')
}

/** Words that Mermaid reads as its own. */
const reserved =
  /^(?:state|note|end|direction|as|fork|join|choice|class|classDef|style|default|hide|scale|left|right|of|title|acc\w*|click|href)$/i

/** One transition in a line: `FAIL [mayRetry] / note`. */
export function transitionInLine(transition: ChartTransition): string {
  const { label, actions } = transition
  const effect = actions.length === 0 ? '' : `/ ${actions.join(', ')}`
  return [label, guardLabel(transition), effect].filter((part) => part !== '').join(' ')
}

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
    for (const arrow of arrowsOf(this.#graph)) this.#arrow(arrow)
    const inside = this.#facts(root)
    const isFramed = inside.length > 0 || this.#graph.transitions.some(({ targets }) => targets.includes(root.id))
    if (isFramed || root.type === 'parallel') return this.#state(root, '  ')
    return this.#block(root, '  ')
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

  #add(container: string, line: string): void {
    const block = this.#blocks.get(container) ?? []
    if (!block.includes(line)) block.push(line)
    this.#blocks.set(container, block)
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

  #arrow({ source, targets, transitions }: ReturnType<typeof arrowsOf>[number]): void {
    const text = transitions.map((each) => mermaidText(transitionInLine(each))).join(', ')
    for (const target of targets) {
      const up = lineage(this.#states, source)
      const down = lineage(this.#states, target)
      const isDown = target !== source && down.includes(source)
      const isUp = target !== source && up.includes(target)
      const from = isDown ? this.#standIn(source, 'any state') : this.#name(source)
      const to = isUp ? this.#standIn(target, 'again') : this.#name(target)
      const shared = up.find((id) => down.includes(id)) ?? this.#graph.id
      const container = target === source ? (this.#states.get(source)?.parent ?? this.#graph.id) : shared
      this.#add(container, `${from} --> ${to}${text === '' ? '' : `: ${text}`}`)
    }
  }

  /** What a state does, in lines. */
  #facts(state: ChartState): string[] {
    const inside = this.#graph.transitions.filter((each) => each.source === state.id && isInside(each, this.#graph))
    return [
      ...state.entry.map((action) => `entry / ${action}`),
      ...state.exit.map((action) => `exit / ${action}`),
      ...state.invokes.map(({ id, source }) => `invoke ${/^\d+\./.test(id) ? source : id}`),
      ...inside.map((each) => `${transitionInLine(each)}${each.forbidden ? ' (forbidden)' : ''}`),
      ...(state.hidden > 0 ? [`… ${state.hidden} states`] : []),
    ]
  }

  #state(state: ChartState, indent: string): string[] {
    const name = this.#name(state.id)
    const label = state.type === 'history' ? (state.history === 'deep' ? 'H*' : 'H') : state.key
    const facts = this.#facts(state)
    if (state.children.length === 0) {
      const declared = label === name ? [`${indent}${name}`] : [`${indent}state "${mermaidText(label)}" as ${name}`]
      return [...declared, ...facts.map((fact) => `${indent}${name}: ${mermaidText(fact)}`)]
    }
    const title = mermaidText([label, ...facts].join(' · '))
    const inner = this.#block(state, `${indent}  `)
    return [`${indent}state "${title}" as ${name} {`, ...inner, `${indent}}`]
  }

  #block(state: ChartState, indent: string): string[] {
    const children = state.children.flatMap((id) => this.#states.get(id) ?? [])
    const blocks = children.map((child) => this.#state(child, indent))
    const states =
      state.type === 'parallel'
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
