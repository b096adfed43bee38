/** The handle of a queue: pauses and resumes it, and reads its figures. */
import type { Activity, ActivityOptions } from '../core/activity-options.ts'
import type { ChartHeat, HeatOptions } from '../core/heat.ts'
import type { Stream } from '../core/stream.ts'
import type { Rates, StateCounts } from '../store.ts'

/** What happens in a queue per second, over all processes. */
export interface QueueRates {
  /** Within the last minute, and within the last five minutes. */
  readonly lastMinute: Rates
  readonly lastFiveMinutes: Rates
}

export interface QueueStats {
  readonly type: string
  readonly paused: boolean
  /** `weight` of its definition; 0 if its type is not among the `jobs` of this runtime or client. */
  readonly weight: number
  /** The `capacity` of its definition; null if it has none, or its type is not among the `jobs`. */
  readonly capacity: number | null
  /** Jobs in each state. */
  readonly counts: StateCounts
  /** How long the first queued job, by priority and age, has been queued, ms; 0 if none is. */
  readonly latencyMs: number
  /** Transitions per second, mean time in the queue and mean run time. */
  readonly rates: QueueRates
  /** Picks of this queue by this runtime since its start; 0 for a client. */
  readonly given: number
  /** The fraction of all picks of this runtime, 0…1. */
  readonly share: number
  /** The fraction that the weights define if every queue always has work, 0…1. */
  readonly expectedShare: number
}

/** The figures of one queue, with those of its concurrency keys. */
export interface KeyedQueueStats extends QueueStats {
  /**
   * The 20 concurrency keys with the most picks by this runtime since its start, those first; none for a client. Jobs
   * without a key are left out. Of a queue with more than 1,000 keys they are estimates: too high by a thousandth of
   * `given` at most.
   */
  readonly keys: readonly KeyStats[]
}

export interface KeyStats {
  readonly key: string
  /** Picks of jobs of the key. */
  readonly given: number
  /** The fraction of all picks of the queue, 0…1. */
  readonly share: number
}

/** The queue of a type. Made by `runtime.queue(type)`. */
export interface QueueHandle {
  readonly type: string

  /**
   * Pauses the queue for all processes; on a durable store it stays paused across restarts. After this resolves no
   * process claims jobs of the queue, and none of them starts in this process: a claimed job that has not started is
   * released, and the attempt is not counted. Running jobs continue.
   * @throws JobchartError STORE_UNAVAILABLE
   */
  pause(): Promise<void>

  /** Ends the pause for all processes, and wakes them. @throws JobchartError STORE_UNAVAILABLE */
  resume(): Promise<void>

  /** The current figures. @throws JobchartError STORE_UNAVAILABLE */
  stats(): Promise<KeyedQueueStats>

  /**
   * What happened in the queue, in all processes, minute by minute or hour by hour.
   * @param options `period`: `'minute'` (default) or `'hour'`; `last`: how far back, default `'1h'` or `'1d'`
   * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE
   * @example const { buckets } = await runtime.queue('email.send').activity({ last: '2h' })
   */
  activity(options?: ActivityOptions): Promise<Activity>

  /**
   * How the machines of the queue have gone through their chart, in all processes: how often each transition was taken,
   * and how long they stayed in each state. Counted at checkpoints: what a run has done since its last one is not in it
   * yet. Child machines are not counted.
   * @param options `period`: `'hour'`, `'day'` (default) or `'week'`; `version`: of that version alone
   * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE
   * @example const { states } = await runtime.queue('order').heat({ period: 'week' })
   */
  heat(options?: HeatOptions): Promise<ChartHeat>

  /**
   * The current figures, then each new value, ten times a second at most. A change of the rates or the latency alone is
   * no new value.
   */
  readonly stats$: Stream<KeyedQueueStats>
}
