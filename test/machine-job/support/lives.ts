/**
 * One machine job, lived in several processes: each is cut off from the store for ever at one of its writes, as a kill
 * would do, and the next goes on when the lease has run out. Whatever the job does is told to a chronicle.
 */
import {
  createClient,
  createRuntime,
  memoryStore,
  type JobDefinition,
  type JobHandle,
  type MachineTypes,
  type Runtime,
} from 'jobchart'
import { VirtualClock } from 'jobchart/testing'
import type { AnyEventObject } from 'xstate'
import { expect } from 'vitest'
import { cutStore, type Cut, type CutStore } from './cut-store.ts'
import { spiedStore, type KeptState } from './spied-store.ts'

/** What a machine tells of itself. What a dead process still does is not heard. */
export interface Teller {
  /** A named action was executed. */
  did(what: string): void
  /** An actor has begun its work. */
  begun(actor: { readonly sessionId: string }): void
  readonly clock: VirtualClock
}

export interface Driver {
  readonly job: JobHandle<unknown, MachineTypes & { event: AnyEventObject }>
  readonly clock: VirtualClock
  /** Lets time pass until the job rests in a state or has a tag. */
  readonly until: (wanted: string) => Promise<void>
}

export interface Story {
  /** Its machine job first, then the jobs that it invokes. Called for each life. */
  readonly jobs: (tell: Teller) => readonly JobDefinition[]
  readonly input?: unknown
  readonly drive?: (driver: Driver) => Promise<void>
  readonly concurrency?: number
}

/** In the order in which it happened. */
export type Told =
  | { readonly kind: 'did' | 'begun' | 'emitted'; readonly life: number; readonly what: string; readonly at: number }
  | { readonly kind: 'kept'; readonly state: KeptState }
  | { readonly kind: 'cut'; readonly at: number }
  /** An attempt has begun. */
  | { readonly kind: 'claimed' }

export interface Chronicle {
  readonly state: string
  readonly output: unknown
  readonly error: string | undefined
  /** Other jobs that have not ended a while after it. */
  readonly alive: number
  readonly told: readonly Told[]
  /** How long nobody had the job, ms. */
  readonly deadMs: number
  /** Writes of each life. */
  readonly writes: readonly number[]
}

const leaseMs = 10_000
const stepMs = 1_000
const stepsMax = 4_000
const endStates = new Set<string>(['done', 'dead', 'cancelled'])
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

interface Life {
  readonly runtime: Runtime
  readonly store: CutStore
}

/** @param cuts of the first lives; the last one is left alone */
export async function live(story: Story, cuts: readonly Cut[] = []): Promise<Chronicle> {
  const clock = new VirtualClock()
  const memory = memoryStore({ clock })
  const told: Told[] = []
  const lives: Life[] = []
  let id = ''
  let cutAt: number | null = null
  let deadMs = 0
  const store = spiedStore(memory, {
    kept: (job, state) => void (job === id && told.push({ kind: 'kept', state })),
    claimed: (job) => {
      if (job !== id) return
      told.push({ kind: 'claimed' })
      if (cutAt === null) return
      deadMs += clock.now() - cutAt
      cutAt = null
    },
  })
  const begin = async (): Promise<void> => {
    const life = lives.length
    const cut = cutStore(store, cuts[life] ?? null, () => {
      told.push({ kind: 'cut', at: clock.now() })
      cutAt ??= clock.now()
    })
    const tell = (kind: 'did' | 'begun' | 'emitted', what: string): void => {
      if (!cut.isCut) told.push({ kind, life, what, at: clock.now() })
    }
    const jobs = story.jobs({
      did: (what) => tell('did', what),
      begun: ({ sessionId }) => tell('begun', sessionId.slice(sessionId.indexOf('/') + 1)),
      clock,
    })
    const runtime = createRuntime({
      jobs,
      store: cut,
      clock,
      logger: quiet,
      lease: leaseMs,
      concurrency: story.concurrency ?? 10,
    })
    runtime.events$.subscribe(({ event, value }) => {
      if (event === 'EMIT') tell('emitted', JSON.stringify(value))
    })
    lives.push({ runtime, store: cut })
    await runtime.start()
  }
  const mute: Teller = { did() {}, begun() {}, clock }
  const jobs = story.jobs(mute)
  const client = createClient({ jobs, store: memory, clock, logger: quiet })
  const job: JobHandle<unknown, MachineTypes & { event: AnyEventObject }> = await client.enqueue(
    jobs[0] as JobDefinition,
    story.input,
    {
      id: 'job',
    },
  )
  id = job.id
  const step = async (): Promise<void> => {
    if (lives.at(-1)?.store.isCut !== false) await begin()
    await clock.advance(stepMs)
  }
  const until = async (reached: () => Promise<boolean>, what: string): Promise<void> => {
    for (let steps = 0; !(await reached()); steps++) {
      if (steps === stepsMax) throw new Error(`it never came to ${what}: ${JSON.stringify(await job.record())}`)
      await step()
    }
  }
  try {
    await step()
    await story.drive?.({
      job,
      clock,
      until: (wanted) =>
        until(async () => {
          const view = await job.snapshot()
          return view.matches(wanted) || view.hasTag(wanted)
        }, wanted),
    })
    const ended = async (): Promise<boolean> => endStates.has((await job.record()).state)
    await until(ended, 'its end')
    const { state, output, error } = await job.record()
    // What it has begun and left is to come to its end as well.
    if (jobs.length > 1) for (let steps = 0; steps * stepMs <= 2 * leaseMs; steps++) await step()
    const alive = (await client.list()).filter((each) => !endStates.has(each.state)).length
    const writes = lives.map((life) => life.store.writes)
    return { state, output, error: error?.message, alive, told, deadMs, writes }
  } finally {
    for (const life of lives) life.store.release()
    const stops = lives.map(({ runtime }) => runtime.stop({ mode: 'abort', timeout: 1, grace: 0 }).catch(() => {}))
    await clock.advance(5_000)
    await Promise.all(stops)
    await client.close()
    expect(clock.pending, 'timers left').toBe(0)
  }
}
