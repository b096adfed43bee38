/** The SQLite store against the contract while other processes work on the same file, and on the same queue. */
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { sqliteStore } from 'jobchart/sqlite'
import { checkHistory, finalState, recordingStore, type HistoryLine } from 'jobchart/store-testing'
import { systemClock } from '../../src/core/clock.ts'
import { newJob, put } from '../../src/store-testing/conformance/acts.ts'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { everyNth, isLong } from '../harness/long-form.ts'
import { newFile } from '../support/new-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { movingClock } from './moving-clock.ts'
import { startChild } from '../harness/processes.ts'
import { complaintsAbout } from './sqlite/consistency.ts'
import { Partner, sharedStore } from './sqlite/two-processes.ts'

const partner = new Partner()
const noise = startChild(new URL('sqlite/noise-child.ts', import.meta.url))
/** How often it wrote, in each case. */
const noisyWrites: number[] = []

afterAll(() => {
  partner.end()
  noise.process.disconnect()
})

storeConformance({
  name: 'sqlite, asked by two processes in turn',
  test: everyNth(5, test),
  random: { sequences: isLong ? 40 : 6 },
  async create() {
    const folder = temporaryFolder()
    const clock = movingClock()
    const store = await sharedStore(await newFile(folder.path), clock, partner)
    return {
      store,
      advance: (ms) => clock.advance(ms),
      async close() {
        await store.close()
        folder.remove()
      },
    }
  },
})

storeConformance({
  name: 'sqlite, while another process writes all the time',
  test: everyNth(8, test),
  random: { sequences: 3 },
  async create() {
    const folder = temporaryFolder()
    const clock = movingClock()
    const path = await newFile(folder.path)
    const store = sqliteStore({ path, durability: 'normal' })
    await store.open({ clock })
    noise.tell({ path })
    await noise.heard()
    return {
      store,
      advance: (ms) => clock.advance(ms),
      async close() {
        noise.tell({ path: null })
        noisyWrites.push((await noise.heard()) as number)
        await store.close()
        folder.remove()
      },
    }
  },
})

test('the other process wrote during every case', () => {
  expect(noisyWrites.length).toBeGreaterThan(30)
  expect(Math.min(...noisyWrites)).toBeGreaterThan(0)
})

interface Working {
  readonly lines: readonly HistoryLine[]
}

test('two processes work on one queue, and every job runs exactly once', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const path = join(folder.path, 'jobs.db')
  const lines: HistoryLine[] = []
  const store = recordingStore(sqliteStore({ path }), (line) => void lines.push(line))
  await store.open({ clock: systemClock })
  const jobs = 1_000
  const keys = ['a', 'b', null]
  for (let n = 0; n < jobs; n += 500) {
    const some = Array.from({ length: 500 }, (_, i) => newJob(`job-${n + i}`, { concurrencyKey: keys[i % 3] ?? null }))
    await put(store, ...some)
  }
  const workers = [0, 1].map(() => startChild(new URL('sqlite/working-child.ts', import.meta.url), path))
  await Promise.all(workers.map((child) => child.heard()))
  for (const child of workers) child.tell('go')
  const told = (await Promise.all(workers.map((child) => child.heard()))) as Working[]
  await Promise.all(workers.map((child) => child.ended()))
  const runs = told.map((worker) =>
    worker.lines.flatMap((line) => (line.op === 'run' && 'invoke' in line ? [line.invoke.id] : [])),
  )
  expect(new Set(runs.flat()).size).toBe(jobs)
  expect(runs.flat().length).toBe(jobs)
  for (const own of runs) expect(own.length, 'each had its share').toBeGreaterThan(jobs / 20)
  const limits = { mail: { concurrency: 12, perKey: 3, rate: null } }
  const { violations, figures } = checkHistory([...lines, ...told.flatMap((worker) => worker.lines)], {
    final: await finalState(store),
    limits,
  })
  expect(violations).toEqual([])
  expect(figures).toMatchObject({ attempts: jobs, rescues: 0, lostSettles: 0 })
  await store.close()
  expect(complaintsAbout(path)).toEqual([])
})
