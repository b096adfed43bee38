/** The live view of a run: per queue a bar and its figures, below it the whole and what takes long. */
import { exhaustMap, timer, type Subscription } from 'rxjs'
import type { JobEvent, QueueStats, Runtime, RuntimeStats } from 'jobchart'
import type { Ended } from './before.ts'
import type { FileProgress } from './jobs.ts'
import { sum, type Progress } from './progress.ts'
import { review } from './review.ts'
import { fill, widthOf, type Screen } from './screen.ts'
import type { Tallies } from './tally.ts'
import { clip, count, duration, percent, plural } from './text.ts'

const redrawEveryMs = 200
const lineEveryMs = 1_000
/** Throughput and shares are those of the last seconds. */
const windowMs = 2_000
const columnsMax = 120
const nameColumns = 10
const barColumnsMin = 8

export interface View {
  readonly folder: string
  readonly tallies: Tallies
  readonly progress: Progress
  /** A path as people typed it. */
  readonly shown: (path: string) => string
}

/** The run as it is now. */
export interface Look {
  /** Its queues are those of the jobs that every file gets. */
  readonly stats: RuntimeStats
  /** Reviews that wait for a person. */
  readonly toDecide: number
  /** Jobs that other processes run, or ran when they died: those come back when their leases end. */
  readonly elsewhere: number
}

async function lookAt(runtime: Runtime): Promise<Look> {
  const [stats, workers] = await Promise.all([runtime.stats(), runtime.workers()])
  const others = workers.filter(({ id }) => id !== runtime.id)
  const { queues, ...rest } = stats
  const reviewed = ({ type }: QueueStats): boolean => type === review.type
  const toDecide = queues.find(reviewed)?.counts.waiting ?? 0
  return {
    stats: { ...rest, queues: queues.filter((queue) => !reviewed(queue)) },
    toDecide,
    elsewhere: others.reduce((jobs, { running }) => jobs + running.length, 0),
  }
}

const reviewsToDecide = (reviews: number): string[] => (reviews === 0 ? [] : [`${count(reviews)} to decide on`])

const inOtherHands = (jobs: number): string[] => (jobs === 0 ? [] : [`${count(jobs)} in other processes`])

/** The run at one time, to tell how much has happened since. */
interface Sample {
  readonly atMs: number
  readonly ended: number
  readonly given: ReadonlyMap<string, number>
}

/** What is said of a queue. */
interface Row extends Ended {
  readonly queue: QueueStats
  /** Among the queues that have work now; null if it has none. */
  readonly part: { readonly share: number; readonly expected: number } | null
}

/** The figures of a queue; where the terminal is narrow, those with the highest ranks are left out. */
const figures: readonly { head: string; columns: number; rank: number; cell: (row: Row) => string }[] = [
  { head: 'done', columns: 10, rank: 0, cell: ({ done }) => count(done) },
  { head: 'dead', columns: 6, rank: 2, cell: ({ dead }) => count(dead) },
  { head: 'retrying', columns: 10, rank: 6, cell: ({ queue }) => count(queue.counts.retrying) },
  { head: 'queued', columns: 9, rank: 1, cell: ({ queue }) => count(queue.counts.queued) },
  { head: 'running', columns: 9, rank: 3, cell: ({ queue }) => count(queue.counts.running) },
  { head: 'share', columns: 8, rank: 4, cell: ({ part }) => (part === null ? 'empty' : percent(part.share)) },
  { head: 'weight', columns: 8, rank: 5, cell: ({ part }) => (part === null ? '' : percent(part.expected)) },
]

/** A line of the block; where the terminal is low, those with the highest ranks are left out. */
interface Line {
  readonly rank: number
  readonly text: string
}

export class Display {
  private readonly runtime: Runtime
  private readonly screen: Screen
  private readonly view: View
  private readonly subscription: Subscription
  /** The last check-in of each running job that has checked in. */
  private readonly checkins = new Map<string, { readonly type: string; readonly progress: FileProgress }>()
  private samples: Sample[] = []

  constructor(runtime: Runtime, screen: Screen, view: View) {
    this.runtime = runtime
    this.screen = screen
    this.view = view
    const show = (look: Look | null): void => {
      if (look === null) return
      if (screen.isLive) screen.draw(this.block(look))
      else screen.say(this.line(look))
    }
    this.subscription = timer(screen.isLive ? 0 : lineEveryMs, screen.isLive ? redrawEveryMs : lineEveryMs)
      // A store that does not answer now is told of by the runtime's logger.
      .pipe(exhaustMap(() => lookAt(runtime).catch(() => null)))
      .subscribe(show)
    this.subscription.add(this.runtime.events$.subscribe((event) => this.take(event)))
  }

  stop(): void {
    this.subscription.unsubscribe()
    this.screen.clear()
  }

  private take({ event, from, id, type, value }: JobEvent): void {
    if (event === 'CHECKIN') this.checkins.set(id, { type, progress: value as unknown as FileProgress })
    else if (from === 'running') this.checkins.delete(id)
  }

  [Symbol.dispose](): void {
    this.stop()
  }

  /** One line, where nothing can be redrawn. */
  line({ stats, toDecide, elsewhere }: Look): string {
    const before = this.sample(stats)
    const queued = stats.queues.reduce((jobs, { counts }) => jobs + counts.queued, 0)
    const retrying = stats.queues.reduce((jobs, { counts }) => jobs + counts.retrying, 0)
    return [
      duration(this.view.tallies.elapsedMs).padStart(8),
      this.progress(stats),
      `${count(this.throughput(stats, before))}/s`,
      `${count(queued)} queued`,
      `${retrying} retrying`,
      `${this.ended(stats).dead} dead`,
      ...reviewsToDecide(toDecide),
      ...inOtherHands(elsewhere),
    ].join('   ')
  }

  /** Lines that fit into the terminal as it is now. */
  block({ stats, toDecide, elsewhere }: Look): string[] {
    const { screen, view } = this
    const width = Math.max(1, Math.min(screen.columns, columnsMax) - 1)
    const before = this.sample(stats)
    const elapsed = `${stats.state} · ${duration(view.tallies.elapsedMs)}`
    const title = `${screen.paint('bold', 'jobchart')} ${clip(view.folder, Math.max(1, width - 10 - elapsed.length))}`
    const parts = [
      this.progress(stats),
      `${count(this.throughput(stats, before))} jobs/s`,
      ...reviewsToDecide(toDecide),
      ...inOtherHands(elsewhere),
      this.hint(stats.state),
    ]
    const lines: readonly Line[] = [
      { rank: 2, text: `${fill(title, width - elapsed.length)}${elapsed}` },
      { rank: 6, text: '' },
      ...this.table(stats, before, width),
      { rank: 5, text: '' },
      { rank: 0, text: joined(parts, width) },
      ...this.largeFiles(width),
    ]
    return highest(lines, Math.max(1, screen.rows - 1))
  }

  private table(stats: RuntimeStats, before: Sample, width: number): Line[] {
    const shown = fitting(width - nameColumns)
    const figureColumns = shown.reduce((columns, figure) => columns + figure.columns, 0)
    const left = width - nameColumns - figureColumns
    const barColumns = left < barColumnsMin ? 0 : left
    const head = shown.map(({ head: text, columns }) => text.padStart(columns)).join('')
    return [
      { rank: 3, text: this.screen.paint('dim', ' '.repeat(nameColumns + barColumns) + head) },
      ...this.rowsOf(stats, before).map((row) => {
        const cells = shown.map(({ cell, columns }) => cell(row).padStart(columns)).join('')
        return { rank: 1, text: row.queue.type.padEnd(nameColumns) + this.bar(row, barColumns) + cells }
      }),
    ]
  }

  /**
   * A queue without work gets no share, and gives its own to the others: shares are told among those that have work.
   */
  private rowsOf({ queues }: RuntimeStats, before: Sample): Row[] {
    const givenSince = ({ type, given }: QueueStats): number => given - (before.given.get(type) ?? 0)
    const withWork = queues.filter(({ counts }) => counts.queued > 0)
    const allGiven = Math.max(
      1,
      withWork.reduce((jobs, queue) => jobs + givenSince(queue), 0),
    )
    const allWeight = withWork.reduce((weights, { weight }) => weights + weight, 0)
    return queues.map((queue) => ({
      queue,
      ...this.view.progress.ended(queue.type, queue.counts),
      part: withWork.includes(queue)
        ? { share: givenSince(queue) / allGiven, expected: queue.weight / allWeight }
        : null,
    }))
  }

  /** done, dead, running, retrying, queued, and what the walk has not come to yet. */
  private bar({ queue: { counts }, done, dead }: Row, columns: number): string {
    const { screen, view } = this
    const known = done + dead + counts.running + counts.retrying + counts.queued
    const all = Math.max(1, known, (view.progress.expected ?? 0) / view.tallies.types.length)
    let jobs = 0
    let cells = 0
    const part = (more: number, cell: string, style: 'green' | 'red' | 'cyan' | 'yellow' | 'blue' | 'dim'): string => {
      jobs += more
      const added = Math.max(0, Math.round((jobs / all) * columns) - cells)
      cells += added
      return screen.paint(style, cell.repeat(added))
    }
    return [
      part(done, '█', 'green'),
      part(dead, '█', 'red'),
      part(counts.running, '█', 'cyan'),
      part(counts.retrying, '▓', 'yellow'),
      part(counts.queued, '▒', 'blue'),
      part(all - known, '░', 'dim'),
    ].join('')
  }

  private progress(stats: RuntimeStats): string {
    const { done, dead } = this.ended(stats)
    const { expected } = this.view.progress
    // The store may count jobs of a folder within this one, or of a file that has changed since it was counted.
    return expected === null
      ? `${plural(done + dead, 'job')}, counting files`
      : `${count(Math.min(done + dead, expected))} of ${plural(expected, 'job')}`
  }

  /** Two lines, filled or not: a block that keeps its height does not jump. */
  private largeFiles(width: number): Line[] {
    const all = [...this.checkins.values()].slice(0, 2)
    return [0, 1].map((i) => {
      const checkin = all[i]
      if (checkin === undefined) return { rank: 4, text: '' }
      const { type, progress } = checkin
      const read = percent(progress.read).padStart(6)
      const path = clip(this.view.shown(progress.path), Math.max(1, width - nameColumns - 7))
      return { rank: 4, text: this.screen.paint('dim', `${type.padEnd(nameColumns)}${path} ${read}`) }
    })
  }

  private hint(state: RuntimeStats['state']): string {
    if (state !== 'stopping') return this.screen.paint('dim', 'Ctrl-C stops')
    return this.screen.paint('yellow', 'running jobs end, Ctrl-C aborts them')
  }

  /** Keeps this moment, and gives the one at the beginning of the window. */
  private sample(stats: RuntimeStats): Sample {
    const atMs = this.view.tallies.elapsedMs
    const given = new Map(stats.queues.map((queue) => [queue.type, queue.given]))
    this.samples = this.samples.filter((sample) => sample.atMs >= atMs - windowMs)
    this.samples.push({ atMs, ended: this.endedSince(stats), given })
    return this.samples[0] as Sample
  }

  /** Of all processes together. */
  private throughput(stats: RuntimeStats, since: Sample): number {
    const ended = Math.max(0, this.endedSince(stats) - since.ended)
    return Math.round((ended * 1_000) / Math.max(1, this.view.tallies.elapsedMs - since.atMs))
  }

  private endedSince({ queues }: RuntimeStats): number {
    return queues.reduce((jobs, { type, counts }) => jobs + this.view.progress.endedSince(type, counts), 0)
  }

  private ended({ queues }: RuntimeStats): Ended {
    return sum(queues.map(({ type, counts }) => this.view.progress.ended(type, counts)))
  }
}

/** The figures that fit, in their order. */
function fitting(columns: number): typeof figures {
  let left = columns
  const taken = new Set(
    figures
      .toSorted((a, b) => a.rank - b.rank)
      .filter((figure) => figure.columns <= left && (left -= figure.columns) >= 0),
  )
  return figures.filter((figure) => taken.has(figure))
}

/** The lines that fit, in their order. */
function highest(lines: readonly Line[], rows: number): string[] {
  const taken = new Set(lines.toSorted((a, b) => a.rank - b.rank).slice(0, rows))
  return lines.filter((line) => taken.has(line)).map(({ text }) => text)
}

/** As many of the parts as fit into a line; the first in any case. */
function joined(parts: readonly string[], width: number): string {
  return parts.reduce((line, part) => (widthOf(line) + 3 + widthOf(part) <= width ? `${line} · ${part}` : line))
}
