/** The endpoint for Prometheus that docs/metrics.md shows does what the page says. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createClient, createRuntime, defineJob, fatal, memoryStore, type Client } from '../src/index.ts'
import { faultyStore } from '../src/testing/faulty-store.ts'
import { tsBlocks } from './support/markdown-code.ts'
import { repositoryRoot } from './support/tidy/repository.ts'

const folder = join(repositoryRoot, 'test/.metrics')
const file = join(folder, 'metrics.ts')

interface Shown {
  readonly metricsServer: (client: Client) => Server
}

beforeAll(async () => {
  const blocks = tsBlocks(readFileSync(join(repositoryRoot, 'docs/metrics.md'), 'utf8'))
  await mkdir(folder, { recursive: true })
  await writeFile(file, blocks.find(({ code }) => code.startsWith('// metrics.ts\n'))?.code ?? '')
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** @param meanwhile what happens while the server is there */
async function answer(client: Client, meanwhile?: () => Promise<void>): Promise<{ status: number; text: string }> {
  const { metricsServer } = (await import(file)) as Shown
  const server = metricsServer(client).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  await meanwhile?.()
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`)
  return { status: response.status, text: await response.text() }
}

const greet = defineJob({ type: 'greet "all"', run: async () => {} })
const fail = defineJob({ type: 'fail', run: () => Promise.reject(fatal('no')) })

test('the page’s endpoint answers with figures of the store and transitions of the process', async () => {
  const runtime = createRuntime({ jobs: [greet, fail], concurrency: 7, logger: {} })
  onTestFinished(async () => void (await runtime.stop()))
  const { status, text } = await answer(runtime, async () => {
    await runtime.start()
    await runtime.run(greet)
    await runtime.run(greet)
    await expect(runtime.run(fail)).rejects.toThrow()
  })
  expect(status).toBe(200)
  for (const line of [
    '# TYPE jobchart_jobs gauge',
    String.raw`jobchart_jobs{type="greet \"all\"",state="done"} 2`,
    'jobchart_jobs{type="fail",state="dead"} 1',
    'jobchart_queue_age_seconds{type="fail"} 0',
    'jobchart_workers 1',
    'jobchart_slots 7',
    '# TYPE jobchart_transitions_total counter',
    String.raw`jobchart_transitions_total{type="greet \"all\"",event="ENQUEUE"} 2`,
    'jobchart_transitions_total{type="fail",event="CLAIM"} 1',
  ]) {
    expect(text.split('\n')).toContain(line)
  }
  // Each line is a comment or a sample, as the format demands.
  const sample = /^(# TYPE \w+ (gauge|counter)|\w+(\{\w+="([^"\\]|\\.)*"(,\w+="([^"\\]|\\.)*")*\})? [\d.e+-]+)$/
  expect(
    text
      .trimEnd()
      .split('\n')
      .filter((line) => !sample.test(line)),
  ).toEqual([])
})

test('without its store the page’s endpoint answers 503', async () => {
  const store = faultyStore(memoryStore(), { faults: { queues: { before: 1 } } })
  const client = createClient({ jobs: [], store, logger: {} })
  onTestFinished(() => client.close())
  expect(await answer(client)).toEqual({ status: 503, text: '' })
})
