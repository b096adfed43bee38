/** The display of the main job: it fits any terminal, and counts the jobs of all processes. */
import { PassThrough } from 'node:stream'
import type { WriteStream } from 'node:tty'
import { stripVTControlCharacters } from 'node:util'
import { createRuntime, defineJob, memoryStore, type Counts, type Runtime } from 'jobchart'
import { afterEach, expect, test } from 'vitest'
import type { Survey } from '../../examples/main-job/before.ts'
import { Display } from '../../examples/main-job/display.ts'
import { Progress } from '../../examples/main-job/progress.ts'
import { Screen } from '../../examples/main-job/screen.ts'
import { Tallies } from '../../examples/main-job/tally.ts'

const types = ['hash', 'compress', 'lines']
const jobs = types.map((type, i) =>
  defineJob<undefined, void>({ type, weight: [6, 3, 1][i] as number, run: async () => {} }),
)
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.stop()
})

const newRuntime = (): Runtime => {
  const runtime = createRuntime({ jobs, store: memoryStore(), concurrency: 0 })
  runtimes.push(runtime)
  return runtime
}

interface Terminal {
  readonly stream: WriteStream
  /** What was written since it was asked last. */
  written(): string
}

function terminal(columns: number, rows: number): Terminal {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns, rows }) as unknown as WriteStream
  return { stream, written: () => String(stream.read() ?? '') }
}

const survey = (files: number, done: number): Survey => ({
  files,
  filesDone: 0,
  ended: new Map(types.map((type) => [type, { done, dead: 0 }])),
})

async function shownIn(runtime: Runtime, { stream }: Terminal, found: Survey): Promise<Display> {
  const tallies = new Tallies(types, 0, runtime.id)
  const progress = new Progress(tallies, await runtime.counts())
  progress.surveyed(found)
  return new Display(runtime, new Screen(stream), { folder: 'a/long/folder', tallies, progress, shown: (path) => path })
}

const sizes = [200, 100, 80, 76, 75, 60, 40, 20, 5].flatMap((columns) =>
  [40, 24, 11, 10, 6, 2].map((rows) => [columns, rows]),
)

test.each(sizes as [number, number][])(
  '%i columns, %i rows: every line fits, and how far it is always stands there',
  async (columns, rows) => {
    const runtime = newRuntime()
    await runtime.start()
    for (const job of jobs) await runtime.enqueueMany(job, [undefined, undefined])
    const tty = terminal(columns, rows)
    using display = await shownIn(runtime, tty, survey(22_668, 5_000))
    const lines = display.block({ stats: await runtime.stats(), toDecide: 0, elsewhere: 12 })
    new Screen(tty.stream).draw(lines)
    const drawn = stripVTControlCharacters(tty.written()).replace('\r', '').split('\n').slice(0, -1)
    expect(drawn.length).toBeLessThan(rows)
    for (const line of drawn) expect(line.length).toBeLessThan(columns)
    expect(drawn.join('\n')).toContain('15,000 of 68,004 jobs'.slice(0, columns - 1))
    if (columns < 60 || rows < 10) return
    const head = drawn.find((line) => line.includes('queued'))
    expect(head).toMatch(/done +dead.* queued/)
    for (const type of types) expect(drawn.some((line) => line.startsWith(type))).toBe(true)
  },
)

test('a block is drawn over the lines of the one before, also where the terminal was made narrower meanwhile', () => {
  const tty = terminal(40, 10)
  const screen = new Screen(tty.stream)
  screen.draw(['x'.repeat(39), 'y'])
  tty.written()
  screen.draw(['z'])
  expect(tty.written().startsWith('\r\x1b[2A')).toBe(true)
  screen.draw(['x'.repeat(39), 'y'])
  tty.written()
  tty.stream.columns = 20
  screen.draw(['z'])
  // The first line takes two rows now.
  expect(tty.written().startsWith('\r\x1b[3A')).toBe(true)
})

test('a queue that has run empty says so, and the others share what it leaves', async () => {
  const runtime = newRuntime()
  await runtime.start()
  await runtime.enqueueMany(jobs[1] as (typeof jobs)[0], [undefined])
  await runtime.enqueueMany(jobs[2] as (typeof jobs)[0], [undefined])
  using display = await shownIn(runtime, terminal(100, 24), survey(1, 0))
  const lines = display.block({ stats: await runtime.stats(), toDecide: 0, elsewhere: 0 }).map(stripVTControlCharacters)
  const cells = (type: string): string[] =>
    lines
      .find((line) => line.startsWith(type))
      ?.trim()
      .split(/ +/) ?? []
  expect(cells('hash').at(-1)).toBe('empty')
  expect(cells('compress').slice(-4)).toEqual(['0', '%', '75', '%'])
  expect(cells('lines').slice(-4)).toEqual(['0', '%', '25', '%'])
})

/** Counts of a store in which so many jobs of each type are done. */
const counts = (done: number): Counts => {
  const none = { scheduled: 0, queued: 0, running: 0, retrying: 0, waiting: 0, cancelling: 0, dead: 0, cancelled: 0 }
  const ofTypes = Object.fromEntries(types.map((type) => [type, { ...none, done }]))
  return { ...none, done: 3 * done, types: ofTypes, cursor: '0' }
}

test('a process that joins counts on from what was done before it, whoever goes on', () => {
  const tallies = new Tallies(types, 0, 'second')
  // 7,000 of each type stand in the file, 2,000 of them of files that have changed since.
  const progress = new Progress(tallies, counts(7_000))
  const ended = (done: number) => progress.ended('hash', counts(done).types['hash'] as never)
  expect(progress.expected).toBe(null)
  expect(ended(7_010)).toEqual({ done: 10, dead: 0 })
  progress.surveyed(survey(8_000, 5_000))
  expect(progress.expected).toBe(24_000)
  expect(ended(7_010)).toEqual({ done: 5_010, dead: 0 })
  expect(ended(8_000)).toEqual({ done: 6_000, dead: 0 })
  expect(progress.endedSince('hash', counts(8_000).types['hash'] as never)).toBe(1_000)
})

test('where the store forgets what has ended, what this process has counted stands', () => {
  const tallies = new Tallies(['hash'], 0, 'only')
  const progress = new Progress(tallies, counts(0))
  const record = { type: 'hash', state: 'done', attempt: 1, enqueuedAt: 1, startedAt: 1, finishedAt: 2, errors: [] }
  for (let n = 0; n < 5; n++) tallies.ended({ ...record, worker: 'only', output: { bytes: 1 } } as never)
  expect(progress.ended('hash', counts(3).types['hash'] as never)).toEqual({ done: 5, dead: 0 })
})
