/** The live view of a run: per queue a bar and its figures, below it the whole and what takes long. */
import { exhaustMap, timer, type Subscription } from 'rxjs'
import type { JobEvent, QueueStats, Runtime, RuntimeStats } from 'jobchart'
import type { Progress } from './jobs.ts'
import { fill, type Screen } from './screen.ts'
import type { Tallies } from './tally.ts'
import { clip, count, duration, percent, plural } from './text.ts'

const redrawEveryMs = 200
const lineEveryMs = 1_000
/** Throughput and shares are those of the last seconds. */
const windowMs = 2_000

export interface View {
  readonly folder: string
  readonly tallies: Tallies
  /** Jobs there will be in all; null while the files are being counted. */
  readonly expected: () => number | null
  /** A path as people typed it. */
  readonly shown: (path: string) => string
}

/** The run as it is now. */
interface Look {
  readonly stats: RuntimeStats
  /** Jobs that other processes run, or ran when they died: those come back when their leases end. */
  readonly elsewhere: number
}

async function lookAt(runtime: Runtime): Promise<Look> {
  const [stats, workers] = await Promise.all([runtime.stats(), runtime.workers()])
  const others = workers.filter(({ id }) => id !== runtime.id)
  return { stats, elsewhere: others.reduce((sum, { running }) => sum + running.length, 0) }
}

const inOtherHands = (jobs: number): string[] => (jobs === 0 ? [] : [`${count(jobs)} in other hands`])

/** The run at one time, to tell how much has happened since. */
interface Sample {
  readonly atMs: number
  readonly done: number
  readonly given: ReadonlyMap<string, number>
}

export class Display {
  private readonly runtime: Runtime
  private readonly screen: Screen
  private readonly view: View
  private readonly subscription: Subscription
  /** The last check-in of each running job that has checked in. */
  private readonly checkins = new Map<string, { readonly type: string; readonly progress: Progress }>()
  private samples: Sample[] = [{ atMs: 0, done: 0, given: new Map() }]

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
    if (event === 'CHECKIN') this.checkins.set(id, { type, progress: value as unknown as Progress })
    else if (from === 'running') this.checkins.delete(id)
  }

  [Symbol.dispose](): void {
    this.stop()
  }

  /** One line, where nothing can be redrawn. */
  private line({ stats, elsewhere }: Look): string {
    const { tallies } = this.view
    const waiting = stats.queues.reduce((sum, { counts }) => sum + counts.queued, 0)
    const retrying = stats.queues.reduce((sum, { counts }) => sum + counts.retrying, 0)
    return [
      duration(tallies.elapsedMs).padStart(8),
      this.progress(),
      `${count(this.throughput(this.sample(stats)))}/s`,
      `${count(waiting)} waiting`,
      `${retrying} retrying`,
      `${tallies.total().dead} dead`,
      ...inOtherHands(elsewhere),
    ].join('   ')
  }

  private block({ stats, elsewhere }: Look): string[] {
    const { screen, view } = this
    const { tallies, folder } = view
    const width = Math.min(screen.columns, 120) - 1
    const before = this.sample(stats)
    const figuresWidth = 59
    const barWidth = Math.max(8, width - 10 - figuresWidth)
    const elapsed = `${stats.state} · ${duration(tallies.elapsedMs)}`
    const title = `${screen.paint('bold', 'jobchart')} ${clip(folder, width - 12 - elapsed.length)}`
    const head = 'done  dead  retrying  waiting  running  share  weight'
    return [
      `${fill(title, width - elapsed.length)}${elapsed}`,
      '',
      screen.paint('dim', `${''.padEnd(10 + barWidth)}${head.padStart(figuresWidth)}`),
      ...stats.queues.map(
        (queue) => `${queue.type.padEnd(10)}${this.bar(queue, barWidth)}${this.figures(queue, stats.queues, before)}`,
      ),
      '',
      [
        this.progress(),
        `${count(this.throughput(before))} jobs/s`,
        ...inOtherHands(elsewhere),
        this.hint(stats.state),
      ].join(' · '),
      ...this.largeFiles(width),
    ]
  }

  /** done, dead, running, retrying, waiting, and what the walk has not come to yet. */
  private bar({ type, counts }: QueueStats, width: number): string {
    const { screen, view } = this
    const { done, dead } = view.tallies.of(type)
    const known = done + dead + counts.running + counts.retrying + counts.queued
    const all = Math.max(1, known, (view.expected() ?? 0) / view.tallies.types.length)
    let jobs = 0
    let cells = 0
    const part = (more: number, cell: string, style: 'green' | 'red' | 'cyan' | 'yellow' | 'blue' | 'dim'): string => {
      jobs += more
      const added = Math.max(0, Math.round((jobs / all) * width) - cells)
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

  private figures({ type, counts, given, weight }: QueueStats, queues: readonly QueueStats[], before: Sample): string {
    const { done, dead } = this.view.tallies.of(type)
    const givenSince = (queue: QueueStats): number => queue.given - (before.given.get(queue.type) ?? 0)
    const all = queues.reduce((sum, queue) => sum + givenSince(queue), 0)
    const share = all === 0 ? 0 : (given - (before.given.get(type) ?? 0)) / all
    return [
      count(done).padStart(10),
      count(dead).padStart(6),
      count(counts.retrying).padStart(10),
      count(counts.queued).padStart(9),
      count(counts.running).padStart(9),
      percent(share).padStart(7),
      percent(weight).padStart(8),
    ].join('')
  }

  private progress(): string {
    const { tallies, expected } = this.view
    const { done, dead } = tallies.total()
    const all = expected()
    return all === null
      ? `${plural(done + dead, 'job')}, counting files`
      : `${count(done + dead)} of ${plural(all, 'job')}`
  }

  /** Two lines, filled or not: a block that keeps its height does not jump. */
  private largeFiles(width: number): string[] {
    const all = [...this.checkins.values()].slice(0, 2)
    return [0, 1].map((i) => {
      const checkin = all[i]
      if (checkin === undefined) return ''
      const { type, progress } = checkin
      const read = percent(progress.read).padStart(6)
      return this.screen.paint('dim', `${type.padEnd(10)}${clip(this.view.shown(progress.path), width - 17)} ${read}`)
    })
  }

  private hint(state: RuntimeStats['state']): string {
    if (state !== 'stopping') return this.screen.paint('dim', 'Ctrl-C stops')
    return this.screen.paint('yellow', 'running jobs end, Ctrl-C aborts them')
  }

  /** Keeps this moment, and gives the one at the beginning of the window. */
  private sample({ queues }: RuntimeStats): Sample {
    const { tallies } = this.view
    const atMs = tallies.elapsedMs
    const given = new Map(queues.map((queue) => [queue.type, queue.given]))
    this.samples = this.samples.filter((sample) => sample.atMs >= atMs - windowMs)
    this.samples.push({ atMs, done: this.doneNow, given })
    return this.samples[0] as Sample
  }

  private throughput(since: Sample): number {
    const { tallies } = this.view
    return Math.round(((this.doneNow - since.done) * 1_000) / Math.max(1, tallies.elapsedMs - since.atMs))
  }

  /** Since this start. */
  private get doneNow(): number {
    const { done, dead, before } = this.view.tallies.total()
    return done + dead - before
  }
}
