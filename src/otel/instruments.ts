/** The metrics. A type is the only name in their attributes: ids and tags would be as many series. */
import {
  createNoopMeter,
  type Attributes,
  type BatchObservableResult,
  type Counter,
  type Histogram,
  type Meter,
} from '@opentelemetry/api'
import type { QueueDepth, TelemetrySource } from '../core/telemetry.ts'
import { attribute, metric } from './attributes.ts'

/** Seconds. The first ones are those of the conventions; jobs may wait and run for much longer. */
const boundaries = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400,
]

/** States of the backlog, whose jobs are counted. */
const backlog = ['scheduled', 'queued', 'retrying', 'waiting', 'running'] as const

export class Instruments {
  /** Does anything collect them? If not, what they would be given is not determined. */
  readonly areCollected: boolean
  readonly sent: Counter
  readonly sendDuration: Histogram
  readonly consumed: Counter
  readonly processDuration: Histogram
  readonly queueTime: Histogram
  readonly retries: Counter
  readonly deaths: Counter
  readonly lostLeases: Counter
  private readonly meter: Meter

  constructor(meter: Meter) {
    this.meter = meter
    this.areCollected = meter !== createNoopMeter()
    const seconds = (name: string, description: string): Histogram =>
      meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries: boundaries } })
    const count = (name: string, unit: string, description: string): Counter =>
      meter.createCounter(name, { description, unit })
    this.sent = count(metric.sent, '{message}', 'Jobs that were enqueued.')
    this.sendDuration = seconds(metric.sendDuration, 'Duration of enqueues.')
    this.consumed = count(metric.consumed, '{message}', 'Jobs that were claimed.')
    this.processDuration = seconds(metric.processDuration, 'Duration of attempts.')
    this.queueTime = seconds(metric.queueTime, 'How long a job was queued before its claim.')
    this.retries = count(metric.retries, '{attempt}', 'Failed attempts that are followed by another one.')
    this.deaths = count(metric.deaths, '{job}', 'Jobs whose last attempt has failed.')
    this.lostLeases = count(metric.lostLeases, '{attempt}', 'Attempts that lost their lease.')
  }

  /** Observes the backlog whenever metrics are collected. @returns ends it */
  observe({ queues }: TelemetrySource): () => void {
    const { meter } = this
    const depth = meter.createObservableGauge(metric.depth, { description: 'Jobs by state.', unit: '{job}' })
    const age = meter.createObservableGauge(metric.age, {
      description: 'Since when the oldest queued job waits.',
      unit: 's',
    })
    const observed = async (result: BatchObservableResult): Promise<void> => {
      for (const queue of await queues()) {
        for (const [state, count] of backlogOf(queue))
          result.observe(depth, count, ofQueue(queue.type, { [attribute.state]: state }))
        result.observe(age, queue.latencyMs / 1_000, ofQueue(queue.type))
      }
    }
    meter.addBatchObservableCallback(observed, [depth, age])
    return () => meter.removeBatchObservableCallback(observed, [depth, age])
  }
}

const ofQueue = (type: string, more: Attributes = {}): Attributes => ({
  [attribute.system]: 'jobchart',
  [attribute.destination]: type,
  ...more,
})

const backlogOf = ({ counts }: QueueDepth): [state: string, count: number][] =>
  backlog.map((state) => [state, counts[state] ?? 0])
