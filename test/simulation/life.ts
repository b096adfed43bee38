/**
 * A life: some processes with one store in a bad neighbourhood, for a while. Then all is calm, everything must drain,
 * and what was promised must have been kept. A seed decides everything, so that a failure can be played again.
 */
import { judge, liveStates, recount } from './judge.ts'
import { Storm } from './storm.ts'
import type { StoreFactory } from './stores.ts'
import { World } from './world.ts'

export interface Outcome {
  /** Promises that were broken; none, one hopes. */
  readonly broken: readonly string[]
  /** How often each thing happened: a quiet life proves little. */
  readonly seen: Readonly<Record<string, number>>
  /** What happened, line by line: two lives of the same seed are the same. */
  readonly trace: readonly string[]
}

const stormMs = 12_000
const drainMs = 240_000
/** So long may endless jobs go on: until some have gone on for more than a lease in fine weather. */
const endlessMs = 24_000

export async function live(seed: number, makeStore: StoreFactory): Promise<Outcome> {
  const world = new World(seed, makeStore)
  try {
    await liveIn(world)
  } catch (error) {
    world.breaks(`it was brought to an end by ${String(error)}`)
  }
  const { broken, seen, ledger } = world
  return { broken, seen, trace: ledger.trace }
}

async function liveIn(world: World): Promise<void> {
  const storm = new Storm(world)
  await world.begin()
  for (let i = 0; i < world.plan.size; i++) world.start()
  while (world.clock.monotonic() < stormMs) {
    storm.act()
    await world.clock.advance(world.dice.below(400))
  }
  await calmDown(world)
  await recounted(world)
  await drain(world)
  await recounted(world)
  await judged(world, storm)
  await end(world)
}

/** The faults stop; what is late still comes. */
async function calmDown(world: World): Promise<void> {
  const { processes, floor, clock, storeHost, ledger } = world
  world.stormy = false
  floor.calmDown()
  for (const { host, wire } of processes) {
    host.thaw()
    wire.road?.calm()
  }
  await clock.advance(1)
  storeHost.catchUp()
  ledger.shake()
  for (const process of world.living)
    if (process.state === 'up') world.call('resume', process, process.runtime.resume())
  if (!world.living.some(({ state }) => state === 'up')) world.start()
}

/** All calls are answered and all work is done, within a lease, a rescue and a backoff of each attempt. */
async function drain(world: World): Promise<void> {
  const { clock, store, floor } = world
  for (let waitedMs = 0; waitedMs < drainMs; waitedMs += 1_000) {
    await clock.advance('1s')
    await lookAfter(world, waitedMs > endlessMs)
    if (world.unanswered.length > 0 || floor.busy) continue
    const counts = await world.answer(store.counts())
    if (liveStates.every((state) => counts[state] === 0)) return
  }
  const { types: _, ...counts } = await world.answer(store.counts())
  const unanswered = world.unanswered.join(', ')
  world.breaks(
    `it does not drain: ${JSON.stringify(counts)}, ${floor.busy ? 'busy' : 'idle'}, unanswered: ${unanswered}`,
  )
}

/** What an operator does: a pause that was late may have come last, and what never ends by itself is ended. */
async function lookAfter(world: World, end: boolean): Promise<void> {
  const { store, processes } = world
  const types = (processes[0]?.jobs ?? []).map(({ type }) => type)
  for (const { type, paused, counts } of await world.answer(Promise.all(types.map((type) => store.queue(type))))) {
    if (paused) await world.answer(store.queue(type, { paused: false }))
    if (end && type === 'endless' && counts.running > 0) {
      const running = await world.answer(store.list({ type, state: 'running', fields: ['id'] }))
      const ids = running.map(({ id }) => id)
      await world.answer(store.cancel([{ ids, reason: 'enough', graceMs: 1_000 }]))
    }
  }
}

async function recounted(world: World): Promise<void> {
  for (const what of await world.answer(recount(world.store))) world.breaks(what)
}

async function judged(world: World, { acknowledged, endings }: Storm): Promise<void> {
  const records = await world.answer(world.store.list({ limit: 1_000 }))
  for (const { state } of records) world.count(state)
  const name = (id: string): string => world.ledger.name(id)
  for (const what of judge({ records, acknowledged, endings, name })) world.breaks(what)
  await world.checkHistory()
}

/** Everybody goes, and leaves nothing behind. */
async function end(world: World): Promise<void> {
  const { clock, floor } = world
  // A handler that never ends is abandoned a grace after its run has heard that its lease is lost.
  if (world.living.some((process) => floor.stuckAt(process) > 0)) await clock.advance('5s')
  for (const process of world.living) {
    const { runtime } = process
    const stuck = floor.stuckAt(process)
    const before = await world.answer(runtime.stats())
    if (before.running > 0) world.breaks(`${before.running} run when all is done`)
    const { completed, running } = await world.answer(runtime.stop({ mode: 'finish', timeout: '10s' }))
    const after = await world.answer(runtime.stats())
    if (after.taken > 0) world.breaks(`${after.taken} permits are missing`)
    if (running !== stuck || completed !== (stuck === 0)) world.breaks(`it stops with ${running} of ${stuck} stuck`)
  }
  await clock.advance('15s')
  await world.end()
}
