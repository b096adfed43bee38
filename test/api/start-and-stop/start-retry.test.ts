/** A start while the store is away: it fails, or is repeated until the store answers or the runtime is stopped. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime, defineJob, JobchartError, memoryStore } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { faultyStore, VirtualClock, type FaultPlan } from 'jobchart/testing'
import { expect, onTestFinished, test } from 'vitest'
import { world } from '../../support/leaks.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const job = defineJob<string, string>({ type: 'job', run: async (name) => name })

function setUp(faults: FaultPlan) {
  const store = faultyStore(memoryStore(), { seed: 1, faults })
  const made = world({ store })
  return { ...made, faulty: store, worker: made.idle({ jobs: [job] }) }
}

/** A runtime whose store never answers. */
function away() {
  const clock = new VirtualClock()
  const store = faultyStore(memoryStore(), { seed: 1, clock, faults: { open: { before: 1 } } })
  return { clock, worker: createRuntime({ jobs: [job], store, clock, logger: {} }) }
}

test.each(['open', 'worker'] as const)('a start whose %s fails is repeated until the store answers', async (call) => {
  const { clock, faulty, worker, logged } = setUp({ [call]: { before: 1 } })
  const states: string[] = []
  worker.state$.subscribe((state) => states.push(state))
  let started = false
  const start = worker.start({ retry: true }).then(() => (started = true))
  await clock.advance('30s')
  expect([started, worker.state, worker.storeError?.message]).toEqual([false, 'starting', expect.any(String)])
  const tries = faulty.done.get(call)?.calls ?? 0
  expect([tries > 8, tries < 13, logged.filter(({ level }) => level === 'warn').length]).toEqual([true, true, 1])
  faulty.calm()
  await clock.advance('5s')
  await start
  expect([worker.state, worker.storeError, states]).toEqual(['running', null, ['idle', 'starting', 'running']])
  expect(await worker.run(job, 'x')).toBe('x')
})

test('a stop ends the repetition at once', async () => {
  const { clock, worker } = away()
  const start = worker.start({ retry: true }).catch((error: unknown) => error)
  await clock.advance('1m')
  const stop = worker.stop()
  expect(await start).toMatchObject({ code: 'STOPPED' })
  await clock.advance('2s')
  await stop
  expect([worker.state, clock.pending]).toEqual(['stopped', 0])
})

test('without retry, and for an error that no waiting mends, it has failed', async () => {
  const { worker, clock } = away()
  await expect(worker.start()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(worker.state).toBe('failed')
  const broken = { ...memoryStore(), open: () => Promise.reject(new TypeError('a mistake')) }
  const other = createRuntime({ jobs: [job], store: broken, clock, logger: {} })
  await expect(other.start({ retry: true })).rejects.toThrow('a mistake')
  expect(other.state).toBe('failed')
})

test('what a person must mend is not waited for: a missing folder, a folder and a user without the rights', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const asFile = join(folder.path, 'file')
  writeFileSync(asFile, '')
  for (const path of [join(folder.path, 'nowhere', 'jobs.db'), join(asFile, 'jobs.db')]) {
    const runtime = createRuntime({ jobs: [job], store: sqliteStore({ path }), logger: {} })
    await expect(runtime.start({ retry: true })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(runtime.state).toBe('failed')
  }
  for (const answer of [
    'WRONGPASS invalid username-password pair',
    'NOAUTH Authentication required.',
    'NOPERM no permission',
  ]) {
    const error = new JobchartError('STORE_UNAVAILABLE', 'the server refuses', { cause: new Error(answer) })
    const store = { ...memoryStore(), open: () => Promise.reject(error) }
    await expect(createRuntime({ jobs: [job], store, logger: {} }).start({ retry: true })).rejects.toBe(error)
  }
})

test('the socket of a server that has not started yet is waited for', async () => {
  const clock = new VirtualClock()
  const cause = Object.assign(new Error('connect ENOENT /run/redis.sock'), { code: 'ENOENT', syscall: 'connect' })
  const away = new JobchartError('STORE_UNAVAILABLE', 'no answer', { cause })
  const inner = memoryStore({ clock })
  let tries = 0
  const store = {
    ...inner,
    open: (host: Parameters<typeof inner.open>[0]) => (++tries < 3 ? Promise.reject(away) : inner.open(host)),
  }
  const runtime = createRuntime({ jobs: [job], store, clock, logger: {} })
  onTestFinished(async () => void (await runtime.stop()))
  const start = runtime.start({ retry: true })
  await clock.advance('10s')
  await start
  expect([tries, runtime.state]).toEqual([3, 'running'])
})

test('an option that makes no sense is refused', async () => {
  const { worker } = setUp({})
  await expect(worker.start({ retry: 'yes' } as unknown as { retry: boolean })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
  })
})
