/**
 * Changes of many jobs, after a confirmation: by ids in parts, by a filter as a bulk operation, which the store keeps.
 * With a line that shows the progress.
 */
import type { Command } from 'commander'
import { JobchartError } from '../core/errors.ts'
import { countMatching } from '../dashboard/count-matching.ts'
import type { BulkOperation, BulkRequest, Client } from '../index.ts'
import { exitCodes, type ExitCode } from './exit-codes.ts'
import { filterIn, withFilter, withStore, type FilterOptions, type StoreOptions } from './options.ts'
import type { Terminal } from './terminal.ts'
import { expectDone } from '../core/bulk-options.ts'
import { grouped } from '../core/counted.ts'
import { countsText, Report, type JobOutcome } from '../core/report.ts'
import { jobs } from './words.ts'

export interface BulkOptions extends StoreOptions, FilterOptions {
  readonly yes?: true
  readonly dryRun?: true
  readonly detach?: true
}

interface Change<Outcome extends JobOutcome> {
  readonly outcomes: readonly Outcome[]
  /** The outcomes that are requested. Others are findings if the jobs were given by id. */
  readonly wanted: readonly Outcome[]
  /** Which jobs are refused: said if one is. */
  readonly refused?: string
  /** Is a confirmation required? A retry needs none. */
  readonly destroys: boolean
  /** Changes jobs by their ids. */
  readonly act: (ids: readonly string[]) => Promise<Readonly<Record<Outcome, readonly string[]>>>
  /** The operation on all jobs that match a filter. */
  readonly request: BulkRequest
}

/** The arguments and options of a command that changes jobs. */
export const withSelection = (command: Command): Command =>
  withFilter(withStore(command.argument('[ids...]', 'jobs by their ids; or name them by the options')))
    .option('-y, --yes', 'do not ask for a confirmation')
    .option('--dry-run', 'only say how many jobs it would change')
    .option('--detach', 'do not wait: a runtime that works on the store does it')

/**
 * Makes the change, after a confirmation if it needs one.
 * @throws JobchartError INVALID_OPTION if neither ids nor a filter are given, or a confirmation is missing; ABORTED
 */
export async function changeJobs<Outcome extends JobOutcome>(
  client: Client,
  ids: readonly string[],
  options: BulkOptions,
  terminal: Terminal,
  change: Change<Outcome>,
): Promise<ExitCode> {
  const verb = change.request.kind
  const isFilter = Object.keys(change.request.filter).length > 0
  checkChoice(verb, ids, isFilter, options)
  const { count, more } = isFilter
    ? await countMatching(client, filterIn(options), verb)
    : { count: ids.length, more: false }
  const text = more ? `more than ${jobs(count)}` : jobs(count)
  if (options.dryRun) {
    await terminal.print(options.json ? JSON.stringify({ matching: count, more }) : `would ${verb} ${text}`)
    return exitCodes.done
  }
  if (change.destroys && count > 0 && !options.yes && !(await confirmed(terminal, verb, text))) {
    terminal.note('Nothing was changed.')
    return exitCodes.usage
  }
  const request: BulkRequest = more ? change.request : { ...change.request, expected: count }
  if (options.detach) return detached(client, request, options, terminal)
  const report = isFilter
    ? await byOperation(client, request, change, terminal)
    : await byIds([...new Set(ids)], change, terminal)
  const { totals } = report
  await terminal.print(options.json ? JSON.stringify({ totals, ...report.ids }) : countsText(totals))
  if (change.refused !== undefined && change.outcomes.some((name) => name === 'refused' && totals[name] > 0)) {
    terminal.note(`Refused: ${change.refused}.`)
  }
  const isFinding = !isFilter && change.outcomes.some((name) => totals[name] > 0 && !change.wanted.includes(name))
  return isFinding ? exitCodes.finding : exitCodes.done
}

function checkChoice(verb: string, ids: readonly string[], isFilter: boolean, { detach }: BulkOptions): void {
  if (isFilter === ids.length > 0) {
    const state = verb === 'cancel' ? 'queued' : 'dead'
    const hint = `Name ids (jobchart ${verb} ID…) or options (jobchart ${verb} --type email.send --state ${state}).`
    throw new JobchartError('INVALID_OPTION', 'expected either ids, or options that select jobs', { hint })
  }
  if (detach && !isFilter) {
    const hint = 'Jobs by their ids are changed at once.'
    throw new JobchartError('INVALID_OPTION', '--detach is for jobs that options select', { hint })
  }
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

async function confirmed(terminal: Terminal, verb: string, what: string): Promise<boolean> {
  if (terminal.canAsk) return terminal.confirm(`${capital(verb)} ${what}?`)
  throw new JobchartError(
    'INVALID_OPTION',
    `to ${verb} ${what} needs a confirmation, and this is not an interactive terminal`,
    { hint: 'Pass --yes.' },
  )
}

// ── by ids ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const partSize = 250

async function byIds<Outcome extends JobOutcome>(
  ids: readonly string[],
  change: Change<Outcome>,
  terminal: Terminal,
): Promise<Report<Outcome>> {
  const report = new Report(change.outcomes)
  for (let done = 0; done < ids.length; done += partSize) {
    if (terminal.signal.aborted) throw interrupted(terminal, report.totals)
    report.add(await change.act(ids.slice(done, done + partSize)))
    terminal.progress(
      `${change.request.kind}: ${grouped(Math.min(done + partSize, ids.length))} of ${grouped(ids.length)}`,
    )
  }
  terminal.progress('')
  return report
}

function interrupted(terminal: Terminal, totals: Readonly<Record<string, number>>): JobchartError {
  terminal.progress('')
  return new JobchartError('ABORTED', `interrupted after ${countsText(totals)}`, {
    hint: 'Repeat the command to continue with the remaining jobs.',
  })
}

// ── by a filter ────────────────────────────────────────────────────────────────────────────────────────────────────

async function detached(
  client: Client,
  request: BulkRequest,
  options: BulkOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const operation = await client.bulk.start(request, { detach: true })
  await terminal.print(options.json ? JSON.stringify({ operation }) : `${operation.id}: ${progressText(operation)}`)
  if (operation.state === 'running' && (await client.workers({ inputs: false })).every(({ lost }) => lost)) {
    terminal.note(`No runtime works on the store: jobchart bulk resume ${operation.id} goes on.`)
  }
  return exitCodes.done
}

async function byOperation<Outcome extends JobOutcome>(
  client: Client,
  request: BulkRequest,
  change: Change<Outcome>,
  terminal: Terminal,
): Promise<Report<Outcome>> {
  const report = new Report(change.outcomes)
  let id: string | undefined
  try {
    const operation = await client.bulk.run(request, {
      signal: terminal.signal,
      onBatch: ({ jobs: ids }) => report.add(ids),
      onProgress: (now) => {
        id = now.id
        terminal.progress(`${request.kind}: ${progressText(now)}`)
      },
    })
    terminal.progress('')
    report.count(operation.counts)
    expectDone(operation)
    return report
  } catch (error) {
    if (!terminal.signal.aborted || id === undefined) throw error
    report.count((await client.bulk.stop(id)).counts)
    throw interrupted(terminal, report.totals)
  }
}

/** `300 retried of 1,000`. */
export function progressText({ counts, expected }: BulkOperation): string {
  return `${countsText(counts)}${expected === null ? '' : ` of ${grouped(expected)}`}`
}
