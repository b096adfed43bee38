/**
 * The storm: processes work on one store and die while they do. Then all is calm, everything must drain, and what was
 * promised is looked for in the histories that they have left.
 *
 *   producers ─▶ store ◀─ workers        the storm: kills, stops, blocks, terminates, and starts who has died
 *       └────── histories ──────┘ ─▶ verdict
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Counts, Store } from 'jobchart'
import { historyFile, recordingStore } from 'jobchart/store-testing'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import type { StormOptions } from './command.ts'
import { Fleet } from './fleet.ts'
import { UsageError } from '../harness/options.ts'
import { sleep } from '../harness/sleep.ts'
import { pausable } from './jobs.ts'
import { faultsOf, productionMs, type Fault } from './plan.ts'
import { StormServer } from './server.ts'
import { storeNamed } from './stores.ts'
import { judge, type Verdict } from './verdict.ts'

const tickMs = 50
const lookMs = 500
/** Looks at the list of workers: more than a heartbeat apart in all. */
const listedLooksMax = 10
const triesMax = 20
/** Nothing has ended for so long, and jobs are left: it does not drain. Beyond any lease, rescue and backoff. */
const stallMs = 30_000

/** Processes that end by themselves, before there is no point in going on. */
const problemsMax = 20

const live = ['scheduled', 'queued', 'running', 'retrying', 'waiting', 'cancelling'] as const

/** Called now and then with a line that says how far it is. */
export type Say = (line: string) => void

/** @throws UsageError if the folder is not empty */
export async function runStorm(options: StormOptions, say: Say): Promise<Verdict> {
  const folder = makeFolder(options.folder)
  const { sink, close } = historyFile(join(folder, 'history', 'storm.ndjson'))
  const hasServer = options.store === 'postgres' || options.restarts + options.full > 0
  const server = hasServer ? await StormServer.start(folder, options.store) : null
  const store = recordingStore(storeNamed(options.store)(folder), sink)
  await store.open({ clock: systemClock satisfies Clock })
  const fleet = new Fleet({ options, folder })
  const abandon = (): void => {
    fleet.abandon()
    server?.abandon()
  }
  process.once('exit', abandon)
  try {
    await fleet.start()
    await rage(options, { fleet, server }, store, say)
    await server?.whenUp()
    fleet.thawAll()
    await resume(store)
    const calmAt = Date.now()
    await calm(options, fleet, store, say)
    const drainMs = Date.now() - calmAt
    if (server !== null) await allListed(fleet, store)
    await fleet.end()
    say('all processes have ended; reading what they have left')
    const durationMs = Date.now() - fleet.startedAt
    const verdict = await judge({ options, folder, store, fleet, losses: server?.losses ?? [], durationMs, drainMs })
    if (verdict.broken.length === 0 && options.folder === null) rmSync(folder, { recursive: true })
    return verdict
  } finally {
    process.off('exit', abandon)
    fleet.abandon()
    await store.close()
    await server?.end()
    close()
  }
}

function makeFolder(wanted: string | null): string {
  const folder = wanted ?? mkdtempSync(join(tmpdir(), 'jobchart-storm-'))
  mkdirSync(folder, { recursive: true })
  if (readdirSync(folder).length > 0) throw new UsageError(`${folder} is not empty`)
  mkdirSync(join(folder, 'history'))
  return folder
}

/** Until all is enqueued and everything has befallen somebody. */
async function rage(options: StormOptions, victims: Victims, store: Store, say: Say): Promise<void> {
  const { fleet } = victims
  const faults = faultsOf(options)
  const patienceMs = stallMs + productionMs(options) / 10
  let last = ''
  let ticks = 0
  const over = new AbortController()
  void lookNowAndThen(over.signal, store, (counts) => say(line(options, fleet, counts)))
  try {
    while (faults.length > 0 || !fleet.productionDone) {
      const next = faults[0]
      if (next !== undefined && Date.now() - fleet.startedAt >= next.at && befall(victims, next)) faults.shift()
      const progress = `${faults.length} ${fleet.places.map(({ from }) => from).join(' ')}`
      ticks = progress === last ? ticks + 1 : 0
      last = progress
      if (ticks > patienceMs / tickMs || fleet.problems.length > problemsMax) {
        throw new Error(['the storm does not get on', ...fleet.problems, fleet.lastWords()].join('\n'))
      }
      await sleep(tickMs)
    }
  } finally {
    over.abort()
  }
}

/** As often as the store tells. */
async function lookNowAndThen(over: AbortSignal, store: Store, told: (counts: Counts) => void): Promise<void> {
  while (!over.aborted) {
    const counts = await store.counts().catch(() => null)
    if (counts !== null && !over.aborted) told(counts)
    await sleep(lookMs)
  }
}

interface Victims {
  readonly fleet: Fleet
  readonly server: StormServer | null
}

/** Does it to somebody; false if nobody is there to do it to. */
function befall({ fleet, server }: Victims, { kind, victim, ms }: Fault): boolean {
  if (kind === 'restart' || kind === 'lose' || kind === 'hold') {
    if (server === null || server.isDown) return false
    const away = (): void => fleet.serverAway()
    const back = (): void => fleet.serverBack()
    if (kind === 'hold') {
      away()
      server.hold(ms)
    } else server.restart(away, back, kind === 'lose')
    fleet.tally[kind === 'hold' ? 'held' : 'restarted']++
    return true
  }
  if (kind === 'fill') return fill(fleet, server, victim)
  const place = kind === 'kill' ? fleet.pickAny(victim) : fleet.pick(victim, ['worker'])
  if (place === null) return false
  if (kind === 'kill') fleet.kill(place)
  else if (kind === 'stop') fleet.freeze(place, ms)
  else if (kind === 'block') fleet.block(place, ms)
  else fleet.terminate(place)
  return true
}

/** A worker is followed by another one while the memory of the server is full. */
function fill(fleet: Fleet, server: StormServer | null, victim: number): boolean {
  const place = fleet.pick(victim, ['worker'])
  if (server === null || server.isDown || server.isFull || place === null) return false
  server.fill(async () => {
    fleet.tally.filled++
    fleet.kill(place)
    if ((await fleet.hasFollower(place)) && !server.isDown) fleet.tally.startedFull++
  })
  return true
}

/** Until everything has drained, or no job comes to its end any more. */
async function calm(options: StormOptions, fleet: Fleet, store: Store, say: Say): Promise<void> {
  let last = -1
  // Looks are counted, not time: a machine that pauses does not stall.
  for (let looks = 0; looks < stallMs / lookMs; looks++) {
    const counts = await countsOf(store)
    if (live.every((state) => counts[state] === 0)) return
    say(line(options, fleet, counts))
    const ended = endedOf(counts)
    if (ended !== last) looks = 0
    last = ended
    await sleep(lookMs)
  }
}

const endedOf = ({ done, dead, cancelled }: Counts): number => done + dead + cancelled

/** A worker whose registration its server has lost registers again. */
async function allListed(fleet: Fleet, store: Store): Promise<void> {
  for (let looks = 0; looks < listedLooksMax; looks++) {
    const listed = new Set((await inTime(() => store.workers())).map(({ id }) => id))
    fleet.unlisted = fleet.workerIds.filter((id) => !listed.has(id))
    if (fleet.unlisted.length === 0) return
    await sleep(lookMs)
  }
}

const countsOf = (store: Store): Promise<Counts> => inTime(() => store.counts())

/** Who was stopped may have held the store, or its connections were ended; now it must become available. */
async function inTime<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call()
    } catch (error) {
      if (tries === triesMax) throw error
      await sleep(lookMs)
    }
  }
}

/** The last pause may have been left behind by a producer that died, or have come late. */
const resume = (store: Store): Promise<unknown> => inTime(() => store.queue(pausable, { paused: false }))

function line({ kills, zombies, restarts }: StormOptions, fleet: Fleet, counts: Counts): string {
  const { killed, selfKilled, zombies: stopped, blocked, terminated, restarted } = fleet.tally
  const waiting = counts.scheduled + counts.queued + counts.retrying + counts.waiting
  const parts = [`ended ${endedOf(counts)}`, `waiting ${waiting}`, `running ${counts.running + counts.cancelling}`]
  parts.push(`kills ${killed}/${kills}`, `poisoned ${selfKilled}`)
  if (zombies > 0) parts.push(`zombies ${stopped + blocked}/${zombies}`)
  if (restarts > 0) parts.push(`restarts ${restarted}/${restarts}`)
  return [...parts, `terminated ${terminated}`].join(' · ')
}
