/** Streams over the store: its transition log, and figures that are asked for again when something has happened. */
import { JobchartError } from '../core/errors.ts'
import type { Pressure } from '../core/call-options.ts'
import type { Transition } from '../core/record.ts'
import { statesTagged } from '../core/lifecycle.ts'
import type { Logger } from '../core/logger.ts'
import type { Counts, Store } from '../store.ts'
import type { Stream } from '../core/stream.ts'
import { GuardedStream } from './stream.ts'
import type { Timers } from './timers.ts'

/** Other processes write without a word to this one. */
const pollMs = 250
const pageSize = 500
/** Figures are asked for at once when something has happened, and then not sooner again than this. */
const figuresEveryMs = 100

export interface FollowOptions {
  readonly store: Store
  readonly timers: Timers
  readonly logger: Logger
  /** Calls back whenever something has happened, until the returned function is called. */
  readonly onChange: (changed: () => void) => () => void
  /** Calls back when nothing more will. */
  readonly onEnd: (ended: () => void) => () => void
  /** Makes the store ready. */
  readonly ready: () => Promise<void>
}

/** The transition log from a cursor on, without a gap; fails with SLOW_READER if entries were dropped before they were read. */
export function followTransitions(options: FollowOptions, from: number): Stream<Transition> {
  const { store, timers, logger } = options
  return new GuardedStream(logger, (subscriber) => {
    let cursor = from
    const read = async (): Promise<void> => {
      for (;;) {
        const page = await store.transitions(cursor, pageSize)
        if (subscriber.closed) return
        if (page.lost && cursor > 0) throw tooSlow(cursor)
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

/** A figure of the store: its value now, then whenever it has changed. */
export function followFigure<T>(options: FollowOptions, ask: () => Promise<T>): Stream<T> {
  return new GuardedStream(options.logger, (subscriber) => {
    let last: string | undefined
    const read = async (): Promise<void> => {
      const value = await ask()
      const seen = JSON.stringify(value)
      if (seen === last || subscriber.closed) return
      last = seen
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
 * Calls `read` now and after changes, one at a time, with a rest between two calls; a change during the rest is not missed.
 * Gives the function that ends it.
 */
function repeat(
  { onChange, onEnd, ready, store, timers }: FollowOptions,
  read: () => Promise<void>,
  failed: (error: unknown) => void,
  ended: () => void,
  rest: (again: () => void) => { cancel(): void },
): () => void {
  if (timers.closed) {
    ended()
    return () => {}
  }
  let state: 'opening' | 'reading' | 'resting' | 'idle' | 'over' = 'opening'
  let ending = false
  let changed = false
  let timer: { cancel(): void } | null = null
  const go = (): void => {
    state = 'reading'
    changed = false
    read().then(
      () => {
        if (state === 'over') return
        if (ending) return last()
        state = 'resting'
        timer = rest(() => {
          timer = null
          if (changed || store.capabilities.shared) go()
          else state = 'idle'
        })
      },
      (error: unknown) => {
        if (state === 'over') return
        if (ending) ended()
        else failed(error)
      },
    )
  }
  // What has been written until now is still told.
  const last = (): void => void read().then(ended, ended)
  const offChange = onChange(() => {
    changed = true
    if (state === 'idle' && !ending) go()
  })
  const offEnd = onEnd(() => {
    if (state === 'over') return
    ending = true
    timer?.cancel()
    if (state === 'opening') ended()
    // Two readings at once would tell everything twice.
    else if (state !== 'reading') last()
  })
  ready().then(() => {
    if (state !== 'over') go()
  }, failed)
  return () => {
    state = 'over'
    timer?.cancel()
    offChange()
    offEnd()
  }
}

const tooSlow = (cursor: number): JobchartError =>
  new JobchartError('SLOW_READER', `transitions after ${cursor} were dropped from the log before they were read`, {
    hint: 'Read faster, keep a longer log, or start again from 0 and expect a gap.',
  })

/** How full the backlog is. */
export const followPressure = (
  options: FollowOptions,
  ask: () => Promise<Counts>,
  capacity: number | null,
): Stream<Pressure> =>
  followFigure(options, async () => {
    const counts = await ask()
    let waiting = 0
    for (const state of statesTagged('backlog')) waiting += counts[state]
    return { waiting, capacity, full: capacity !== null && waiting >= capacity }
  })
