/**
 * XState itself as the judge: a case lives once as a live actor and once as a job, is told the same events and given
 * the same time, and both tell the same story. Then the job lives again, cut off from its store at each of its writes,
 * and comes to the same end.
 */
import {
  createClient,
  createRuntime,
  defineJob,
  JobchartError,
  memoryStore,
  type JobDefinition,
  type JobHandle,
  type Json,
  type Runtime,
} from 'jobchart'
import { VirtualClock } from 'jobchart/testing'
import {
  createActor,
  type AnyActorLogic,
  type AnyActorRef,
  type AnyEventObject,
  type AnyStateMachine,
  type AnyStateNode,
} from 'xstate'
import { cutStore, type Cut, type CutStore } from '../support/cut-store.ts'
import type { Told } from '../support/lives.ts'
import { effectProblems } from '../support/effects.ts'
import { keptState, spiedStore, type KeptState } from '../support/spied-store.ts'
import { SkippingClock } from './skipping-clock.ts'
import { text, Workshop, type Config, type Implementations, type Tools } from './chart.ts'
import type { Difference } from './differences.ts'

/** An event, or several that come together, or ms that pass. */
export type Step = number | string | AnyEventObject | readonly AnyEventObject[]

/**
 * Times: a promise takes 100 ms or none, everything else 5 s or more, so that the time for which a job that was cut off
 * belongs to nobody changes no order.
 */
export interface Case {
  readonly name: string
  readonly chart: Config
  readonly with?: (make: Workshop) => Implementations
  readonly input?: Json
  readonly steps?: readonly Step[]
  /** Why the job's story is another one. */
  readonly differs?: Difference
  /** Why a kill changes it. */
  readonly cutDiffers?: Difference
}

/** What happened, in the order in which it did; after each step where the machine stands. */
interface Life {
  readonly lines: readonly string[]
  readonly end: string
}

interface LiveLife extends Life {
  /**
   * Can a job not be expected to live the same? Two instants are so near each other that one that is a little late
   * could change their order; it failed in a step, of which a job executes nothing; an actor goes on that is in no
   * snapshot; XState lost an active state, which its own persisted snapshot has.
   */
  readonly isSpecial: boolean
  /** For each step, how far it is from one instant at which something happened to the next. */
  readonly gaps: readonly (readonly number[])[]
}

interface JobLife extends Life {
  readonly told: readonly Told[]
  readonly writes: number
}

function machineOf({ chart, with: given }: Case, make: Workshop): AnyStateMachine {
  return make.machine(chart, given?.(make))
}

const eventsOf = (step: Exclude<Step, number>): readonly AnyEventObject[] =>
  typeof step === 'string' ? [{ type: step }] : Array.isArray(step) ? step : [step as AnyEventObject]

/** Where a machine stands, of what both kinds of life keep. */
function standing(kept: PersistedSnapshot, tags: readonly string[]): string {
  const { status, value, context, output, error, children } = kept
  if (status === 'error') return `error ${text(error)}`
  const active = Object.entries(children ?? {}).filter(([, child]) => child.snapshot.status === 'active')
  const actors = status === 'active' ? active.map(([id]) => id).toSorted() : []
  return text({ status, value, context, output, tags: tags.toSorted(), actors })
}

interface PersistedSnapshot {
  readonly status: string
  readonly value?: unknown
  readonly context?: unknown
  readonly output?: unknown
  readonly error?: unknown
  readonly children?: Readonly<Record<string, { readonly snapshot: { readonly status: string } }>>
}

/** Macrotasks without news after which everything has come to rest. */
const quietTurns = 5

async function rest(news: () => number): Promise<void> {
  let last = news()
  for (let quiet = 0; quiet < quietTurns; quiet++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (news() !== last) quiet = 0
    last = news()
  }
}

/** The case as XState lives it. */
async function asActor(each: Case): Promise<LiveLife> {
  const clock = new VirtualClock()
  const lines: string[] = []
  const gaps: number[][] = []
  /** When timers are due, whether they fire or not. */
  const timers: number[] = []
  const fired: number[] = []
  /** When promises settle and steps end. */
  const others: number[] = []
  const actors = new Set<AnyActorRef>()
  let lostState = false
  let instants: number[] = []
  const happens = (): void => void instants.push(clock.now())
  const make = new Workshop({
    tell: (_kind, what) => void lines.push(what),
    sleep: (ms, signal) => {
      others.push(clock.now() + ms)
      return clock.sleep(ms, signal).finally(happens)
    },
  })
  const actor = createActor(machineOf(each, make) as AnyActorLogic, {
    id: 'job',
    input: each.input,
    logger: () => {},
    inspect: (seen) => {
      if (seen.type === '@xstate.actor') actors.add(seen.actorRef as AnyActorRef)
      if (seen.type === '@xstate.snapshot' && lacksParent(seen.snapshot as SnapshotOfStates)) lostState = true
    },
    clock: {
      setTimeout: (run: () => void, ms: number) => {
        timers.push(clock.now() + ms)
        const fire = (): void => {
          fired.push(clock.now())
          happens()
          run()
        }
        return clock.timer(fire, ms, { keepAlive: true })
      },
      clearTimeout: (timer: ReturnType<VirtualClock['timer']> | undefined) => timer?.cancel(),
    } as never,
  })
  actor.on('*', (event) => void lines.push(`emits ${text(event)}`))
  actor.subscribe({ error: () => {} })
  const stands = (): string => {
    const snapshot = actor.getSnapshot() as { readonly tags?: ReadonlySet<string> }
    const kept = actor.getPersistedSnapshot() as PersistedSnapshot
    return standing(kept, [...(snapshot.tags ?? [])])
  }
  const settled = async (): Promise<void> => {
    await rest(() => lines.length + instants.length)
    // A delay of 0 is over when everything else has come to rest.
    await clock.advance(0)
    lines.push(`= ${stands()}`)
  }
  actor.start()
  await settled()
  for (const step of each.steps ?? []) {
    instants = []
    const from = clock.now()
    if (typeof step === 'number') {
      await clock.advance(step)
      others.push(clock.now())
    } else {
      const events = eventsOf(step)
      const line = lines.push(...events.map((event) => `> ${text(event)}`)) - events.length
      for (const [i, event] of events.entries()) {
        const snapshot = actor.getSnapshot() as PersistedSnapshot & {
          readonly can?: (event: AnyEventObject) => boolean
        }
        if (snapshot.status !== 'active' || snapshot.can?.(event) !== true) lines[line + i] += ' not taken'
        if (snapshot.status === 'active') actor.send(event)
      }
    }
    await settled()
    gaps.push(gapsOf(from, instants, typeof step === 'number' ? from + step : from))
  }
  const end = stands()
  const isSpecial =
    areClose(timers, fired, others) || end.startsWith('error') || lostState || [...actors].some(isReplaced)
  const life = { lines: [...lines], end, gaps, isSpecial }
  actor.stop()
  return life
}

interface SnapshotOfStates {
  readonly _nodes?: readonly AnyStateNode[]
}

/**
 * Is a state active without its parent? XState 5 loses the parent in a parallel state when a transition of the parent
 * itself targets its shallow history; a restored actor has it again.
 */
const lacksParent = ({ _nodes: nodes = [] }: SnapshotOfStates): boolean =>
  nodes.some(({ parent }) => parent !== undefined && !nodes.includes(parent))

/** Does it go on although its parent has another actor in its place? */
function isReplaced(actor: AnyActorRef): boolean {
  const { _parent: parent } = actor
  if (parent === undefined || (actor.getSnapshot() as PersistedSnapshot).status !== 'active') return false
  const { children } = parent.getSnapshot() as { readonly children?: Readonly<Record<string, AnyActorRef>> }
  return children?.[actor.id] !== actor
}

function gapsOf(from: number, instants: readonly number[], until: number): number[] {
  const stops = [...new Set([...instants, until])].toSorted((a, b) => a - b)
  return stops.map((at, i) => at - (stops[i - 1] ?? from))
}

/** A kill makes a job so late. */
const closeMs = 2 * 1_000

/** Is the time of a timer near an instant at which something else happened? Timers of one instant keep their order. */
const areClose = (timers: readonly number[], fired: readonly number[], others: readonly number[]): boolean => {
  const near = (a: number, b: number): boolean => Math.abs(a - b) < closeMs
  return timers.some(
    (at) => fired.some((other) => at !== other && near(at, other)) || others.some((other) => near(at, other)),
  )
}

const leaseMs = 1_000
/** After a kill promises of 100 ms run again. */
const promisesMs = 200
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** One process of the job's life. */
interface Process {
  readonly runtime: Runtime
  readonly store: CutStore
}

interface JobPlan {
  readonly each: Case
  /** Its definition as a client knows it. */
  readonly known: JobDefinition<Json | undefined>
  readonly gaps: LiveLife['gaps']
}

const definitionOf = (each: Case, tools: Tools): JobDefinition<Json | undefined> =>
  defineJob({
    type: 'oracle',
    machine: machineOf(each, new Workshop(tools)),
    // What throws in a live actor throws for good.
    retry: { maxAttempts: 9, retryIf: () => false },
  }) as JobDefinition<Json | undefined>

/** The case as a job, its first processes cut off from the store. */
async function asJob({ each, known, gaps }: JobPlan, cuts: readonly Cut[] = []): Promise<JobLife> {
  const clock = new SkippingClock()
  const memory = memoryStore({ clock })
  const lines: string[] = []
  const told: Told[] = []
  const processes: Process[] = []
  let news = 0
  const store = spiedStore(memory, {
    kept: (_id, state: KeptState) => void told.push({ kind: 'kept', state }),
    claimed: () => void told.push({ kind: 'claimed' }),
  })
  const begin = async (): Promise<void> => {
    const life = processes.length
    const cut = cutStore(store, cuts[life] ?? null, () => told.push({ kind: 'cut', at: clock.now() }))
    const tell = (kind: 'did' | 'work' | 'emitted', what: string): void => {
      if (cut.isCut) return
      news++
      lines.push(kind === 'emitted' ? `emits ${text(JSON.parse(what))}` : what)
      if (kind !== 'work') told.push({ kind, life, what, at: clock.now() })
    }
    const jobs = [definitionOf(each, { tell, sleep: (ms, signal) => clock.sleep(ms, signal) })]
    const runtime = createRuntime({ jobs, store: cut, clock, logger: quiet, lease: leaseMs })
    runtime.events$.subscribe(({ event, value }) => {
      if (event === 'EMIT') tell('emitted', JSON.stringify(value))
    })
    processes.push({ runtime, store: cut })
    await runtime.start()
  }
  const client = createClient({ jobs: [known], store: memory, clock, logger: quiet })
  const job: JobHandle = await client.enqueue(known, each.input, { id: 'job' })
  const settled = async (): Promise<void> => {
    const written = (): number => news + processes.reduce((sum, { store }) => sum + store.writes, 0)
    await rest(written)
    while (processes.at(-1)?.store.isCut !== false) {
      if (processes.length > 0) await clock.skip(leaseMs)
      await begin()
      if (processes.length > 1) await clock.advance(promisesMs)
      await rest(written)
    }
  }
  const stands = async (): Promise<string> => {
    const record = await job.record()
    if (record.state === 'dead') return standing({ status: 'error', error: record.error }, [])
    const { status, value, context, output, tags } = await job.snapshot()
    const kept = record.checkpoint === null ? null : keptState(record.checkpoint.state)
    return standing({ ...kept?.snapshot, status, value, context, output }, tags)
  }
  try {
    await settled()
    lines.push(`= ${await stands()}`)
    for (const [i, step] of (each.steps ?? []).entries()) {
      if (typeof step !== 'number') {
        await Promise.all(
          eventsOf(step).map(async (event) => {
            const line = lines.push(`> ${text(event)}`) - 1
            const refused = await job.send(event).then(() => false, refusedIf)
            if (refused) lines[line] += ' not taken'
          }),
        )
      }
      for (const gap of gaps[i] ?? []) {
        const parked = (await job.record()).state !== 'running'
        await (parked ? clock.skip(gap) : clock.advance(gap))
        await settled()
      }
      lines.push(`= ${await stands()}`)
    }
    return { lines, told, end: await stands(), writes: processes[0]?.store.writes ?? 0 }
  } finally {
    for (const { store } of processes) store.release()
    const stops = processes.map(({ runtime }) => runtime.stop({ mode: 'abort', timeout: 1, grace: 0 }).catch(() => {}))
    const closing = new Set([...stops, client.close()])
    for (const each of closing) void each.finally(() => closing.delete(each))
    while (closing.size > 0) await clock.advance(10)
  }
}

function refusedIf(error: unknown): boolean {
  if (error instanceof JobchartError && error.code === 'NOT_ACCEPTED') return true
  throw error
}

/**
 * Events that were refused, as they were sent. Of one that comes with others it is judged without what actors would
 * answer to those; if the answers make it another one the stories part.
 */
const refusedOf = ({ lines }: Life): readonly string[] =>
  lines.filter((line, i) => line.endsWith(' not taken') && (isSent(lines[i - 1]) || isSent(lines[i + 1])))

const isSent = (line: string | undefined): boolean => line?.startsWith('> ') === true

export interface TwiceOptions {
  /** Which of the writes it is killed at, each before and after it. Default: all. */
  readonly killAt?: (write: number, writes: number) => boolean
  /** Leave out a case of which a job cannot be expected to live the same. Default: live it. */
  readonly skipSpecial?: boolean
}

/** How a case was lived. */
export interface TwiceReport {
  readonly actor: readonly string[]
  readonly job: readonly string[]
  /** What a kill has changed. */
  readonly killProblems: readonly string[]
}

/**
 * Lives a case as an actor and as a job, and as a job that is killed before and after each of its writes.
 * @returns null of a case that was left out
 */
export async function liveTwice(
  each: Case,
  { killAt = () => true, skipSpecial = false }: TwiceOptions = {},
): Promise<TwiceReport | null> {
  const actor = await asActor(each)
  if (skipSpecial && actor.isSpecial) return null
  const known = definitionOf(each, { tell() {}, sleep: () => Promise.resolve() })
  const plan: JobPlan = { each, known, gaps: actor.gaps }
  const job = await asJob(plan)
  if (skipSpecial && String(refusedOf(job)) !== String(refusedOf(actor))) return null
  const killProblems: string[] = []
  for (let at = 1; at <= job.writes; at++) {
    if (!killAt(at, job.writes)) continue
    for (const kind of ['before', 'after'] as const) {
      const again = await asJob(plan, [{ at, kind }])
      const found = effectProblems(again.told, job.told)
      if (!again.told.some((told) => told.kind === 'cut')) found.push('it was not killed')
      if (again.end !== job.end) found.push(`it ends as ${again.end}, not as ${job.end}`)
      killProblems.push(...found.map((what) => `killed ${kind} write ${at}: ${what}`))
    }
  }
  return { actor: actor.lines, job: job.lines, killProblems }
}
