/** A chart as a tree of text, for a terminal. */
import { boolean, byDefault } from '../core/checks.ts'
import { hasOwnId, rootState, statesById, type ChartGraph, type ChartState, type ChartTransition } from './graph.ts'
import { guardLabel, hiddenText } from './lines.ts'
import { readMarks, type MarkOptions, type Marks } from './marks.ts'
import { drawnGraph, type ChartOptions } from './options.ts'
import { shortNumber } from './count-badge.ts'
import { textColumns } from './text-width.ts'
import { toGraph, type ChartSource } from './to-graph.ts'

/** Options of `toText`. */
export interface TextOptions extends ChartOptions, Pick<MarkOptions, 'active' | 'counts'> {
  /** Only ASCII characters are used for lines and marks. No by default. */
  readonly ascii?: boolean
  /** Are tags written? Yes by default. */
  readonly tags?: boolean
}

interface Signs {
  readonly branch: string
  readonly last: string
  readonly pipe: string
  readonly to: string
  readonly start: string
  readonly active: string
  readonly none: string
}

const unicode: Signs = { branch: '├─ ', last: '└─ ', pipe: '│  ', to: '→', start: '▸', active: '●', none: '∅' }
const plain: Signs = { branch: '|- ', last: '`- ', pipe: '|  ', to: '->', start: '>', active: '*', none: '(nothing)' }

const asciiOption = byDefault(false, boolean)

/**
 * A chart as a tree: each state with what it does, and under it its transitions in columns. `▸` marks where a chart
 * starts, `●` the active states.
 * @param source what `toGraph` takes
 * @throws JobchartError INVALID_OPTION · CHART_TOO_LARGE
 *
 * @example
 * console.log(toText(orderMachine, { active: { paid: 'shipping' } }))
 */
export function toText(source: ChartSource, options: TextOptions = {}): string {
  const graph = drawnGraph(source, options)
  const marks = readMarks(toGraph(source), graph, options)
  const signs = asciiOption(options.ascii, 'ascii') ? plain : unicode
  const writer = new Writer(graph, marks, signs, options.tags ?? true)
  return `${writer.lines(rootState(graph), '', '').join('\n')}\n`
}

class Writer {
  readonly #graph: ChartGraph
  readonly #states: ReadonlyMap<string, ChartState>
  readonly #marks: Marks
  readonly #signs: Signs
  readonly #tags: boolean
  constructor(graph: ChartGraph, marks: Marks, signs: Signs, tags: boolean) {
    this.#graph = graph
    this.#states = statesById(graph)
    this.#marks = marks
    this.#signs = signs
    this.#tags = tags
  }

  /** The lines of a state and of those in it; `lead` stands before its own line, `indent` before the others. */
  lines(state: ChartState, lead: string, indent: string): string[] {
    const children = state.children.flatMap((id) => this.#states.get(id) ?? [])
    const bar = children.length > 0 ? this.#signs.pipe : '   '
    const facts = [...this.#facts(state), ...this.#transitions(state)]
    const inner = children.flatMap((child, index) => {
      const isLast = index === children.length - 1
      const under = isLast ? '   ' : this.#signs.pipe
      const sign = isLast ? this.#signs.last : this.#signs.branch
      return this.lines(child, indent + sign, indent + under)
    })
    return [lead + this.#title(state), ...facts.map((fact) => `${indent}${bar}  ${fact}`.trimEnd()), ...inner]
  }

  #title(state: ChartState): string {
    const { active, counts } = this.#marks
    const parent = this.#states.get(state.parent ?? '')
    const isStart = parent?.type === 'compound' && (parent.initial?.targets.includes(state.id) ?? false)
    const kind = state.type === 'atomic' || state.type === 'compound' ? '' : this.#kind(state)
    const count = counts.get(state.id)
    return [
      isStart ? this.#signs.start : '',
      active.has(state.id) ? this.#signs.active : '',
      oneLine(state.key),
      kind,
      count === undefined ? '' : `[${shortNumber(count)}]`,
      ...(this.#tags ? state.tags.map((tag) => `#${oneLine(tag)}`) : []),
      state.description === null ? '' : `- ${oneLine(state.description)}`,
    ]
      .filter((part) => part !== '')
      .join(' ')
  }

  #kind({ type, history }: ChartState): string {
    return type === 'history' ? `(${history === 'deep' ? 'deep history' : 'history'})` : `(${type})`
  }

  #facts(state: ChartState): string[] {
    return [
      ...state.entry.map((action) => `entry / ${oneLine(action)}`),
      ...state.exit.map((action) => `exit / ${oneLine(action)}`),
      ...state.invokes.map((invoke) => {
        const { id, source } = invoke
        return oneLine(`invoke ${hasOwnId(invoke) ? `${id}${source === id ? '' : ` (${source})`}` : source}`)
      }),
      ...(state.hidden > 0 ? [hiddenText(state)] : []),
      ...(state.type === 'history'
        ? (state.initial?.targets ?? []).map((id) => `default ${this.#signs.to} ${this.#nameOf(id)}`)
        : []),
    ]
  }

  #transitions(state: ChartState): string[] {
    const rows = this.#graph.transitions
      .filter(({ source }) => source === state.id)
      .map((transition) => {
        const event = [transition.label || 'always', guardLabel(transition)].filter((part) => part !== '').join(' ')
        return { event: oneLine(event), rest: this.#effect(transition) }
      })
    const width = Math.min(40, Math.max(0, ...rows.map(({ event }) => textColumns(event))))
    return rows.map(({ event, rest }) => `${event}${' '.repeat(Math.max(0, width - textColumns(event)))}  ${rest}`)
  }

  #effect({ targets, actions, forbidden }: ChartTransition): string {
    if (forbidden) return this.#signs.none
    const to = targets.length === 0 ? '' : `${this.#signs.to} ${targets.map((id) => this.#nameOf(id)).join(', ')}`
    const effect = actions.length === 0 ? '' : `/ ${actions.map(oneLine).join(', ')}`
    return [to, effect].filter((part) => part !== '').join('  ')
  }

  #nameOf(id: string): string {
    const state = this.#states.get(id)
    return oneLine(state === undefined || state.path.length === 0 ? (state?.key ?? id) : state.path.join('.'))
  }
}

/** Names hold no line breaks and no control characters (a terminal would obey them). */
const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\s+/g, ' ')
    .replace(/\p{Cc}/gu, '\ufffd')
