/**
 * A small world in which everything happens at once: jobs that cancel each other, subscribers that cancel, stop and
 * pause, a main script that does the same, all in interleavings that a seed decides. It watches from outside, through
 * the public API alone, and says what was broken.
 */
import { createRuntime, defineJob, memoryStore, type Runtime } from 'jobchart'
import { seededRandom, VirtualClock } from 'jobchart/testing'

const types = ['a', 'b', 'c'] as const
type Type = (typeof types)[number]

export interface Verdict {
  readonly broken: readonly string[]
  /** How often each thing happened, to see that the storm is one. */
  readonly seen: Readonly<Record<string, number>>
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const hops = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await null
}

export async function storm(seed: number): Promise<Verdict> {
  const random = seededRandom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const chance = (probability: number): boolean => random() < probability
  const clock = new VirtualClock()
  const broken: string[] = []
  const seen: Record<string, number> = {}
  const count = (what: string): void => void (seen[what] = (seen[what] ?? 0) + 1)

  // What was asked for, and so must not start any more.
  const cancelAsked = new Set<string>()
  let haltAsked: string | null = null
  const started = new Set<string>()
  const stored = new Map<string, Type>()
  const active = { all: 0, byType: { a: 0, b: 0, c: 0 }, byKey: new Map<string, number>() }
  const claims: number[] = []
  const ids: string[] = []
  const calls: Promise<unknown>[] = []
  const later = (call: Promise<unknown>): void => {
    calls.push(
      call.then(
        () => 'fine',
        (error: { code?: unknown }) => error.code ?? error,
      ),
    )
  }
  const cap = 1 + below(2)
  let slots = 1 + below(4)

  const act = (runtime: Runtime): void => {
    const what = random()
    if (what < 0.6 && ids.length > 0) {
      const id = ids[below(ids.length)] as string
      count('cancel')
      // A job that is not stored yet is not there to be cancelled.
      if (stored.has(id) && !started.has(id)) cancelAsked.add(id)
      later(runtime.cancel(id, { grace: 0, priority: below(3) }))
    } else if (what < 0.68) {
      count('cancel by type')
      const type = types[below(3)] as Type
      for (const [id, of] of stored) if (of === type && !started.has(id)) cancelAsked.add(id)
      later(runtime.cancel({ type, state: ['queued', 'scheduled', 'running'] }, { grace: 0 }))
    } else if (what < 0.76 && haltAsked === null) {
      count('stop')
      haltAsked = 'stop'
      const mode = (['finish', 'abort'] as const)[below(2)] ?? 'abort'
      later(runtime.stop({ mode, timeout: '1s', grace: 0 }))
    } else if (what < 0.84 && haltAsked === null && runtime.state === 'running') {
      count('pause')
      haltAsked = 'pause'
      later(
        runtime.pause().then(async () => {
          await hops(below(4))
          if (haltAsked !== 'pause' || runtime.state !== 'paused') return
          haltAsked = null
          await runtime.resume()
        }),
      )
    } else if (what < 0.92) {
      slots = 1 + below(4)
      runtime.concurrency = slots
      count('slots')
    } else {
      later(enqueue(runtime))
    }
  }

  const define = (type: Type) =>
    defineJob<{ n: number; key: string }, string>({
      type,
      weight: 1 + types.indexOf(type) * 2,
      retry: { maxAttempts: 2, backoff: () => 1 },
      ...(type === 'a' && { concurrency: cap }),
      ...(type === 'b' && { concurrencyKey: ({ key }) => key, perKey: 1 }),
      ...(type === 'c' && { rateLimit: { limit: 3, per: 10 } }),
      run: async ({ key }, context) => {
        const { id, signal } = context
        count('start')
        if (cancelAsked.has(id)) broken.push(`${id} started after its cancel was asked for`)
        if (haltAsked !== null) broken.push(`${id} started after ${haltAsked}`)
        started.add(id)
        active.all++
        active.byType[type]++
        if (active.all > slots) broken.push(`${active.all} run in ${slots} slots`)
        if (type === 'a' && active.byType.a > cap) broken.push(`${active.byType.a} of type a run, its cap is ${cap}`)
        if (type === 'b') {
          active.byKey.set(key, (active.byKey.get(key) ?? 0) + 1)
          if ((active.byKey.get(key) ?? 0) > 1) broken.push(`key ${key} runs twice`)
        }
        if (type === 'c') {
          claims.push(clock.now())
          if (claims.filter((at) => at > clock.now() - 10).length > 3) broken.push('the rate was exceeded')
        }
        try {
          if (chance(0.2)) act(runtime)
          await hops(below(4))
          if (chance(0.1)) await clock.sleep(1 + below(5), signal)
          if (chance(0.2)) act(runtime)
          if (chance(0.15)) throw new Error('now and then')
          return 'done'
        } finally {
          active.all--
          active.byType[type]--
          if (type === 'b') active.byKey.set(key, (active.byKey.get(key) ?? 1) - 1)
        }
      },
    })
  const jobs = { a: define('a'), b: define('b'), c: define('c') }
  const runtime = createRuntime({
    jobs: Object.values(jobs),
    store: memoryStore(),
    concurrency: slots,
    selection: (['weighted', 'random', 'strict'] as const)[below(3)] ?? 'weighted',
    clock,
    random,
    logger: quiet,
  })
  let named = 0
  async function enqueue(to: Runtime): Promise<void> {
    const id = `j${named++}`
    ids.push(id)
    count('enqueue')
    const delay = chance(0.2) ? { delay: below(4) } : {}
    const type = types[below(3)] as Type
    await to.enqueue(jobs[type], { n: named, key: `k${below(2)}` }, { id, priority: below(3), ...delay })
    stored.set(id, type)
  }
  let events = 0
  const actAt = below(40)
  runtime.events$.subscribe(() => {
    if (events++ === actAt) act(runtime)
  })

  await runtime.start()
  for (let i = below(8) + 3; i > 0; i--) later(enqueue(runtime))
  for (let i = below(6); i > 0; i--) {
    if (chance(0.4)) await hops(below(6))
    else if (chance(0.3)) await clock.advance(below(3))
    act(runtime)
  }
  await end(runtime, clock, calls, broken)
  return { broken, seen }
}

/** Lets the storm pass and looks at what it has left. */
async function end(runtime: Runtime, clock: VirtualClock, calls: Promise<unknown>[], broken: string[]): Promise<void> {
  await clock.advance('2s')
  for (const outcome of await Promise.all(calls)) {
    if (!['fine', 'STOPPED', 'NOT_ACCEPTED'].includes(String(outcome))) broken.push(`a call failed: ${String(outcome)}`)
  }
  if (runtime.state === 'paused') await runtime.resume()
  if (runtime.state === 'running') {
    const drained = runtime.drain({ timeout: '1m', retries: true })
    await clock.advance('1m')
    // A handler may have stopped it meanwhile.
    const stoppedSince = (await drained) || (runtime.state as string) !== 'running'
    if (!stoppedSince) broken.push(`it does not drain: ${JSON.stringify(await runtime.counts())}`)
  }
  const stopped = runtime.stop({ mode: 'finish', timeout: '10s' })
  await clock.advance('10s')
  await stopped
  const { store } = runtime
  const counts = await store.counts()
  if (counts.running + counts.cancelling > 0) broken.push('jobs are left in their leases')
  const { taken, abandoned: stuck } = await runtime.stats()
  if (stuck > 0) broken.push(`${stuck} handlers still run`)
  if (taken !== 0) broken.push(`${taken} permits are missing`)
  if (clock.pending > 0) broken.push(`${clock.pending} timers are left`)
}
