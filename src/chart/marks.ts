/**
 * What is said about the states of a chart from outside: active ones, counts, tones and the path a job took, by the
 * states that are drawn.
 */
import { invalidOption } from '../core/errors.ts'
import { readHeat, type Heat, type HeatMarks } from './heat.ts'
import { lineage, type ChartGraph, type ChartState, type ChartTransition } from './graph.ts'
import { tones, type Tone } from './theme.ts'

/** A state value of XState: `'paid'`, `{ paid: 'shipping' }`, `{ a: 'x', b: { c: 'y' } }`. */
export type ActiveValue = string | { readonly [state: string]: ActiveValue | undefined }

/** A transition: from a state by an event to a state. */
export interface PathStep {
  /** The state before by default. */
  readonly from?: string | null
  readonly event?: string
  readonly to: string
}

/** What is marked in a picture of a chart. */
export interface MarkOptions {
  /** The states a job or an actor is in: a state value of XState, or a list of ids. They are filled. */
  readonly active?: ActiveValue | readonly string[]
  /** A number in each state, by id, path (`paid.shipping`) or name. */
  readonly counts?: Readonly<Record<string, number>>
  /**
   * The transitions of a job, in order; their arrows are numbered. A list of states stands for the transitions from
   * each to the next, and the events of a job fit as they are: what is no arrow of the chart (an enqueue, a log line)
   * gets no number.
   */
  readonly path?: readonly (PathStep | string)[]
  /**
   * How machines go through the chart, as `queue(type).heat()` of a runtime or client tells it. An arrow is as wide as
   * the share of its transitions in the one that was taken most often; the median and the 95th percentile of the time
   * in a state stand in it.
   */
  readonly heat?: HeatMarks
  /**
   * The colour of a state by its meaning, by id, path or name. The states of `jobchart`'s own chart of a job have
   * theirs.
   */
  readonly tones?: Readonly<Record<string, Tone>>
}

export interface Marks {
  readonly active: ReadonlySet<string>
  readonly counts: ReadonlyMap<string, number>
  /** The numbers of the steps of the path in which each transition was taken. */
  readonly steps: ReadonlyMap<string, readonly number[]>
  readonly tones: ReadonlyMap<string, Tone>
  readonly heat: Heat | null
}

const jobTones: Readonly<Record<string, Tone>> = {
  scheduled: 'queued',
  queued: 'queued',
  running: 'running',
  retrying: 'retrying',
  waiting: 'waiting',
  cancelling: 'cancelling',
  done: 'done',
  dead: 'dead',
  cancelled: 'cancelled',
}

/**
 * Finds the states that options speak of.
 * @param whole the chart; `drawn` may be cut at a depth: marks of hidden states go to the state that stands for them
 * @throws JobchartError INVALID_OPTION if a count is no number, or a tone is unknown
 */
export function readMarks(whole: ChartGraph, drawn: ChartGraph, options: MarkOptions): Marks {
  const finder = new Finder(whole, drawn)
  const counts = new Map<string, number>()
  for (const [name, count] of Object.entries(options.counts ?? {})) {
    if (!Number.isFinite(count)) throw invalidOption(`counts.${name}`, 'a number', count)
    const id = finder.drawn(finder.find(name))
    if (id !== null) counts.set(id, (counts.get(id) ?? 0) + count)
  }
  return {
    active: activeStates(finder, options.active),
    counts,
    steps: steps(finder, options.path ?? []),
    tones: tonesOf(finder, options),
    heat: options.heat === undefined ? null : readHeat(options.heat, drawn, (name) => finder.drawn(finder.find(name))),
  }
}

class Finder {
  readonly graph: ChartGraph
  readonly picture: ChartGraph
  readonly #byId: ReadonlyMap<string, ChartState>
  readonly #byName = new Map<string, string>()
  readonly #drawn: ReadonlySet<string>
  constructor(graph: ChartGraph, picture: ChartGraph) {
    this.graph = graph
    this.picture = picture
    this.#byId = new Map(graph.states.map((state) => [state.id, state]))
    this.#drawn = new Set(picture.states.map(({ id }) => id))
    for (const { id, path } of graph.states) if (path.length > 0) this.#byName.set(path.join('.'), id)
    for (const { id, key } of graph.states) if (!this.#byName.has(key)) this.#byName.set(key, id)
  }

  /** The id of a state by its id, path or name. */
  find(name: string): string | null {
    return this.#byId.has(name) ? name : (this.#byName.get(name.replace(/^#/, '')) ?? null)
  }

  /** The state that is drawn for a state. */
  drawn(id: string | null): string | null {
    if (id === null) return null
    return lineage(this.#byId, id).find((each) => this.#drawn.has(each)) ?? null
  }

  child(parent: string, key: string): string | null {
    return this.#byId.get(parent)?.children.find((id) => this.#byId.get(id)?.key === key) ?? null
  }

  around(id: string): string[] {
    return lineage(this.#byId, id)
  }
}

function activeStates(finder: Finder, active: MarkOptions['active']): Set<string> {
  const ids = new Set<string>()
  const add = (id: string | null): void => {
    for (const each of id === null ? [] : finder.around(id)) {
      const shown = finder.drawn(each)
      if (shown !== null && shown !== finder.graph.id) ids.add(shown)
    }
  }
  const walk = (parent: string, value: ActiveValue): void => {
    const entries = typeof value === 'string' ? [[value, undefined] as const] : Object.entries(value)
    for (const [key, inner] of entries) {
      const id = finder.child(parent, key) ?? (inner === undefined ? finder.find(key) : null)
      if (id === null) continue
      add(id)
      if (inner !== undefined) walk(id, inner)
    }
  }
  if (isList(active)) for (const name of active) add(finder.find(name))
  else if (active !== undefined) walk(finder.graph.id, active)
  return ids
}

const isList = (active: MarkOptions['active']): active is readonly string[] => Array.isArray(active)

function steps(finder: Finder, path: readonly (PathStep | string)[]): Map<string, number[]> {
  const taken = typeof path[0] === 'string' ? path.slice(1) : path
  let before = typeof path[0] === 'string' ? path[0] : undefined
  const numbers = new Map<string, number[]>()
  let count = 0
  for (const each of taken) {
    const step: PathStep = typeof each === 'string' ? { to: each } : each
    const transition = transitionOf(finder, step.from ?? before, step)
    before = step.to
    if (transition === null) continue
    count += 1
    numbers.set(transition.id, [...(numbers.get(transition.id) ?? []), count])
  }
  return numbers
}

/**
 * The transition a step took: of the state it left or of one around it, to the state it came to or to one around that.
 */
function transitionOf(finder: Finder, from: string | undefined, step: PathStep): ChartTransition | null {
  const source = finder.drawn(from === undefined ? null : finder.find(from))
  const target = finder.drawn(finder.find(step.to))
  if (source === null || target === null) return null
  const sources = finder.around(source)
  const targets = new Set(finder.around(target))
  const fitting = finder.picture.transitions.filter(
    (transition) =>
      sources.includes(transition.source) &&
      transition.targets.some((id) => targets.has(id)) &&
      (step.event === undefined || step.event === transition.event || step.event === transition.label),
  )
  const rank = ({ source: id }: ChartTransition): number => sources.indexOf(id)
  return fitting.toSorted((a, b) => rank(a) - rank(b))[0] ?? null
}

function tonesOf(finder: Finder, options: MarkOptions): Map<string, Tone> {
  const found = new Map<string, Tone>()
  const { graph } = finder
  const isJob = graph.states.length === 10 && graph.states.slice(1).every(({ key }) => Object.hasOwn(jobTones, key))
  const wanted = { ...(isJob ? jobTones : {}), ...options.tones }
  for (const [name, tone] of Object.entries(wanted)) {
    if (!tones.includes(tone)) throw invalidOption(`tones.${name}`, tones.join(', '), tone)
    const id = finder.find(name)
    if (id !== null) found.set(id, tone)
  }
  return found
}
