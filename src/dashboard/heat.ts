/** The heat of a type's chart, as its page shows it: with words of the chart, and with the jobs that are stuck. */
import type { ChartGraph, HeatMarks } from '../chart/index.ts'
import { takenBySource } from '../chart/heat.ts'
import { guardLabel } from '../chart/lines.ts'
import { chartOf } from '../core/definition.ts'
import type { ChartHeat, HeatOptions, StateHeat } from '../core/heat.ts'
import { innermost } from '../core/state-paths.ts'
import { nextTurn } from './in-turns.ts'
import type { DashboardSettings } from './options.ts'

/** Jobs of a state that are looked at: those that were enqueued first. */
const lookedAtMax = 50
/** States whose jobs are looked at: those with the most jobs. */
const lookedInMax = 20

export interface StateShown extends StateHeat {
  /** Jobs that stand in it now. */
  readonly jobs: number
  /**
   * Of its jobs that were enqueued first, fifty at most: those that have waited longer since they ran last than 99 of
   * 100 stays were; and the one that has waited longest.
   */
  readonly stuck: number
  readonly stuckId: string | null
  /** Are there more jobs in it than were looked at? */
  readonly more: boolean
}

export interface TransitionShown {
  readonly id: string
  /** The path of the state it belongs to; empty for the root. */
  readonly from: string
  /** What it waits for, in words, with its guard. */
  readonly label: string
  readonly to: readonly string[]
  readonly count: number
  /** Of the transitions of its state, 0…1. */
  readonly share: number
  /** The job that has taken it last. */
  readonly lastId: string | null
}

export interface HeatShown extends Pick<ChartHeat, 'period' | 'from' | 'version' | 'versions'> {
  /** The longest in all first; those that no job has left in this time are left out, unless jobs stand in them. */
  readonly states: readonly StateShown[]
  /** Those of the chart, the one that was taken most often first. */
  readonly transitions: readonly TransitionShown[]
}

/** @returns null if this process does not have the machine of the type */
export async function heatView(
  settings: DashboardSettings,
  type: string,
  options: HeatOptions,
): Promise<HeatShown | null> {
  const { client, graphs } = settings
  const runner = client.jobs.get(type)?.machine ?? null
  if (runner === null) return null
  const heat = await client.queue(type).heat(options)
  const graph = graphs.of(chartOf(runner, heat.version).machine)
  const { states: standing } = await client.store.machineCounts(type)
  await nextTurn()
  const { period, from, version, versions } = heat
  return {
    period,
    from,
    version,
    versions,
    states: await statesShown(settings, type, heat, standing),
    transitions: transitionsShown(graph, heat),
  }
}

interface Stuck {
  readonly stuck: readonly string[]
  readonly more: boolean
}

const nobody: Stuck = { stuck: [], more: false }

async function statesShown(
  { client: { store } }: DashboardSettings,
  type: string,
  { states }: ChartHeat,
  standing: Readonly<Record<string, number>>,
): Promise<StateShown[]> {
  const counts = new Map(Object.entries(standing))
  const looked = new Set(
    innermost([...counts.keys()])
      .toSorted((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0))
      .slice(0, lookedInMax),
  )
  const shown: StateShown[] = []
  for (const each of states) {
    const jobs = counts.get(each.state) ?? 0
    const { stuck, more } = jobs > 0 && looked.has(each.state) ? await stuckIn(each) : nobody
    shown.push({ ...each, jobs, stuck: stuck.length, stuckId: stuck[0] ?? null, more })
  }
  for (const [state, jobs] of counts) {
    if (states.some((each) => each.state === state)) continue
    shown.push({ state, count: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0, jobs, stuck: 0, stuckId: null, more: false })
  }
  return shown.toSorted((a, b) => b.count * b.p50Ms - a.count * a.p50Ms || b.jobs - a.jobs)

  /** Ids, the longest wait first. */
  async function stuckIn({ state, p99Ms }: StateHeat): Promise<Stuck> {
    const jobs = await store.list({
      type,
      state: 'waiting',
      machineState: state,
      limit: lookedAtMax,
      fields: ['id', 'startedAt'],
    })
    const since = store.now() - p99Ms
    const stuck = jobs
      .filter(({ startedAt }) => startedAt !== null && startedAt < since)
      .toSorted((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0))
      .map(({ id }) => id)
    return { stuck, more: jobs.next !== undefined }
  }
}

function transitionsShown(graph: ChartGraph, heat: ChartHeat): TransitionShown[] {
  const { states, transitions } = graph
  const paths = new Map(states.map(({ id, path }) => [id, path.join('.')]))
  const taken = new Map(heat.transitions.map((each) => [each.id, each]))
  const counts = new Map(heat.transitions.map(({ id, count }) => [id, count]))
  const bySource = takenBySource(graph, counts)
  return transitions
    .filter(({ forbidden }) => !forbidden)
    .map((transition): TransitionShown => {
      const { id, source, label, targets } = transition
      const count = counts.get(id) ?? 0
      return {
        id,
        from: paths.get(source) ?? source,
        label: [label === '' ? 'always' : label, guardLabel(transition)].filter((text) => text !== '').join(' '),
        to: targets.map((target) => paths.get(target) ?? target),
        count,
        share: count / Math.max(1, bySource.get(source) ?? 0),
        lastId: taken.get(id)?.lastId ?? null,
      }
    })
    .toSorted((a, b) => b.count - a.count)
}

/** What is drawn of it. */
export const heatMarks = ({ transitions, states }: HeatShown): HeatMarks => ({
  transitions,
  states: states.filter(({ count }) => count > 0),
  stuck: Object.fromEntries(states.map(({ state, stuck }) => [state, stuck])),
})
