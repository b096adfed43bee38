/** Changes of many jobs, by ids or by a filter, in parts: with a confirmation and a progress line. */
import type { Command } from 'commander'
import { JobchartError } from '../core/errors.ts'
import type { Client } from '../index.ts'
import type { Selection } from '../store.ts'
import { exitCodes, type ExitCode } from './exit-codes.ts'
import { filterIn, withFilter, withStore, type FilterOptions, type StoreOptions } from './options.ts'
import type { Terminal } from './terminal.ts'
import { grouped, jobs } from './words.ts'

/** For a confirmation, matching jobs are counted up to this number. */
const countMax = 10_000
/** How many ids of each outcome a report lists. */
const idsMax = 10_000

export interface BulkOptions extends StoreOptions, FilterOptions {
  readonly yes?: true
  readonly dryRun?: true
}

/** The ids of jobs by what became of them, and the cursor of the next part. */
interface PartAnswer {
  readonly outcomes: Readonly<Record<string, readonly string[]>>
  readonly next?: string | undefined
}

interface Bulk {
  /** For messages: `cancel`. */
  readonly verb: string
  /** The requested outcome; other outcomes are findings if the jobs were given by id. */
  readonly wanted: readonly string[]
  /** Is a confirmation required? A retry needs none. */
  readonly destroys: boolean
  readonly act: (selection: Selection) => Promise<PartAnswer>
}

/** The arguments and options of a command that changes jobs. */
export const withSelection = (command: Command): Command =>
  withFilter(withStore(command.argument('[ids...]', 'jobs by their ids; or name them by the options')))
    .option('-y, --yes', 'do not ask for a confirmation')
    .option('--dry-run', 'only say how many jobs match')

/**
 * Makes the change, after a confirmation if it needs one.
 * @throws JobchartError INVALID_OPTION if neither ids nor a filter are given, or a confirmation is missing; ABORTED
 */
export async function changeJobs(
  client: Client,
  ids: readonly string[],
  options: BulkOptions,
  terminal: Terminal,
  bulk: Bulk,
): Promise<ExitCode> {
  const filter = filterIn(options)
  const isFilter = Object.keys(filter).length > 0
  if (isFilter === ids.length > 0) {
    const hint = `Name ids (jobchart ${bulk.verb} ID…) or options (jobchart ${bulk.verb} --type email.send --state queued).`
    throw new JobchartError('INVALID_OPTION', 'expected either ids, or options that select jobs', { hint })
  }
  const selection: Selection = isFilter ? { filter } : { ids: [...new Set(ids)] }
  const { count, more } = isFilter ? await countOf(client, options) : { count: ids.length, more: false }
  const text = more ? `more than ${jobs(count)}` : jobs(count)
  if (options.dryRun) {
    await terminal.print(options.json ? JSON.stringify({ matching: count, more }) : `${text} match`)
    return exitCodes.done
  }
  if (bulk.destroys && count > 0 && !options.yes && !(await confirmed(terminal, bulk.verb, text))) {
    terminal.note('Nothing was changed.')
    return exitCodes.usage
  }
  const report = await inParts(selection, bulk, terminal, more ? null : count)
  await terminal.print(options.json ? JSON.stringify(report.forJson()) : report.forPeople())
  return !isFilter && report.hasOthers(bulk.wanted) ? exitCodes.finding : exitCodes.done
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

async function confirmed(terminal: Terminal, verb: string, what: string): Promise<boolean> {
  if (terminal.canAsk) return terminal.confirm(`${capital(verb)} ${what}?`)
  throw new JobchartError(
    'INVALID_OPTION',
    `to ${verb} ${what} needs a confirmation, and this is not an interactive terminal`,
    {
      hint: 'Pass --yes.',
    },
  )
}

async function countOf(
  client: Client,
  options: BulkOptions,
): Promise<{ readonly count: number; readonly more: boolean }> {
  let count = 0
  let after: string | undefined
  do {
    const page = await client.list({ ...filterIn(options), fields: ['id'], limit: 1_000, ...(after && { after }) })
    count += page.length
    after = page.next
  } while (after !== undefined && count < countMax)
  return { count, more: after !== undefined }
}

const partSize = 250

async function inParts(selection: Selection, bulk: Bulk, terminal: Terminal, total: number | null): Promise<Report> {
  const report = new Report()
  let part: Selection | null = 'ids' in selection ? { ids: selection.ids.slice(0, partSize) } : selection
  for (let done = partSize; part !== null; done += partSize) {
    if (terminal.signal.aborted) {
      terminal.progress('')
      throw new JobchartError('ABORTED', `interrupted after ${report.forPeople()}`, {
        hint: 'Repeat the command to continue with the remaining jobs.',
      })
    }
    const { outcomes, next } = await bulk.act(part)
    report.add(outcomes)
    terminal.progress(`${bulk.verb}: ${grouped(report.sum)}${total === null ? '' : ` of ${grouped(total)}`}`)
    part = partAfter(selection, done, next)
  }
  terminal.progress('')
  return report
}

function partAfter(selection: Selection, done: number, next: string | undefined): Selection | null {
  if ('filter' in selection) return next === undefined ? null : { ...selection, after: next }
  return done >= selection.ids.length ? null : { ids: selection.ids.slice(done, done + partSize) }
}

class Report {
  private readonly totals: Record<string, number> = {}
  private readonly ids: Record<string, string[]> = {}

  get sum(): number {
    return Object.values(this.totals).reduce((sum, count) => sum + count, 0)
  }

  add(outcomes: PartAnswer['outcomes']): void {
    for (const [name, ids] of Object.entries(outcomes)) {
      const kept = (this.ids[name] ??= [])
      kept.push(...ids.slice(0, idsMax - kept.length))
      this.totals[name] = (this.totals[name] ?? 0) + ids.length
    }
  }

  hasOthers(wanted: readonly string[]): boolean {
    return Object.entries(this.totals).some(([name, count]) => count > 0 && !wanted.includes(name))
  }

  /** `{ totals: { retried: 2, … }, retried: ['a', 'b'], … }`; the first 10,000 ids of each. */
  forJson(): object {
    return { totals: this.totals, ...this.ids }
  }

  forPeople(): string {
    const words: Readonly<Record<string, string>> = { notFound: 'not found', finished: 'had ended before' }
    const counts = Object.entries(this.totals).filter(([, count]) => count > 0)
    if (counts.length === 0) return 'no jobs'
    return counts.map(([name, count]) => `${grouped(count)} ${words[name] ?? name}`).join(', ')
  }
}
