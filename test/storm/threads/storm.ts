/**
 * A storm over handlers in threads: jobs that compute, throw, exit, crash, run out of memory and loop for ever, with
 * random cancels and timeouts, on one runtime with a recorded store. At the end every slot must be free and every
 * thread gone, and the history and the state of every job must be as promised.
 */
import type { Worker } from 'node:worker_threads'
import { sleep } from '../../harness/sleep.ts'
import { constant, createRuntime, defineJob, memoryStore, thread, type JobRecord } from 'jobchart'
import { checkHistory, finalState, recordingStore, recordRuns, type HistoryLine } from 'jobchart/store-testing'
import { seededRandom } from 'jobchart/testing'
import { systemClock } from '../../../src/core/clock.ts'

export interface ThreadStormOptions {
  readonly jobs: number
  readonly seed: number
  /** Slots of the runtime. */
  readonly slots: number
}

export interface ThreadStormResult {
  /** Broken promises; empty if all were kept. */
  readonly faults: readonly string[]
  readonly threads: { readonly started: number; readonly atOnce: number }
  /** Jobs by what they were told and how they ended. */
  readonly ends: Readonly<Record<string, number>>
  readonly attempts: number
  readonly durationMs: number
}

interface Told {
  readonly act: string
  readonly ms?: number
  readonly code?: number
}

/**
 * What jobs do, how often of 100, and how a job ends that is not cancelled: its state, and the code or message of its
 * error.
 */
const acts: readonly (readonly [act: string, share: number, state: JobRecord['state'], error?: string])[] = [
  ['compute', 30, 'done'],
  ['obey', 20, 'done'],
  ['steps', 12, 'done'],
  ['fail', 8, 'dead', 'TOLD'],
  ['fatal', 4, 'dead', 'for good'],
  ['exit', 9, 'dead', 'THREAD_FAILED'],
  ['crash', 4, 'dead', 'THREAD_FAILED'],
  ['reject', 3, 'dead', 'THREAD_FAILED'],
  ['fill', 4, 'dead', 'THREAD_FAILED'],
  ['loop', 4, 'dead', 'TIMEOUT'],
  ['hang', 2, 'dead', 'TIMEOUT'],
]
const cancelShare = 0.2

export async function stormThreads({ jobs: count, seed, slots }: ThreadStormOptions): Promise<ThreadStormResult> {
  const random = seededRandom(seed)
  const startedAt = performance.now()
  const threads = watchedThreads()
  const lines: HistoryLine[] = []
  const sink = (line: HistoryLine): void => void lines.push(line)
  const store = recordingStore(memoryStore(), sink)
  // Open once more than by the runtime: it is read after the stop.
  await store.open({ clock: systemClock })
  const work = defineJob<Told, unknown>({
    type: 'work',
    thread: thread(new URL('./work.mjs', import.meta.url), { memoryMb: 32 }),
    retry: { maxAttempts: 2, backoff: constant(5) },
    attemptTimeout: '60s',
  })
  const silent = (): void => {}
  const runtime = createRuntime({
    jobs: [work],
    store,
    concurrency: slots,
    grace: 50,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    middleware: [recordRuns(sink)],
  })
  await runtime.start()

  const told = Array.from({ length: count }, () => drawn(random))
  const endless = { attemptTimeout: 300 }
  const handles = await Promise.all(
    told.map((input) => runtime.enqueue(work, input, ['loop', 'hang'].includes(input.act) ? endless : {})),
  )
  const cancelled = new Set<string>()
  const cancels = handles
    .filter(() => random() < cancelShare)
    .map(async (job) => {
      // Some before their start, the others while they run.
      const onStart = random() < 0.8
      const waitMs = random() * 200
      if (onStart) await untilRunning(job)
      await sleep(waitMs)
      const { cancelling, cancelled: atOnce } = await runtime.cancel(job.id, { grace: random() < 0.5 ? 0 : 100 })
      if (cancelling.length + atOnce.length > 0) cancelled.add(job.id)
    })
  await runtime.drain({ retries: true })
  await Promise.all(cancels)

  const faults: string[] = []
  const { taken, running } = await runtime.stats()
  if (taken !== 0 || running !== 0) faults.push(`${taken} slots are taken and ${running} jobs run after the drain`)
  const records = await Promise.all(handles.map((job) => job.record()))
  records.forEach((record, i) => faults.push(...wrongEnd(record, (told[i] as Told).act, cancelled.has(record.id))))
  // Every slot is back: as many jobs run at once as there are slots.
  await Promise.all(Array.from({ length: slots }, () => runtime.run(work, { act: 'obey', ms: 50 })))
  const stop = await runtime.stop({ mode: 'finish' })
  if (!stop.completed || stop.running > 0) faults.push(`the stop reports ${JSON.stringify(stop)}`)
  threads.close()
  if (threads.live.size > 0) faults.push(`${threads.live.size} threads are left after the stop`)
  if (threads.atOnce > slots) faults.push(`${threads.atOnce} threads at once, of ${slots}`)
  const { violations } = checkHistory(lines, { final: await finalState(store), startMs: 5_000 })
  await store.close()
  faults.push(...violations.map(({ invariant, message }) => `${invariant}: ${message}`))

  return {
    faults,
    threads: { started: threads.started, atOnce: threads.atOnce },
    ends: endsOf(records, told),
    attempts: records.reduce((sum, { attempt }) => sum + attempt, 0),
    durationMs: performance.now() - startedAt,
  }
}

function drawn(random: () => number): Told {
  let left = random() * 100
  const [act] = acts.find(([, share]) => (left -= share) < 0) ?? ['compute']
  return { act, ms: Math.ceil(random() * 20), code: random() < 0.5 ? 0 : 3 }
}

async function untilRunning(job: { record(): Promise<JobRecord> }): Promise<void> {
  while (['queued', 'retrying'].includes((await job.record()).state)) await sleep(5)
}

/** What is wrong with the end of a job. */
function wrongEnd({ id, state, error, errors, attempt }: JobRecord, act: string, wasCancelled: boolean): string[] {
  if (wasCancelled) return state === 'cancelled' ? [] : [`${act} (job ${id}) was cancelled, and is ${state}`]
  const [, , expected, why] = acts.find(([name]) => name === act) as (typeof acts)[number]
  const attempts = act === 'compute' || act === 'obey' || act === 'fatal' ? 1 : 2
  const isRight =
    state === expected && attempt === attempts && (why === undefined || [error?.code, error?.message].includes(why))
  const failures = errors.map((each) => `${each.error.code} ${each.error.message}`).join('; ')
  return isRight ? [] : [`${act} (job ${id}) is ${state} after ${attempt} attempts: ${failures}`]
}

function endsOf(records: readonly JobRecord[], told: readonly Told[]): Record<string, number> {
  const ends: Record<string, number> = {}
  records.forEach(({ state }, i) => {
    const end = `${(told[i] as Told).act} ${state}`
    ends[end] = (ends[end] ?? 0) + 1
  })
  return ends
}

/** The threads of this process from now on. */
function watchedThreads() {
  const watch = { live: new Set<Worker>(), started: 0, atOnce: 0, close: () => void process.off('worker', made) }
  const made = (worker: Worker): void => {
    watch.live.add(worker)
    watch.started++
    watch.atOnce = Math.max(watch.atOnce, watch.live.size)
    worker.once('exit', () => watch.live.delete(worker))
  }
  process.on('worker', made)
  return watch
}
