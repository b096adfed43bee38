/** Streams over the store: its transition log, and figures that are read again after changes. */
import { JobchartError } from '../core/errors.ts'
import type { Pressure } from '../core/call-options.ts'
import { handOverRoom } from '../core/hand-over.ts'
import { statesTagged, type StateTag } from '../core/lifecycle.ts'
import type { Logger } from '../core/logger.ts'
import type { ClientSettings } from '../core/settings.ts'
import type { StateCounts, Store, TransitionEntry } from '../store.ts'
import type { Stream } from '../core/stream.ts'
import { GuardedStream } from './stream.ts'
import type { Timers } from './timers.ts'
import { ownValue } from '../core/own-value.ts'

/** Interval for stores that other processes write to: their writes may come without a hint. */
const pollMs = 250
const pageSize = 500
/** Interval of the reads while the store is unavailable. */
const unavailableMs = 1_000
/** Minimum time between two reads of a figure. */
const figuresEveryMs = 100

export interface FollowOptions {
  readonly store: Store
  readonly timers: Timers
  readonly logger: Logger
  /** Calls back after each change, until the returned function is called. */
  readonly onChange: (changed: () => void) => () => void
  /** Calls back when the connection is closed, until the returned function is called. */
  readonly onEnd: (ended: () => void) => () => void
  /** Opens the store. */
  readonly ready: () => Promise<void>
}

/**
 * The transition log after a cursor, without gaps. Fails with SLOW_READER if entries were dropped before they were
 * read.
 * @param from null: the oldest entry that is kept; `now`: what comes after the subscription
 */
export function followTransitions(options: FollowOptions, from: string | null): Stream<TransitionEntry> {
  const { store, timers, logger } = options
  return new GuardedStream(logger, (subscriber) => {
    let cursor = from
    const read = async (): Promise<void> => {
      if (cursor === 'now') cursor = (await store.counts()).cursor
      for (;;) {
        const page = await store.transitions(cursor, pageSize)
        if (subscriber.closed) return
        if (page.lost && cursor !== null) throw tooSlow(cursor)
        for (const transition of page.transitions) subscriber.next(transition)
        cursor = page.next
        if (page.transitions.length < pageSize) return
      }
    }
    return repeat(
      options,
      read,
      (error) => subscriber.error(error),
      () => subscriber.complete(),
      (again) => timers.after(pollMs, again, store.capabilities.shared),
    )
  })
}

/**
 * A figure of the store: its current value, then each new value.
 * @param compared the part of a value that makes it a new one; default: all of it
 */
export function followFigure<T>(
  options: FollowOptions,
  ask: () => Promise<T>,
  compared: (value: T) => unknown = (value) => value,
): Stream<T> {
  return new GuardedStream(options.logger, (subscriber) => {
    let last: string | undefined
    const read = async (): Promise<void> => {
      const value = await ask()
      const text = JSON.stringify(compared(value))
      if (text === last || subscriber.closed) return
      last = text
      subscriber.next(value)
    }
    return repeat(
      options,
      read,
      (error) => subscriber.error(error),
      () => subscriber.complete(),
      (again) => options.timers.after(figuresEveryMs, again, false),
    )
  })
}

/**
 * Calls `read` now and after changes, one call at a time. Once it has read, it goes on where it was when the store was
 * unavailable.
 * @param delay sets the timer for the minimum time between two calls; changes meanwhile are read afterwards
 * @returns a function that stops it
 */
function repeat(
  { onChange, onEnd, ready, store, timers, logger }: FollowOptions,
  read: () => Promise<void>,
  failed: (error: unknown) => void,
  ended: () => void,
  delay: (again: () => void) => { cancel(): void },
): () => void {
  if (timers.closed) {
    ended()
    return () => {}
  }
  let state: 'opening' | 'reading' | 'delayed' | 'idle' | 'stopped' = 'opening'
  let ending = false
  let changed = false
  let reads: 'never' | 'well' | 'again' = 'never'
  let timer: { cancel(): void } | null = null
  const go = (): void => {
    state = 'reading'
    changed = false
    read().then(
      () => {
        if (state === 'stopped') return
        if (ending) return readLast()
        reads = 'well'
        state = 'delayed'
        timer = delay(() => {
          timer = null
          if (changed || store.capabilities.shared) go()
          else state = 'idle'
        })
      },
      (error: unknown) => {
        if (state === 'stopped') return
        if (ending) return ended()
        if (reads === 'never' || !isUnavailable(error)) return failed(error)
        if (reads === 'well') logger.warn('a stream could not read the store; the read is repeated', { error })
        reads = 'again'
        state = 'delayed'
        timer = timers.after(unavailableMs, () => {
          timer = null
          go()
        })
      },
    )
  }
  // A last read delivers what was written until the close.
  const readLast = (): void => void read().then(ended, ended)
  const offChange = onChange(() => {
    changed = true
    if (state === 'idle' && !ending) go()
  })
  const offEnd = onEnd(() => {
    if (state === 'stopped') return
    ending = true
    timer?.cancel()
    if (state === 'opening') ended()
    // A running read calls `readLast` itself: two reads at once would deliver values twice.
    else if (state !== 'reading') readLast()
  })
  ready().then(() => {
    if (state !== 'stopped') go()
  }, failed)
  return () => {
    state = 'stopped'
    timer?.cancel()
    offChange()
    offEnd()
  }
}

const isUnavailable = (error: unknown): boolean => error instanceof JobchartError && error.code === 'STORE_UNAVAILABLE'

const tooSlow = (cursor: string): JobchartError =>
  new JobchartError('SLOW_READER', `transitions after ${cursor} were dropped from the log before they were read`, {
    hint: 'Rebuild from `list` or `counts`, and go on from their `cursor`. Read faster, or raise the size of the log.',
  })

const sumOf =
  (tag: StateTag) =>
  (counts: StateCounts): number => {
    let sum = 0
    for (const state of statesTagged(tag)) sum += counts[state]
    return sum
  }
const [backlogOf, leasedOf] = [sumOf('backlog'), sumOf('leased')]

/** How full the backlog is. */
export function followPressure(
  options: FollowOptions,
  { capacity, jobs }: Pick<ClientSettings, 'capacity' | 'jobs'>,
): Stream<Pressure> {
  const types = [...jobs.values()].map(({ type, capacity: own }) => ({ type, most: capacity === 0 ? 0 : own }))
  const isHandedOver = types.some(({ most }) => most === 0)
  return followFigure(options, async () => {
    const counts = await options.store.counts()
    const waiting = backlogOf(counts)
    const slots = isHandedOver ? await freeSlots(options.store) : () => 0
    const isFull = ({ type, most }: (typeof types)[number]): boolean => {
      const ofType = ownValue(counts.types, type)
      if (most === 0) return slots(type) <= 0
      return most !== null && ofType !== undefined && backlogOf(ofType) >= most
    }
    const fullTypes = types.filter(isFull).map(({ type }) => type)
    const isStoreFull = capacity === 0 ? fullTypes.length === types.length : capacity !== null && waiting >= capacity
    return { waiting, capacity, full: isStoreFull, fullTypes }
  })
}

/** How many jobs of a type could be handed over when the store was read. */
async function freeSlots(store: Store): Promise<(type: string) => number> {
  const [queues, records] = await Promise.all([store.queues(), store.workers()])
  const now = store.now()
  const workers = records.map((info) => ({ info, silentMs: now - info.seenAt, leasedCount: info.running.length }))
  const loads = new Map(
    queues.map(({ type, paused, counts }) => [type, { paused, queued: counts.queued, leasedCount: leasedOf(counts) }]),
  )
  return (type) => handOverRoom(type, workers, (each) => loads.get(each))
}
