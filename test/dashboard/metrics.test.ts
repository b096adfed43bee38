/** The metrics that the dashboard gives to Prometheus, read by a parser of their format. */
import parse from 'parse-prometheus-text-format'
import { constant, createClient, createRuntime, defineJob, fatal, memoryStore, type Runtime } from 'jobchart'
import { createDashboard, type DashboardOptions } from 'jobchart/dashboard'
import { expect, onTestFinished, test } from 'vitest'
import { fromPromise, setup } from 'xstate'
import { faultyStore } from '../../src/testing/faulty-store.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'

interface Sample {
  readonly labels?: Readonly<Record<string, string>>
  readonly value?: string
  readonly count?: string
  readonly sum?: string
}

const odd = 'a "type" \\ of\nits own'
const greet = defineJob({ type: odd, run: async () => {} })
const fail = defineJob({ type: 'fail', retry: { maxAttempts: 1 }, run: () => Promise.reject(fatal('no')) })

async function started(options: Partial<Parameters<typeof createRuntime>[0]> = {}): Promise<Runtime> {
  const runtime = createRuntime({ jobs: [greet, fail], logger: {}, ...options })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  return runtime
}

/** The samples by the name of their metric; the type of a metric, and its text. */
async function scrape(options: DashboardOptions) {
  const dashboard = createDashboard({ authorize: () => 'read', ...options })
  return async () => {
    const response = await dashboard.fetch(new Request('http://localhost/tools/jobs/metrics'))
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const text = await response.text()
    const families = parse(text) as readonly { name: string; type: string; help: string; metrics: readonly Sample[] }[]
    const named = (name: string) => families.find((each) => each.name === `jobchart_${name}`)
    return {
      text,
      families,
      kind: (name: string) => named(name)?.type,
      of: (name: string, type: string, label = 'type') =>
        named(name)?.metrics.find(({ labels }) => labels?.[label] === type),
      all: (name: string) => named(name)?.metrics ?? [],
    }
  }
}

test('counters, gauges and durations of a runtime are read by a parser, whatever its types are called', async () => {
  const runtime = await started({ concurrency: 7 })
  const read = await scrape({ runtime })
  await read()
  await runtime.run(greet)
  await runtime.run(greet)
  await expect(runtime.run(fail)).rejects.toThrow()
  const { text, families, of, all, kind } = await read()
  const escaped = JSON.stringify(odd).slice(1, -1)
  expect(text).toContain(`jobchart_jobs_done_total{type="${escaped}"} 2\n`)
  expect(families.every(({ help, type }) => help !== '' && type !== 'UNTYPED')).toBe(true)
  expect(kind('attempts_failed_total')).toBe('COUNTER')
  expect(of('attempts_failed_total', 'fail')?.value).toBe('1')
  expect(of('jobs_dead_total', 'fail')?.value).toBe('1')
  expect(of('jobs_enqueued_total', 'fail')?.value).toBe('1')
  expect(all('jobs').find(({ labels }) => labels?.['type'] === 'fail' && labels['state'] === 'dead')?.value).toBe('1')
  expect(all('slots')[0]?.value).toBe('7')
  expect(kind('attempt_duration_seconds')).toBe('HISTOGRAM')
  // The parser puts buckets with labels together: they are read from the text.
  const line = (suffix: string): string =>
    `jobchart_attempt_duration_seconds_${suffix}{type="${escaped}",event="complete"`
  const counts = Array.from(text.split('\n'))
    .filter((each) => each.startsWith(line('bucket')))
    .map((each) => Number(each.split('} ')[1]))
  expect(counts).toEqual(counts.toSorted((x, y) => x - y))
  expect(counts.at(-1)).toBe(2)
  expect(text).toContain(`${line('bucket')},le="+Inf"} 2\n`)
  expect(text).toContain(`${line('count')}} 2\n`)
  expect(counts.length).toBe(18)
})

test('failed attempts of promises within machines are counted, and counters do not fall when jobs are removed', async () => {
  let calls = 0
  const charge = fromPromise(async () => {
    if (++calls < 3) throw new Error('busy')
  })
  const machine = setup({ actors: { charge } }).createMachine({
    id: 'order',
    initial: 'charging',
    states: { charging: { invoke: { src: 'charge', onDone: 'paid' } }, paid: { type: 'final' } },
  })
  const order = defineJob({ type: 'order', machine, retry: { maxAttempts: 5, backoff: constant('1ms') } })
  const runtime = await started({ jobs: [order] })
  const read = await scrape({ runtime })
  const job = await runtime.enqueue(order)
  await job.result()
  const before = await read()
  expect(before.of('attempts_failed_total', 'order')?.value).toBe('2')
  expect(before.of('jobs_done_total', 'order')?.value).toBe('1')
  await runtime.discard([job.id])
  const after = await read()
  expect(after.of('jobs_done_total', 'order')?.value).toBe('1')
})

test('counters go on where the periods that the store keeps are over', async () => {
  const clock = new VirtualClock()
  const runtime = await started({ clock, store: memoryStore({ clock }) })
  const read = await scrape({ runtime })
  const done: (string | undefined)[] = []
  for (const wait of ['1s', '50s', '3m', '1h', '3h', '1s'] as const) {
    const job = await runtime.enqueue(greet)
    await clock.advance('100ms')
    await job.result()
    await clock.advance(wait)
    done.push((await read()).of('jobs_done_total', odd)?.value)
    const [again, other] = await Promise.all([read(), read()])
    expect([again, other].map((each) => each.of('jobs_done_total', odd)?.value)).toEqual([done.at(-1), done.at(-1)])
  }
  // What happened three hours before a request is not kept in minutes.
  expect(done).toEqual(['1', '2', '3', '4', '4', '5'])
})

test('a client has the figures of the store, and no attempts', async () => {
  const store = memoryStore()
  const client = createClient({ jobs: [greet], store, logger: {} })
  onTestFinished(() => client.close())
  await client.enqueue(greet)
  const { of, kind } = await (await scrape({ client }))()
  expect(of('jobs_enqueued_total', odd)?.value).toBe('1')
  expect(kind('attempt_duration_seconds')).toBeUndefined()
})

test('beyond 200 types there are no more series, and it is said how many are left out', async () => {
  const client = createClient({ jobs: [], store: memoryStore(), logger: {} })
  onTestFinished(() => client.close())
  for (let i = 0; i < 210; i++) await client.enqueueByName(`type-${i}`, null)
  const { all } = await (await scrape({ client }))()
  expect(all('jobs_enqueued_total').length).toBe(200)
  expect(all('queues_left_out')[0]?.value).toBe('10')
})

test('metrics are behind authorize, and without their store the answer is 503', async () => {
  const store = faultyStore(memoryStore(), { faults: { queues: { before: 1 } } })
  const client = createClient({ jobs: [], store, logger: {} })
  onTestFinished(() => client.close())
  const ask = async (authorize: NonNullable<DashboardOptions['authorize']>): Promise<number> =>
    (await createDashboard({ client, authorize }).fetch(new Request('http://localhost/metrics'))).status
  expect(await ask(() => new Response(null, { status: 401 }))).toBe(401)
  expect(await ask(() => 'read')).toBe(503)
})
