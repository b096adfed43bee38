/** One job as its page shows it: record, machine, checkpoints, family, and what may be done to it now. */
import type { JobRecord, JobSummary, Json, JsonMachine, MachineView } from '../index.ts'
import { toGraph, type ChartGraph } from '../chart/index.ts'
import { JobchartError } from '../core/errors.ts'
import { isEnded } from '../core/lifecycle.ts'
import type { DashboardSettings, ShownRecord } from './options.ts'

const childrenMax = 100

/** A record, or a part of one, as it may leave the process. */
export function redacted<Shown extends ShownRecord>({ redact }: DashboardSettings, record: Shown): Shown {
  return redact === null ? record : (redact(record) as Shown)
}

interface MachineShown {
  readonly version: string
  readonly value: Json
  readonly context: Json
  readonly tags: readonly string[]
  readonly status: MachineView['status']
  /** Paths of its active states, the outer ones first. */
  readonly states: readonly string[]
  /** The events of its active states, and whether it would take each as `{ type }` alone. */
  readonly events: readonly { readonly type: string; readonly accepted: boolean }[]
}

interface CheckpointShown {
  readonly number: number
  readonly seq: number
  readonly at: number
  readonly note: string
  readonly value: Json
}

export interface JobView {
  readonly now: number
  readonly job: JobRecord
  readonly machine: MachineShown | null
  /** Why the machine cannot be shown, if so. */
  readonly machineProblem: string | null
  readonly checkpoints: readonly CheckpointShown[]
  readonly children: readonly JobSummary[]
  readonly may: { readonly retry: boolean; readonly cancel: boolean; readonly discard: boolean; readonly send: boolean }
}

/** @returns null for a job that is not there */
export async function jobView(settings: DashboardSettings, id: string): Promise<JobView | null> {
  const { client } = settings
  const handle = await client.job(id)
  if (handle === null) return null
  const [record, children] = await Promise.all([
    handle.record(),
    client.list({ parent: id, limit: childrenMax, fields: 'summary' }),
  ])
  const { machine, problem } = await machineShown(settings, record)
  const { state } = record
  return {
    now: client.store.now(),
    job: redacted(settings, record),
    machine,
    machineProblem: problem,
    checkpoints: await checkpointsShown(settings, record),
    children: children.map((child) => redacted(settings, child)),
    may: {
      retry: state === 'dead' || state === 'cancelled',
      cancel: !isEnded(state) && state !== 'cancelling',
      discard: isEnded(state),
      send: record.version !== null && !isEnded(state),
    },
  }
}

async function machineShown(
  settings: DashboardSettings,
  record: JobRecord,
): Promise<{ readonly machine: MachineShown | null; readonly problem: string | null }> {
  const { client } = settings
  const runner = client.jobs.get(record.type)?.machine ?? null
  if (runner === null) {
    const problem = 'This process does not know the machine of the job: list its definition in jobs.'
    return { machine: null, problem: record.version === null ? null : problem }
  }
  try {
    const view = await (await client.job(record.id))?.snapshot()
    if (view === undefined) return { machine: null, problem: null }
    const chart = runner.charts.find(({ version }) => version === record.version) ?? runner.charts.at(-1)
    const version = chart?.version ?? runner.version
    const graph = chart === undefined ? null : toGraph(chart.machine)
    const states = statesIn(view.value)
    const context = contextShown(settings, record, view.context)
    const events = graph === null || isEnded(record.state) ? [] : eventsOf(graph, states, view)
    const { value, tags, status } = view
    return { machine: { version, value, context, tags, status, states, events }, problem: null }
  } catch (error) {
    if (!(error instanceof JobchartError)) throw error
    return { machine: null, problem: error.message }
  }
}

const contextShown = (settings: DashboardSettings, { id, type }: JobRecord, context: Json): Json =>
  redacted(settings, { id, type, checkpoint: { number: 0, state: context } }).checkpoint?.state ?? null

/** `{ paid: 'shipping' }` → `['paid', 'paid.shipping']`. */
export function statesIn(value: unknown, around: readonly string[] = []): string[] {
  if (typeof value === 'string') return [[...around, value].join('.')]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const path = [...around, key]
    return [path.join('.'), ...statesIn(inner, path)]
  })
}

/** What its active states, and the machine around them, wait for from outside. */
export function eventsOf(graph: ChartGraph, states: readonly string[], view: MachineView): MachineShown['events'] {
  const active = new Set(
    graph.states.filter(({ path }) => path.length === 0 || states.includes(path.join('.'))).map(({ id }) => id),
  )
  const named = graph.transitions.filter(
    ({ kind, source, event }) => kind === 'event' && active.has(source) && !event.includes('*'),
  )
  const types = [...new Set(named.map(({ event }) => event))].filter((type) => !type.startsWith('xstate.'))
  return types.map((type) => ({ type, accepted: view.can({ type }) }))
}

async function checkpointsShown(settings: DashboardSettings, { id, type }: JobRecord): Promise<CheckpointShown[]> {
  const runner = settings.client.jobs.get(type)?.machine ?? null
  const kept = await settings.client.store.checkpoints(id)
  return kept.map(({ number, seq, at, note, state }) => {
    const shown = { number, seq, at, note: settings.redact === null ? note : '' }
    try {
      return { ...shown, value: runner === null ? null : runner.viewAt<JsonMachine>(state).value }
    } catch (error) {
      if (!(error instanceof JobchartError)) throw error
      return { ...shown, value: null }
    }
  })
}
