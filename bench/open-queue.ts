/**
 * A queue on a file or a server: jobchart, one of its peers, or a floor. All are given the same work, and none sees how
 * it is counted.
 */
import type { Handler } from './contender.ts'

/** How jobs are handed over: one awaited after the other, `size` in one call, or `size` calls at once. */
export interface EnqueueMode {
  readonly by: 'one' | 'batch' | 'at once'
  readonly size: number
}

/** What jobs can have that plain ones have not. Peers are asked for plain ones only. */
export type Feature = 'cap' | 'keys' | 'rate' | 'tags' | 'unique' | 'priorities'

/** How a queue is opened, wherever it is. */
export interface QueueOptions {
  /** What to do with a job, by its type. */
  readonly handlers: readonly Handler[]
  /** Jobs at once, of all types. */
  readonly slots: number
  /** A queue that can take jobs in several ways takes them as is best for this. */
  readonly handlersWait?: boolean
  readonly feature?: Feature
}

export interface OpenQueue {
  /** Stores jobs 0 … count − 1, evenly over the types. Each is durable when this resolves. */
  enqueue(count: number, mode: EnqueueMode): Promise<void>
  /** Runs all that waits. Resolves when the end of each is durable. */
  process(): Promise<void>
  /** Jobs that have not ended. */
  left(): Promise<number>
  close(): Promise<void>
}

/** Adds the jobs 0 … count − 1 by a call for each: one awaited after the other, or `size` at once. */
export async function addEach(
  count: number,
  { by, size }: EnqueueMode,
  add: (i: number) => Promise<unknown>,
): Promise<void> {
  if (by === 'one') {
    for (let i = 0; i < count; i++) await add(i)
    return
  }
  for (let first = 0; first < count; first += size) {
    await Promise.all(Array.from({ length: Math.min(size, count - first) }, (_, i) => add(first + i)))
  }
}

/** The jobs 0 … count − 1 in chunks of one type each, as calls take them that know only one. */
export function* chunks(
  count: number,
  { size }: EnqueueMode,
  types: number,
): Generator<{ type: number; first: number; end: number }> {
  for (let first = 0, turn = 0; first < count; first += size, turn++) {
    yield { type: turn % types, first, end: Math.min(first + size, count) }
  }
}
