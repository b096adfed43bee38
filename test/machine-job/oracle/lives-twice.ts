/**
 * XState itself as the judge: a case lives once as a live actor and once as a job, is told the same events and given the
 * same time, and both tell the same story. Then the job lives again, cut off from its store at each of its writes, and
 * comes to the same end.
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
import { createActor, type AnyActorLogic, type AnyEventObject, type AnyStateMachine } from 'xstate'
import { expect, test } from 'vitest'
import { cutStore, type Cut, type CutStore } from '../support/cut-store.ts'
import type { Told } from '../support/lives.ts'
import { checkEffects } from '../support/prove.ts'
import { spiedStore, type KeptState } from '../support/spied-store.ts'
import { text, Workshop, type Config, type Implementations } from './chart.ts'
import { differences, type Difference } from './differences.ts'

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
  let instants: number[] = []
  const happens = (): void => void instants.push(clock.now())
  const make = new Workshop({
    tell: (_kind, what) => void lines.push(what),
    sleep: (ms, signal) => clock.sleep(ms, signal).finally(happens),
  })
  const actor = createActor(machineOf(each, make) as AnyActorLogic, {
    id: 'job',
    input: each.input,
    logger: () => {},
    clock: {
      setTimeout: (run: () => void, ms: number) => clock.timer(() => (happens(), run()), ms, { keepAlive: true }),
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
    if (typeof step === 'number') await passed(clock, step)
    else {
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
  lines.push('.')
  const end = stands()
  if ((actor.getSnapshot() as PersistedSnapshot).status === 'active') actor.stop()
  return { lines: lines.slice(0, lines.lastIndexOf('.')), end, gaps }
}

function gapsOf(from: number, instants: readonly number[], until: number): number[] {
  const stops = [...new Set([...instants, until])].toSorted((a, b) => a - b)
  return stops.map((at, i) => at - (stops[i - 1] ?? from))
}

async function passed(clock: VirtualClock, ms: number): Promise<void> {
  await clock.advance(ms)
}

const leaseMs = 1_000
/** For a process to take over a job whose lease has run out, and for promises of 100 ms to run again. */
const afterKillMs = 700
/** A process looks this often for jobs that are due. */
const sweepMs = 500
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** One process of the job's life. */
interface Process {
  readonly runtime: Runtime
  readonly store: CutStore
}

/** The case as a job, its first processes cut off from the store. */
async function asJob(each: Case, gaps: LiveLife['gaps'], cuts: readonly Cut[] = []): Promise<JobLife> {
  const clock = new VirtualClock()
  const memory = memoryStore({ clock })
  const lines: string[] = []
  const told: Told[] = []
  const processes: Process[] = []
  let news = 0
  const store = spiedStore(memory, {
    kept: (_id, state: KeptState) => void told.push({ kind: 'kept', state }),
    claimed: () => void told.push({ kind: 'claimed' }),
  })
  const definition = (tell: (kind: 'did' | 'work', what: string) => void): JobDefinition<Json | undefined> =>
    defineJob({
      type: 'oracle',
      machine: machineOf(each, new Workshop({ tell, sleep: (ms, signal) => clock.sleep(ms, signal) })),
      // What throws in a live actor throws for good.
      retry: { maxAttempts: 9, retryIf: () => false },
    }) as JobDefinition<Json | undefined>
  const begin = async (): Promise<void> => {
    const life = processes.length
    const cut = cutStore(store, cuts[life] ?? null, () => told.push({ kind: 'cut', at: clock.now() }))
    const tell = (kind: 'did' | 'work' | 'emitted', what: string): void => {
      if (cut.isCut) return
      news++
      lines.push(kind === 'emitted' ? `emits ${text(JSON.parse(what))}` : what)
      if (kind !== 'work') told.push({ kind, life, what, at: clock.now() })
    }
    const runtime = createRuntime({ jobs: [definition(tell)], store: cut, clock, logger: quiet, lease: leaseMs })
    runtime.events$.subscribe(({ event, value }) => {
      if (event === 'EMIT') tell('emitted', JSON.stringify(value))
    })
    processes.push({ runtime, store: cut })
    await runtime.start()
  }
  const known = definition(() => {})
  const client = createClient({ jobs: [known], store: memory, clock, logger: quiet })
  const job: JobHandle = await client.enqueue(known, each.input, { id: 'job' })
  const settled = async (): Promise<void> => {
    const written = (): number => news + processes.reduce((sum, { store }) => sum + store.writes, 0)
    await rest(written)
    while (processes.at(-1)?.store.isCut !== false) {
      await begin()
      if (processes.length > 1) {
        clock.jump(leaseMs)
        await clock.advance(afterKillMs)
      }
      await rest(written)
    }
  }
  const stands = async (): Promise<string> => {
    const record = await job.record()
    if (record.state === 'dead') return standing({ status: 'error', error: record.error }, [])
    const { status, value, context, output, tags } = await job.snapshot()
    const kept = record.checkpoint?.state as { readonly snapshot: PersistedSnapshot } | undefined
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
        if (gap > sweepMs && (await job.record()).state === 'waiting') {
          // Nobody has the job: its process need not live through every tick of that time.
          clock.jump(gap)
          await clock.advance(sweepMs)
        } else await clock.advance(gap)
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

/** Lives a case as an actor and as a job, and as a job that is killed before and after each of its writes. */
export async function liveTwice(each: Case, { cut = true } = {}): Promise<void> {
  const actor = await asActor(each)
  const job = await asJob(each, actor.gaps)
  if (each.differs === undefined) expect(job.lines).toEqual(actor.lines)
  else expect(job.lines, `no difference any more: ${differences[each.differs]}`).not.toEqual(actor.lines)
  if (!cut) return
  const failures: string[] = []
  for (let at = 1; at <= job.writes; at++) {
    for (const kind of ['before', 'after'] as const) {
      const cuts: Cut[] = [{ at, kind }]
      const again = await asJob(each, actor.gaps, cuts)
      try {
        expect(again.end).toBe(job.end)
        checkEffects(again.told, job.told)
      } catch (error) {
        failures.push(`killed ${kind} write ${at}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }
  if (each.cutDiffers === undefined) expect(failures).toEqual([])
  else expect(failures, `no difference any more: ${differences[each.cutDiffers]}`).not.toEqual([])
}

/** A test for each case. */
export function oracle(cases: readonly Case[]): void {
  test.for(cases.map((each) => [each.name, each] as const))('%s', ([, each]) => liveTwice(each))
}
