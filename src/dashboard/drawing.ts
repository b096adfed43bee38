/**
 * Draws charts in a thread, one at a time and within a time limit, so that no chart holds up the jobs of this process.
 */
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { ChartGraph } from '../chart/index.ts'
import type { MarkOptions } from '../chart/marks.ts'
import type { DrawingOptions } from '../chart/to-svg.ts'
import { systemClock, type Timer } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'
import { consoleLogger } from '../core/logger.ts'
import type { DrawAnswer, DrawRequest } from './drawing-messages.ts'

/** The time limit of a picture, ms; the thread is then stopped. */
const limitMsDefault = 2_000
/**
 * That of a chart with at most this many states and transitions: its layout takes longer on an overloaded computer
 * only.
 */
const smallMax = 120
const smallLimitMs = 10_000
/** A thread that drew nothing for so long, ms, is ended: it holds 50 MB. */
const idleMs = 30_000

/** A chart that is drawn with one set of options, many times. */
export interface Chart {
  readonly graph: ChartGraph
  readonly options: DrawingOptions
}

interface Known {
  readonly number: number
  /** Drawn as a list from now on, because its layout took too long? */
  tooSlow: boolean
  /** What it failed with: another attempt would fail as well. */
  error: JobchartError | null
}

export class Drawing {
  private readonly known = new WeakMap<Chart, Known>()
  private charts = 0
  private thread: DrawingThread | null = null
  private last: Promise<unknown> = Promise.resolve()
  private idle: Timer | null = null
  private readonly limitMs: number

  constructor(limitMs = limitMsDefault) {
    this.limitMs = limitMs
  }

  /** @throws JobchartError CHART_TOO_LARGE · UNSUPPORTED if the chart cannot be laid out · INVALID_OPTION */
  draw(chart: Chart, marks: MarkOptions): Promise<string> {
    const picture = this.last.then(() => this.drawNow(chart, marks))
    this.last = picture.catch(() => {})
    return picture
  }

  private async drawNow(chart: Chart, marks: MarkOptions): Promise<string> {
    const known = this.known.get(chart) ?? { number: (this.charts += 1), tooSlow: false, error: null }
    this.known.set(chart, known)
    if (known.error !== null) throw known.error
    this.idle?.cancel()
    const answer = (await this.answer(chart, known, marks)) ?? (await this.answer(chart, known, marks))
    this.idle = systemClock.timer(() => this.end(), idleMs, { keepAlive: false })
    if (answer?.kind === 'drawn') return answer.svg
    if (answer?.kind === 'failed') {
      const { code, message, hint } = answer
      known.error = new JobchartError(code, message, hint === undefined ? {} : { hint })
      throw known.error
    }
    throw new JobchartError('UNSUPPORTED', `chart ${chart.graph.id} was not drawn in time`, {
      hint: 'Is the computer overloaded? The next request draws it again.',
    })
  }

  /**
   * @returns null if the thread was stopped because the layout took too long or too much memory: the next one draws a
   * list
   */
  private async answer(chart: Chart, known: Known, marks: MarkOptions): Promise<DrawAnswer | null> {
    if (this.thread?.hasEnded) this.thread = null
    const thread = (this.thread ??= new DrawingThread())
    const { states, transitions } = chart.graph
    const isSmall = states.length + transitions.length <= smallMax
    // No attempt is begun in the second half of the time. A list takes a few ms.
    const options = { ...chart.options, timeLimit: known.tooSlow ? 0 : this.limitMs / 2 }
    const limitMs = known.tooSlow || isSmall ? Math.max(this.limitMs, smallLimitMs) : this.limitMs
    try {
      await thread.ready
      const answer = await thread.ask(known.number, { graph: chart.graph, options }, marks, limitMs)
      if (answer !== null) return answer
    } catch (error) {
      this.end()
      if (!thread.wasReady) throw error
      consoleLogger.warn('the thread that draws charts has died', { chart: chart.graph.id, error })
    }
    known.tooSlow = true
    this.end()
    return null
  }

  private end(): void {
    this.idle?.cancel()
    this.thread?.end()
    this.thread = null
  }
}

/** One thread, from its start to its end. */
class DrawingThread {
  readonly ready: Promise<unknown>
  wasReady = false
  hasEnded = false
  private readonly worker: Worker
  private readonly sent = new Set<number>()
  private answered: (answer: DrawAnswer | null) => void = () => {}
  private failed: (error: unknown) => void = () => {}

  constructor() {
    this.worker = new Worker(threadFile(), { name: 'jobchart charts' })
    this.ready = this.next().then(() => (this.wasReady = true))
    this.worker.on('message', (answer: DrawAnswer) => this.answered(answer))
    this.worker.on('error', (error) => this.failed(error))
    this.worker.on('exit', (code) => {
      this.hasEnded = true
      this.failed(new Error(`exit code ${code}`))
    })
  }

  /** @returns null if no answer came within the time limit. @throws JobchartError UNSUPPORTED if the thread died */
  async ask(
    chart: number,
    source: NonNullable<DrawRequest['source']>,
    marks: MarkOptions,
    limitMs: number,
  ): Promise<DrawAnswer | null> {
    const answer = this.next()
    const timer = systemClock.timer(() => this.answered(null), limitMs, { keepAlive: false })
    this.worker.postMessage({ chart, source: this.sent.has(chart) ? null : source, marks } satisfies DrawRequest)
    this.sent.add(chart)
    try {
      return await answer
    } finally {
      timer.cancel()
    }
  }

  end(): void {
    void this.worker.terminate()
  }

  /** The next answer. The thread keeps the process alive only while one is awaited. */
  private next(): Promise<DrawAnswer | null> {
    this.worker.ref()
    return new Promise<DrawAnswer | null>((resolve, reject) => {
      this.answered = resolve
      this.failed = (cause) => {
        const hint = 'Charts need the installed package jobchart with elkjs; look at the cause.'
        reject(new JobchartError('UNSUPPORTED', 'the thread that draws charts has died', { hint, cause }))
      }
    }).finally(() => this.worker.unref())
  }
}

/**
 * The file of the thread: beside this one, or beside the installed package if this one was built into another file.
 * @throws JobchartError UNSUPPORTED in a bundle without the package
 */
function threadFile(): URL {
  // A CommonJS bundle has neither.
  const { url, resolve } = import.meta as Partial<ImportMeta>
  const beside = (file: string): URL => new URL(`./drawing-thread.${file.endsWith('.ts') ? 'ts' : 'js'}`, file)
  if (url !== undefined && existsSync(beside(url))) return beside(url)
  try {
    if (resolve !== undefined) return beside(resolve('jobchart/dashboard'))
  } catch {
    // Not installed: the error below says so.
  }
  throw new JobchartError('UNSUPPORTED', 'charts need the installed package jobchart, which was not found', {
    hint: 'Tell the bundler to leave jobchart out (external: jobchart and jobchart/*).',
  })
}
