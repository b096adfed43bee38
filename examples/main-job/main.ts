/**
 * The main job: looks through a folder with three kinds of jobs per file, and says what it found.
 *
 *   walk ─▶ enqueue (waits for room) ─▶ hash · compress · lines ─▶ events ─▶ tallies, findings ─▶ display, summary
 */
import { inspect, styleText } from 'node:util'
import { createRuntime, JobchartError, type Runtime } from 'jobchart'
import { help, readArguments, UsageError, type Options } from './arguments.ts'
import { Display } from './display.ts'
import { injectFailures } from './failures.ts'
import { Findings } from './findings.ts'
import { jobs } from './jobs.ts'
import { Screen } from './screen.ts'
import { summaryOf } from './summary.ts'
import { Tallies } from './tally.ts'
import { countFiles, walk, Walked } from './walk.ts'

const exitCodes = { done: 0, dead: 1, usage: 2, interrupted: 130 }
/** The walk waits while this many jobs do: a tree of any size takes no more memory than that. */
const capacity = 5_000
const deadListed = 10

async function lookThrough(options: Options): Promise<number> {
  const { folder } = options
  const screen = new Screen(process.stderr)
  const walked = new Walked()
  const findings = new Findings()
  const tallies = new Tallies(jobs.map(({ type }) => type))

  const runtime = runtimeFor(options, screen)
  runtime.events$.subscribe((event) => tallies.take(event))
  runtime.events$.subscribe((event) => findings.take(event))
  // The first Ctrl-C lets the running jobs end, the next one aborts them.
  runtime.stopOn(['SIGINT', 'SIGTERM'], { mode: 'finish' })

  let expected: number | null = null
  void countFiles(folder).then((files) => (expected = files * jobs.length))
  const display = new Display(runtime, screen, { folder, tallies, expected: () => expected })

  await runtime.start()
  await enqueueAll(runtime, folder, walked)
  const completed = await runtime.drain()
  const { dropped, running } = await runtime.stop() // joins the stop that is under way, if one is
  display.stop()

  const { elapsedMs } = tallies
  const dead = await runtime.list({ state: 'dead', limit: deadListed })
  const leftUndone = completed ? null : dropped + running
  const bold = (title: string): string => styleText('bold', title, { stream: process.stdout })
  process.stdout.write(summaryOf({ folder, elapsedMs, walked, tallies, findings, dead, leftUndone }, bold))
  if (!completed) return exitCodes.interrupted
  return tallies.total().dead > 0 ? exitCodes.dead : exitCodes.done
}

function runtimeFor({ concurrency, fail, seed }: Options, screen: Screen): Runtime {
  const silent = (): void => {}
  const say = (message: string, fields = {}): void => screen.say(`${message} ${inspect(fields)}`)
  return createRuntime({
    jobs,
    concurrency,
    capacity,
    middleware: fail > 0 ? [injectFailures(fail, seed)] : [],
    // What has been gathered need not be kept.
    retention: { done: { count: 100 }, dead: { count: 1_000 } },
    logger: { debug: silent, info: silent, warn: say, error: say },
  })
}

/** Ends with the walk, or when the runtime takes no more because it stops. */
async function enqueueAll(runtime: Runtime, folder: string, walked: Walked): Promise<void> {
  try {
    for await (const path of walk(folder, walked)) {
      for (const job of jobs) await runtime.enqueue(job, { path })
    }
  } catch (error) {
    if (!(error instanceof JobchartError && error.code === 'STOPPED')) throw error
  }
}

try {
  const options = readArguments(process.argv.slice(2))
  if (options === 'help') process.stdout.write(help)
  else process.exitCode = await lookThrough(options)
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n\n--help says how to call it.\n`)
  process.exitCode = exitCodes.usage
}
