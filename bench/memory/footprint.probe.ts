/** Bytes per job, by the state it is in. */
import { createRuntime, defineJob, type Runtime } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { heapBytes } from '../harness/heap.ts'
import { verifyEqual } from '../harness/ledger.ts'
import { fill } from './fill.ts'

export interface FootprintParams {
  readonly state: keyof typeof states
  readonly jobs: number
}

/**
 * Jobs that fill the transition log before the measurement: its memory does not grow with the jobs that are measured.
 */
const jobsFirst = 5_000

/** Bytes of the heap that each of `jobs` jobs keeps. @throws NotVerified if they are not all in the state */
export const measure = ({ state, jobs }: FootprintParams): Promise<number> => states[state](jobs)

const states = { input, waiting, running, finished }

/** What a caller's own inputs take, without any of us. */
async function input(jobs: number): Promise<number> {
  const inputs: (Input | null)[] = Array.from({ length: jobs }, () => null)
  const before = await heapBytes()
  for (let i = 0; i < jobs; i++) inputs[i] = { i }
  const after = await heapBytes()
  verifyEqual('inputs', inputs.findLast(Boolean)?.i, jobs - 1)
  return (after - before) / jobs
}

async function waiting(jobs: number): Promise<number> {
  const { runtime, add } = await warm(async () => {})
  runtime.concurrency = 0
  const before = await heapBytes()
  await add(jobs)
  const after = await heapBytes()
  verifyEqual('waiting jobs', (await runtime.counts()).queued, jobs)
  return (after - before) / jobs
}

async function running(jobs: number): Promise<number> {
  let toStart = 0
  const gate = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const { runtime, add } = await warm(() => {
    if (toStart === 0) return Promise.resolve()
    if (--toStart === 0) started.resolve()
    // One promise for all: what a handler allocates itself is not ours.
    return gate.promise
  })
  runtime.concurrency = jobs + 1
  const before = await heapBytes()
  toStart = jobs
  await add(jobs)
  await started.promise
  const after = await heapBytes()
  verifyEqual('running jobs', (await runtime.counts()).running, jobs)
  gate.resolve()
  await runtime.drain()
  await runtime.stop()
  return (after - before) / jobs
}

async function finished(jobs: number): Promise<number> {
  const { runtime, add } = await warm(async () => {})
  await add(jobs)
  await runtime.drain()
  const kept = (await runtime.counts()).done
  const before = await heapBytes()
  // The ids of the answer are gone with it; they were the jobs' own.
  verifyEqual('finished jobs', (await runtime.discard({ state: 'done' })).discarded.length, kept)
  const after = await heapBytes()
  return (before - after) / kept
}

/** A runtime that has worked already. */
async function warm(run: () => Promise<void>): Promise<{ runtime: Runtime; add: (jobs: number) => Promise<void> }> {
  const work = defineJob<Input, void>({ type: 'work', run })
  const runtime = createRuntime({ jobs: [work] })
  await runtime.start()
  const add = (count: number): Promise<void> => fill(runtime, [work], { count })
  await add(jobsFirst)
  await runtime.drain()
  await runtime.discard({ state: 'done' })
  return { runtime, add }
}
