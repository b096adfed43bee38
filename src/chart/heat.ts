/** The heat of a chart as it is drawn: how wide arrows are, and what stands in states of the time in them. */
import { counted } from '../core/counted.ts'
import { brief } from '../core/time-words.ts'
import type { ChartGraph, ChartTransition } from './graph.ts'

/** What is drawn of a `ChartHeat`. */
export interface HeatMarks {
  /** How often each transition was taken, by its id in the graph. */
  readonly transitions: readonly { readonly id: string; readonly count: number }[]
  /** Times in states, by path, ms. */
  readonly states: readonly {
    readonly state: string
    readonly count: number
    readonly p50Ms: number
    readonly p95Ms: number
    readonly p99Ms: number
  }[]
  /** Jobs that are longer in a state than 99 of 100 were, by path: such a state glows. None by default. */
  readonly stuck?: Readonly<Record<string, number>>
}

type StateTimes = HeatMarks['states'][number]

export interface Heat {
  /** How often each transition was taken, by id. */
  readonly counts: ReadonlyMap<string, number>
  /** Of the transition that was taken most often. */
  readonly most: number
  /** By the id of the source: how often its transitions were taken. */
  readonly bySource: ReadonlyMap<string, number>
  readonly times: ReadonlyMap<string, StateTimes>
  readonly stuck: ReadonlyMap<string, number>
}

/** Steps of the width of arrows: `jc-heat-0` was never taken, `jc-heat-8` most often. */
export const heatLevels = 8

/** How often the transitions of each state were taken, by its id. @param counts by the id of the transition */
export function takenBySource({ transitions }: ChartGraph, counts: ReadonlyMap<string, number>): Map<string, number> {
  const bySource = new Map<string, number>()
  for (const { id, source } of transitions) {
    bySource.set(source, (bySource.get(source) ?? 0) + (counts.get(id) ?? 0))
  }
  return bySource
}

/** @param idOf finds the state that is drawn for a path */
export function readHeat(
  { transitions, states, stuck = {} }: HeatMarks,
  drawn: ChartGraph,
  idOf: (path: string) => string | null,
): Heat {
  const counts = new Map(transitions.map(({ id, count }) => [id, count]))
  const paths = new Map(drawn.states.map(({ id, path }) => [id, path.join('.')]))
  const own = <T>(entries: readonly (readonly [path: string, value: T])[]): Map<string, T> =>
    new Map(
      entries.flatMap(([path, value]) => {
        const id = idOf(path)
        // What is known of a state that is not drawn says nothing of the one that stands for it.
        return id !== null && paths.get(id) === path ? [[id, value] as const] : []
      }),
    )
  return {
    counts,
    most: Math.max(0, ...transitions.map(({ count }) => count)),
    bySource: takenBySource(drawn, counts),
    times: own(states.map((each) => [each.state, each] as const)),
    stuck: own(Object.entries(stuck).filter(([, count]) => count > 0)),
  }
}

const takenBy = ({ counts }: Heat, transitions: readonly ChartTransition[]): number =>
  transitions.reduce((sum, { id }) => sum + (counts.get(id) ?? 0), 0)

/** The class of an arrow: by the root of its share, so that what is rare can still be told from what never was. */
export function heatClass(heat: Heat | null, transitions: readonly ChartTransition[]): string {
  if (heat === null) return ''
  const taken = takenBy(heat, transitions)
  const level = taken === 0 ? 0 : Math.max(1, Math.round(heatLevels * Math.sqrt(Math.min(1, taken / heat.most))))
  return ` jc-heat jc-heat-${level}`
}

/** `taken 1,204 times, 31 % of the transitions of its state`; null without heat. */
export function heatWords(heat: Heat | null, transition: ChartTransition): string | null {
  if (heat === null) return null
  const taken = takenBy(heat, [transition])
  const all = heat.bySource.get(transition.source) ?? 0
  if (taken === 0) return 'never taken'
  return `taken ${counted(taken, 'time')}, ${Math.round((100 * taken) / all)} % of the transitions of its state`
}

/** The room in px that is kept for the times of a state, below its name. */
export const timesRoom = { width: 144, height: 16 }

/** `median 2 s · p95 1 min`; null if the state was never left. */
export function timesText(heat: Heat | null, id: string): { readonly text: string; readonly title: string } | null {
  const times = heat?.times.get(id)
  if (times === undefined) return null
  const { count, p50Ms, p95Ms, p99Ms } = times
  const stuck = heat?.stuck.get(id) ?? 0
  const still = stuck === 0 ? '' : `; ${counted(stuck, 'job')} longer than that`
  return {
    text: `median ${brief(p50Ms)} · p95 ${brief(p95Ms)}`,
    title: `left ${counted(count, 'time')}: 99 of 100 within ${brief(p99Ms)}${still}`,
  }
}
