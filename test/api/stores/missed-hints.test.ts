/** Across processes a store's hints may get lost: everything is found without them, a little later. */
import { defineJob, memoryStore, type Store } from 'jobchart'
import { expect, test } from 'vitest'
import type { Hint } from '../../../src/store.ts'
import { world } from '../../support/leaks.ts'

/** A store that others share, and that tells nothing. */
const silent = (): Store => ({
  ...memoryStore(),
  capabilities: { durable: true, shared: true },
  watch: () => () => {},
})

const job = defineJob<string, string>({ type: 'job', run: async (name) => name })

async function setUp() {
  const made = world({ store: silent() })
  const worker = await made.runtime({ jobs: [job] })
  const other = await made.runtime({ jobs: [job], concurrency: 0 })
  await made.clock.advance('1m')
  return { ...made, worker, other }
}

test('a job that another process has enqueued is run', async () => {
  const { clock, other } = await setUp()
  const handle = await other.enqueue(job, 'x')
  await clock.advance('2s')
  expect(await handle.record()).toMatchObject({ state: 'done', output: 'x' })
  expect(await handle.result()).toBe('x')
})

test('a process that is told that it may have missed hints looks at once, for work and for results', async () => {
  const listeners = new Set<(hint: Hint) => void>()
  const watch: Store['watch'] = (listener) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  const { clock, runtime } = world({ store: { ...silent(), watch } })
  await runtime({ jobs: [job] })
  const other = await runtime({ jobs: [job], concurrency: 0 })
  await clock.advance('1m')
  const handle = await other.enqueue(job, 'x')
  const result = handle.result()
  await clock.advance('10ms')
  expect(await handle.record()).toMatchObject({ state: 'queued' })
  const missed = (): void => listeners.forEach((listener) => listener({ kind: 'missed' }))
  missed()
  await clock.advance('10ms')
  expect(await handle.record()).toMatchObject({ state: 'done' })
  let seen: string | undefined
  void result.then((output) => (seen = output))
  missed()
  await clock.advance('30ms')
  expect(seen).toBe('x')
})

test('so is one whose time has come, and one whose queue was resumed elsewhere', async () => {
  const { clock, other } = await setUp()
  await other.queue('job').pause()
  const handles = [await other.enqueue(job, 'now'), await other.enqueue(job, 'later', { delay: '5s' })]
  await clock.advance('1m')
  expect(await other.counts()).toMatchObject({ queued: 2 })
  await other.queue('job').resume()
  await clock.advance('3s')
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(['now', 'later'])
})

test('an idle process asks every six seconds which queues have work, and claims from none that has not', async () => {
  const inner = silent()
  let claims = 0
  let looks = 0
  const store: Store = {
    ...inner,
    claim: (request) => (claims++, inner.claim(request)),
    counts: () => (looks++, inner.counts()),
  }
  const { clock, runtime } = world({ store })
  await runtime({ jobs: [job] })
  claims = looks = 0
  await clock.advance('1m')
  expect(claims).toBe(0)
  expect(looks).toBeGreaterThanOrEqual(9)
  expect(looks).toBeLessThanOrEqual(10)
})

test('what an idle process asks its store in a minute', async () => {
  const inner = silent()
  const asked: Record<string, number> = {}
  const counted = (...names: readonly (keyof Store)[]): Partial<Store> =>
    Object.fromEntries(
      names.map((name) => [
        name,
        (...args: unknown[]) => {
          asked[name] = (asked[name] ?? 0) + 1
          return (inner[name] as (...given: unknown[]) => unknown)(...args)
        },
      ]),
    )
  const store: Store = { ...inner, ...counted('promote', 'rescue', 'prune', 'counts', 'queues', 'extend') }
  const { clock, runtime } = world({ store })
  await runtime({ jobs: [job] })
  await clock.advance('10s')
  for (const name of Object.keys(asked)) asked[name] = 0
  await clock.advance('1m')
  expect(asked).toEqual({ promote: 30, rescue: 30, prune: 6, counts: 10, extend: 6 })
})
