/** Where the machine of a job stands, as its page shows it: now, and at a checkpoint of the past. */
import type { JobRecord, Json, JsonMachine, MachineView } from '../index.ts'
import type { ChartGraph } from '../chart/index.ts'
import { chartOf, type JobDefinition, type MachineRunner } from '../core/definition.ts'
import { JobchartError } from '../core/errors.ts'
import { actorInWords, eventInWords, noteInWords } from '../core/event-words.ts'
import { isEnded } from '../core/lifecycle.ts'
import { cancelEvent, type CheckpointEntry } from '../core/machine-record.ts'
import { ownValue } from '../core/own-value.ts'
import type { LivedEvent } from '../core/recorded-life.ts'
import { statesIn } from '../core/state-paths.ts'
import { jsonSchemaOf } from './event-schemas.ts'
import { inTurns, nextTurn } from './in-turns.ts'
import type { DashboardSettings } from './options.ts'
import { redacted, shownRecord, type ShownRecord } from './redaction.ts'

interface EventShown {
  readonly type: string
  /** Would it be taken as `{ type }` alone? */
  readonly accepted: boolean
  /** Of its fields, without `type`; null if its definition gives no JSON Schema for it. */
  readonly schema: Json
}

interface TimerShown {
  /** The type of the event, as the transitions of the chart name it. */
  readonly event: string
  /** In words: `after 2 d`; for an event that the machine sends itself, its type. */
  readonly label: string
  /** When it is due, ms since the epoch. */
  readonly at: number
}

export interface MachineShown {
  readonly version: string
  readonly value: Json
  readonly context: Json
  readonly tags: readonly string[]
  readonly status: MachineView['status']
  /** Paths of its active states, the outer ones first. */
  readonly states: readonly string[]
  /** The events of its active states. */
  readonly events: readonly EventShown[]
  /** The timers that are set, the earliest first. */
  readonly timers: readonly TimerShown[]
}

export interface CheckpointShown {
  readonly number: number
  readonly seq: number
  readonly at: number
  readonly note: string
  readonly value: Json
  /** Ids of its active states in the chart, the outer ones first. */
  readonly nodes: readonly string[]
}

/** An event that led to a checkpoint. */
export interface EventOfPast extends LivedEvent {
  /** What happened, in words: `charge done`, `after 2d`. */
  readonly words: string
  /** The actor in words: `charge`; one without an id by its state, `work of paying`. */
  readonly actorWords: string | null
}

/** A checkpoint of the past, with where the machine stood there. */
export interface PastView extends CheckpointShown {
  readonly machine: MachineShown
  /** The events that led to it; null if they were more than are kept. */
  readonly events: readonly EventOfPast[] | null
}

export interface JobShown {
  /** Its record, with the context of its machine in place of its state: what `redact` leaves of that. */
  readonly job: ReturnType<typeof shownRecord>
  /** Null for a job without a machine, and where `problem` says why it cannot be shown. */
  readonly machine: MachineShown | null
  readonly problem: string | null
}

/** A job, and where its machine stands. */
export async function jobShown(settings: DashboardSettings, record: JobRecord): Promise<JobShown> {
  const { client } = settings
  const without = (problem: string | null): JobShown => {
    return { job: redacted(settings.redact, shownRecord(record, undefined)), machine: null, problem }
  }
  const job = client.jobs.get(record.type)
  if (job === undefined || job.machine === null) {
    const problem = 'This process does not know the machine of the job: list its definition in jobs.'
    return without(record.version === null ? null : problem)
  }
  try {
    const view = await (await client.job(record.id))?.snapshot()
    if (view === undefined) return without(null)
    await nextTurn()
    // Once: the context is converted from the state of XState, and a record may have megabytes.
    const left = redacted(settings.redact, shownRecord(record, view.context))
    const machine = shown(settings, record, job, view, left.checkpoint?.context ?? null)
    return { job: left, machine, problem: view.unsupported }
  } catch (error) {
    if (!(error instanceof JobchartError)) throw error
    return without(error.message)
  }
}

/**
 * @returns null if the job has no such checkpoint any more, or its machine is not known here
 * @throws JobchartError UNSUPPORTED
 */
export async function pastView(settings: DashboardSettings, record: JobRecord, seq: number): Promise<PastView | null> {
  const job = settings.client.jobs.get(record.type)
  const kept = await settings.client.store.checkpoints(record.id)
  const at = kept.findIndex((each) => each.seq === seq)
  const entry = kept[at]
  if (job === undefined || job.machine === null || entry === undefined) return null
  await nextTurn()
  const view = job.machine.viewAt<JsonMachine>(entry.state)
  await nextTurn()
  const { checkpoint } = redacted(settings.redact, shownRecord(record, view.context))
  const machine = { ...shown(settings, record, job, view, checkpoint?.context ?? null), events: [] }
  const graph = graphOf(settings, job.machine, record)
  await nextTurn()
  const events = job.machine.eventsAt(entry.state, kept[at - 1]?.state ?? null)
  return {
    ...checkpointShown(settings, job.machine, graph, entry),
    machine,
    events: events === null ? null : eventsShown(settings, record, events, graph),
  }
}

/** Events of the past: `redact` gets them as events in the inbox. */
export function eventsShown(
  { redact }: DashboardSettings,
  { id, type, input }: JobRecord,
  events: readonly LivedEvent[],
  graph: ChartGraph | null,
): EventOfPast[] {
  const inbox = events.map(({ at, type: name, data }, number) => {
    const event = { ...(data as Record<string, Json>), type: name }
    return { number, at, message: { kind: 'event' as const, event } }
  })
  const { inbox: shown = [] } = redacted<ShownRecord>(redact, { id, type, input, inbox })
  return events.map((each, number) => {
    const message = shown.find((entry) => entry.number === number)?.message
    const { type: _, ...data } = (message?.kind === 'event' ? message.event : {}) as Record<string, Json>
    const actorWords = each.actor === null ? null : actorInWords(each.actor)
    return { ...each, data, words: wordsOf(each.type, graph), actorWords }
  })
}

/** As the chart names it, where it has a transition for it. */
const wordsOf = (event: string, graph: ChartGraph | null): string =>
  graph?.transitions.find((each) => each.event === event)?.label ?? eventInWords(event)

/** The checkpoints that are kept, oldest first. */
export async function checkpointsShown(
  settings: DashboardSettings,
  record: JobRecord,
): Promise<readonly CheckpointShown[]> {
  const runner = settings.client.jobs.get(record.type)?.machine ?? null
  const graph = runner === null ? null : graphOf(settings, runner, record)
  const kept = await settings.client.store.checkpoints(record.id)
  await nextTurn()
  return inTurns(kept, (entry) => checkpointShown(settings, runner, graph, entry))
}

function checkpointShown(
  settings: DashboardSettings,
  runner: MachineRunner | null,
  graph: ChartGraph | null,
  { number, seq, at, note, state }: CheckpointEntry,
): CheckpointShown {
  const entry = { number, seq, at, note: settings.redact === null ? noteInWords(note) : '' }
  try {
    const value = runner === null ? null : runner.viewAt<JsonMachine>(state).value
    const states = statesIn(value)
    const nodes = (graph?.states ?? []).filter(({ path }) => states.includes(path.join('.'))).map(({ id }) => id)
    return { ...entry, value, nodes }
  } catch (error) {
    if (!(error instanceof JobchartError)) throw error
    return { ...entry, value: null, nodes: [] }
  }
}

function shown(
  settings: DashboardSettings,
  record: JobRecord,
  job: JobDefinition,
  view: MachineView,
  context: Json,
): MachineShown {
  const { machine: runner, eventSchemas } = job
  const graph = runner === null ? null : graphOf(settings, runner, view)
  const states = statesIn(view.value)
  const events = graph === null || isEnded(record.state) ? [] : eventsOf(graph, states, view)
  return {
    version: view.version,
    value: view.value,
    context,
    tags: view.tags,
    status: view.status,
    states,
    events: events.map((event) => {
      const schema = ownValue(eventSchemas, event.type)
      return { ...event, schema: schema === undefined ? null : jsonSchemaOf(schema) }
    }),
    timers: view.timers.map(({ event, at }) => ({ event, at, label: wordsOf(event, graph) })),
  }
}

const graphOf = (
  { graphs }: DashboardSettings,
  runner: MachineRunner,
  { version }: { readonly version: string | null },
): ChartGraph => graphs.of(chartOf(runner, version).machine)

/** What its active states, and the machine around them, wait for from outside. */
export function eventsOf(
  graph: ChartGraph,
  states: readonly string[],
  view: MachineView,
): readonly { readonly type: string; readonly accepted: boolean }[] {
  const active = new Set(
    graph.states.filter(({ path }) => path.length === 0 || states.includes(path.join('.'))).map(({ id }) => id),
  )
  const named = graph.transitions.filter(
    ({ kind, source, event }) => kind === 'event' && active.has(source) && !event.includes('*'),
  )
  // XState's own events are not sent from outside; a job is cancelled by a cancel.
  const types = [...new Set(named.map(({ event }) => event))].filter(
    (type) => !type.startsWith('xstate.') && type !== cancelEvent,
  )
  // Whether an event is accepted is not known of a machine that cannot go on here.
  return types.map((type) => ({ type, accepted: view.unsupported === null && view.can({ type }) }))
}
