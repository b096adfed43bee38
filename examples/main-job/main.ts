/**
 * The main job: looks through a folder with three kinds of jobs per file, and says what it found.
 *
 *   walk ─▶ enqueue (waits for room) ─▶ hash · compress · lines ─▶ records ─▶ tallies, findings ─▶ display, summary
 *
 * The jobs rest in a SQLite file, and each has an id that says what is to be done. So a start goes on where the last
 * one was, however it ended, and several at once share the work.
 */
import { inspect, styleText } from 'node:util'
import { createClient, createRuntime, JobchartError, type Client, type Middleware, type Runtime } from 'jobchart'
import { waitFor } from 'xstate'
import { help, readArguments, UsageError, type Options } from './arguments.ts'
import { cancelOutdated, forgetEnded, own, survey, type Survey } from './before.ts'
import { Display } from './display.ts'
import { injectFailures } from './failures.ts'
import { Findings } from './findings.ts'
import { definitions, idOf, jobs } from './jobs.ts'
import { keep, type Kept } from './keep.ts'
import { ledger } from './ledger.ts'
import { Outcomes } from './outcomes.ts'
import { openInBrowser, servePage } from './page.ts'
import { Progress, sum } from './progress.ts'
import { reviewsOf } from './reviews.ts'
import { Screen } from './screen.ts'
import { summaryOf } from './summary.ts'
import { Tallies } from './tally.ts'
import { count, plural } from './text.ts'
import { shownIn, walk, Walked, type Tree } from './walk.ts'

const exitCodes = { done: 0, dead: 1, usage: 2, interrupted: 130 }
/** The walk waits while this many jobs do: a tree of any size takes no more memory than that. */
const capacity = 5_000
/** What a process had in hand when it died is taken up again after this time. */
const lease = '5s'

async function lookThrough(options: Options): Promise<number> {
  const { folder, fresh, retry, open } = options
  const kept = keep(options)
  const screen = new Screen(process.stderr)
  const tree = { folder, except: kept.except }
  const shown = shownIn(folder)

  // A client that goes on looking when the runtime has stopped.
  await using client = createClient({ jobs: definitions, store: kept.store })
  if (fresh) await forgetEnded(client)
  await cancelOutdated(client)
  const isNew = (await client.list({ ...own, limit: 1 })).length === 0

  const atStart = await client.counts()
  await using runtime = runtimeFor(options, kept, screen)
  const startedAt = kept.store.now()
  const walked = new Walked()
  const findings = new Findings()
  const tallies = new Tallies(
    jobs.map(({ type }) => type),
    startedAt,
    runtime.id,
  )
  const outcomes = new Outcomes({ tallies, findings, startedAt, retry })
  // The first Ctrl-C lets the running jobs end, the next one aborts them.
  runtime.stopOn(['SIGINT', 'SIGTERM'], { mode: 'finish' })

  if (kept.file !== null) screen.say(`Jobs are kept in ${kept.file} (process ${process.pid})`)
  await using page = await servePage(runtime, folder, screen)
  if (open && page.url !== null) openInBrowser(page.url)
  const progress = new Progress(tallies, atStart)
  const isOver = (): boolean => ['stopping', 'stopped'].includes(runtime.state)
  const surveyed = survey({ client, tree, startedAt, isNew, isOver }).then((found) => {
    if (found === null) return
    progress.surveyed(found)
    if (!isNew && found.files > 0) screen.say(goingOn(found, retry))
  })
  using display = new Display(runtime, screen, { folder, tallies, progress, shown })

  // What is left from before is worked on while it is counted.
  const goAhead = isNew ? Promise.resolve() : surveyed
  await startAndEnqueue({ runtime, tree, walked, outcomes, goAhead })
  const completed = await runtime.drain({ retries: true })
  if (completed) await outcomes.all()
  const staysOpen = open && page.url !== null && completed
  if (!staysOpen) await runtime.stop() // joins the stop that is under way, if one is
  display.stop()
  await Promise.all([outcomes.all(), surveyed])

  const leftUndone = completed ? null : await jobsLeft(client)
  const bold = (title: string): string => styleText('bold', title, { stream: process.stdout })
  const { elapsedMs } = tallies
  const { dead } = outcomes
  const goesOn = kept.file !== null
  const reviews = await reviewsOf(client)
  const outcome = { folder, elapsedMs, walked, shown, tallies, findings, dead, leftUndone, goesOn, reviews }
  process.stdout.write(summaryOf(outcome, bold))
  if (staysOpen) {
    screen.say(`\nThe dashboard stays at ${page.url} until Ctrl-C`)
    await waitFor(runtime.actor, ({ value }) => value === 'stopped')
  }
  if (!completed) return exitCodes.interrupted
  return tallies.total().dead > 0 ? exitCodes.dead : exitCodes.done
}

function runtimeFor({ concurrency, fail, seed, ledger: file }: Options, kept: Kept, screen: Screen): Runtime {
  const silent = (): void => {}
  const say = (message: string, fields = {}): void => screen.say(`${message} ${inspect(fields)}`)
  const middleware: Middleware[] = []
  if (file !== null) middleware.push(ledger(file))
  if (fail > 0) middleware.push(injectFailures(fail, seed))
  const { store, retention } = kept
  const logger = { debug: silent, info: silent, warn: say, error: say }
  return createRuntime({ jobs: definitions, store, concurrency, capacity, lease, middleware, retention, logger })
}

function goingOn({ files, filesDone, ended: byType }: Survey, retry: boolean): string {
  const { done, dead: jobsDead } = sum(byType.values())
  const dead = jobsDead === 0 || retry ? '' : `; ${plural(jobsDead, 'job')} dead, --retry does them again`
  if (filesDone === files) return `All ${plural(files, 'file')} are done already, --fresh does them again${dead}`
  const ended = `${count(done + jobsDead)} of ${plural(files * jobs.length, 'job')}`
  return `Going on: ${count(filesDone)} of ${plural(files, 'file')} are done, ${ended}${dead}`
}

interface Work {
  readonly runtime: Runtime
  readonly tree: Tree
  readonly walked: Walked
  readonly outcomes: Outcomes
  readonly goAhead: Promise<void>
}

/** Ends with the walk, or when the runtime takes no more because it stops. */
async function startAndEnqueue({ runtime, tree, walked, outcomes, goAhead }: Work): Promise<void> {
  try {
    await runtime.start()
    await goAhead
    for await (const files of walk(tree, walked)) {
      const work = files.flatMap((file) => jobs.map((job) => ({ job, file })))
      const follow = async ({ job, file }: (typeof work)[number]): Promise<void> =>
        outcomes.follow(await runtime.enqueue(job, file, { id: idOf(job.type, file) }))
      await Promise.all(work.map(follow))
    }
  } catch (error) {
    if (!(error instanceof JobchartError && error.code === 'STOPPED')) throw error
  }
}

async function jobsLeft(client: Client): Promise<number> {
  const { scheduled, queued, retrying, running, cancelling } = await client.counts()
  return scheduled + queued + retrying + running + cancelling
}

// Who reads no further (`| head`) is told no further; the work goes on.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

try {
  const options = readArguments(process.argv.slice(2))
  if (options === 'help') process.stdout.write(help)
  else process.exitCode = await lookThrough(options)
} catch (error) {
  if (error instanceof UsageError) process.stderr.write(`${error.message}\n\n--help says how to call it.\n`)
  else if (error instanceof JobchartError) process.stderr.write(`${error.message}\n${error.hint ?? ''}\n`)
  else throw error
  process.exitCode = exitCodes.usage
}
