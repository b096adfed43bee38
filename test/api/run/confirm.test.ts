/**
 * What another process asks for between the claim of a job and its start: the store is asked again before user code
 * runs.
 */
import { createClient, defineJob, JobchartError, memoryStore, type Store } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

/** A store as two processes see it: `mine` gets its claims late and no hints; `other` acts at once. */
function twoProcesses() {
  const other = memoryStore()
  const gate = { wait: async () => {} }
  const mine: Store = {
    ...other,
    capabilities: { durable: false, shared: true },
    watch: () => () => {},
    claim: async (request) => {
      const answer = await other.claim(request)
      if (answer.jobs.length > 0) await gate.wait()
      return answer
    },
  }
  const made = world({ store: mine })
  const ran: string[] = []
  const job = defineJob<string>({ type: 'job', run: async (name) => void ran.push(name) })
  const client = createClient({ jobs: [job], store: other, clock: made.clock, logger: made.logger })
  return { ...made, gate, ran, job, client, other }
}

test('a job whose cancel was answered `cancelling` before its start does not start', async () => {
  const { clock, runtime, gate, ran, job, client } = twoProcesses()
  await runtime({ jobs: [job] })
  const [a, b] = await client.enqueueMany(job, ['a', 'b'])
  let report: unknown
  gate.wait = async () => {
    report = await client.cancel(b?.id ?? '', { reason: 'enough' })
    await clock.sleep('1s')
  }
  await clock.advance('40s')
  expect(report).toMatchObject({ cancelling: [b?.id] })
  expect(ran).toEqual(['a'])
  expect(await b?.record()).toMatchObject({ state: 'cancelled', cancelReason: 'enough' })
  expect((await a?.record())?.state).toBe('done')
  await client.close()
})

test('a job of a queue that was paused before its start goes back, its attempt not spent', async () => {
  const { clock, runtime, gate, ran, job, client } = twoProcesses()
  gate.wait = async () => {
    await client.queue('job').pause()
    await clock.sleep(2)
  }
  await runtime({ jobs: [job] })
  const handle = await client.enqueue(job, 'a')
  await clock.advance('5m')
  expect(ran).toEqual([])
  expect(await handle.record()).toMatchObject({ state: 'queued', attempt: 0 })
  gate.wait = async () => {}
  await client.queue('job').resume()
  await clock.advance('1m')
  expect(ran).toEqual(['a'])
  expect(await handle.record()).toMatchObject({ state: 'done', attempt: 1 })
  await client.close()
})

test('a job that was taken back and given to another before its start does not start here', async () => {
  const { clock, runtime, gate, ran, job, client, other } = twoProcesses()
  gate.wait = async () => {
    gate.wait = async () => {}
    // The clock of the store has been set forward, that of this process has not: it takes its lease for good.
    clock.jump(3_600_000)
    await other.rescue(10)
    clock.jump(-3_600_000)
    await clock.sleep(2)
  }
  await runtime({ jobs: [job] })
  await client.enqueue(job, 'a')
  await clock.advance('5m')
  expect(ran).toEqual(['a'])
  await client.close()
})

test('what happens while the input is validated counts, too', async () => {
  const { clock, runtime, client, other } = twoProcesses()
  const ran: string[] = []
  let validate = async (): Promise<void> => {}
  const checked = defineJob({
    type: 'checked',
    input: {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: async (value: unknown) => (await validate(), { value: value as string }),
        types: undefined as unknown as { input: string; output: string },
      },
    },
    run: async (name: string) => void ran.push(name),
  })
  const worker = await runtime({ jobs: [checked] })
  const handle = await worker.enqueue(checked, 'a')
  const paused = Promise.withResolvers<void>()
  validate = async () => {
    await clock.sleep('1s')
    await other.cancel([{ ids: [handle.id], reason: null, graceMs: 5_000 }])
    paused.resolve()
  }
  await clock.advance('40s')
  await paused.promise
  expect(ran).toEqual([])
  expect((await handle.record()).state).toBe('cancelled')
  await client.close()
})

test('between two starts of one claim, of which the first takes long, the store is asked again', async () => {
  const { clock, runtime, client, other } = twoProcesses()
  const ran: number[] = []
  const slow = defineJob<number>({
    type: 'slow',
    run: async (n) => {
      ran.push(n)
      if (n > 1) return
      clock.block(2)
      void other.queue('slow', { paused: true })
    },
  })
  const worker = await runtime({ jobs: [slow], concurrency: 0 })
  await worker.enqueueMany(slow, [1, 2, 3])
  worker.concurrency = 3
  await clock.advance('2s')
  expect(ran).toEqual([1])
  expect(await client.counts()).toMatchObject({ queued: 2, done: 1 })
  await other.queue('slow', { paused: false })
  await clock.advance('1m')
  expect(new Set(ran)).toEqual(new Set([1, 2, 3]))
  expect(ran).toHaveLength(3)
  await client.close()
})

test('a store that cannot say how the jobs stand starts none of them: they go back', async () => {
  const inner = memoryStore()
  let broken = true
  const confirm: Store['confirm'] = (leases) => {
    if (broken) throw new JobchartError('STORE_UNAVAILABLE', 'the disk is gone')
    return inner.confirm?.(leases) ?? []
  }
  const claim: Store['claim'] = async (request) => {
    await made.clock.sleep(2)
    return inner.claim(request)
  }
  const made = world({ store: { ...inner, confirm, claim } })
  const { clock, runtime } = made
  const ran: string[] = []
  const job = defineJob<string>({ type: 'job', run: async (name) => void ran.push(name) })
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 'a')
  await clock.advance('100ms')
  expect(ran).toEqual([])
  broken = false
  await clock.advance('1m')
  expect(ran).toEqual(['a'])
  expect(await handle.record()).toMatchObject({ state: 'done', attempt: 1 })
})
