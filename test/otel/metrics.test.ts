import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createRuntime, defineJob, fatal, memoryStore } from '../../src/index.ts'
import { attribute, metric } from '../../src/otel/attributes.ts'
import { otel } from '../../src/otel/index.ts'

function metered() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1e8 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  onTestFinished(() => meterProvider.shutdown())
  const collected = async (name: string) => {
    exporter.reset()
    await reader.forceFlush()
    const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((each) => each.metrics))
    const found = metrics.find(({ descriptor }) => descriptor.name === name)
    if (found === undefined)
      throw new Error(`no ${name} among ${metrics.map(({ descriptor }) => descriptor.name).join()}`)
    return found
  }
  /** By type: values, or counts of a histogram. */
  const points = async (name: string, by: string = attribute.destination) => {
    const { dataPoints, dataPointType } = await collected(name)
    return Object.fromEntries(
      dataPoints.map(({ attributes, value }) => [
        String(attributes[by]),
        dataPointType === DataPointType.HISTOGRAM ? (value as { count: number }).count : value,
      ]),
    )
  }
  return { meterProvider, collected, points }
}

const fine = defineJob<null, void>({ type: 'fine', run: () => {} })
const flaky = defineJob<null, void>({
  type: 'flaky',
  retry: { maxAttempts: 2, backoff: () => 0 },
  run: () => {
    throw new TypeError('no')
  },
})
const doomed = defineJob<null, void>({
  type: 'doomed',
  run: () => {
    throw fatal(new Error('no'))
  },
})

test('jobs that were sent, claimed, run, retried and given up are counted by type', async () => {
  const { meterProvider, points, collected } = metered()
  await using runtime = createRuntime({
    jobs: [fine, flaky, doomed],
    store: memoryStore(),
    logger: {},
    telemetry: otel({ meterProvider }),
  })
  await runtime.start()
  await runtime.enqueueMany(fine, [null, null, null])
  await runtime.enqueue(flaky, null)
  await runtime.enqueue(doomed, null)
  await runtime.drain({ retries: true })
  expect(await points(metric.sent)).toEqual({ fine: 3, flaky: 1, doomed: 1 })
  expect(await points(metric.consumed)).toEqual({ fine: 3, flaky: 2, doomed: 1 })
  expect(await points(metric.retries)).toEqual({ flaky: 1 })
  expect(await points(metric.deaths)).toEqual({ flaky: 1, doomed: 1 })
  expect(await points(metric.queueTime)).toEqual({ fine: 3, flaky: 2, doomed: 1 })
  expect(await points(metric.processDuration, attribute.outcome)).toEqual({ done: 3, retrying: 1, dead: 1 })
  expect(await points(metric.processDuration, attribute.errorType)).toMatchObject({ TypeError: 1, Error: 1 })
  const { descriptor, dataPoints } = await collected(metric.processDuration)
  expect(descriptor.unit).toBe('s')
  expect(dataPoints[0]?.value).toMatchObject({ buckets: { boundaries: expect.arrayContaining([0.005, 86_400]) } })
})

test('the backlog is observed when metrics are collected, until the runtime has stopped', async () => {
  const { meterProvider, collected, points } = metered()
  const store = memoryStore()
  const asked = vi.spyOn(store, 'queues')
  const runtime = createRuntime({ jobs: [fine], store, logger: {}, telemetry: otel({ meterProvider }) })
  await runtime.start()
  await runtime.queue('fine').pause()
  await runtime.enqueueMany(fine, [null, null])
  await runtime.enqueue(fine, null, { delay: '1h' })
  expect(await points(metric.depth, attribute.state)).toMatchObject({ queued: 2, scheduled: 1, running: 0 })
  expect((await collected(metric.age)).dataPoints).toHaveLength(1)
  await runtime.stop({ mode: 'abort' })
  asked.mockClear()
  await collected(metric.depth)
  expect(asked).not.toHaveBeenCalled()
})

test('a lost lease is counted', async () => {
  const { meterProvider, points } = metered()
  const telemetry = otel({ meterProvider })
  const span = telemetry.attempt({
    id: 'a',
    type: 'fine',
    attempt: 1,
    generation: 1,
    queuedMs: () => null,
    context: undefined,
    isFirst: () => true,
  })
  span?.end('lost', 5)
  expect(await points(metric.lostLeases)).toEqual({ fine: 1 })
})

test('names of the messaging conventions are those of their registry', () => {
  const registered = new Set<string>(Object.values(conventions).filter((value) => typeof value === 'string'))
  const named = [...Object.values(attribute), ...Object.values(metric)].filter((name) => !name.startsWith('jobchart.'))
  expect(named.filter((name) => !registered.has(name))).toEqual([])
  for (const operation of ['send', 'create', 'process', 'receive']) expect(registered).toContain(operation)
})
