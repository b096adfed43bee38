/** `jobchart check`: are the definitions of a module valid and durable, and can they continue the jobs of a store? */
import type { Command } from 'commander'
import { invalidOption } from '../../core/errors.ts'
import type { ReplayReport } from '../../core/lives.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Finding } from '../definitions.ts'
import type { JobDefinition } from '../../index.ts'
import { livesIn, livesOf, replayLines, replayOf, writeLives } from '../lives.ts'
import { withClient } from '../open.ts'
import { integer, withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import type { Reindexed, Stranded } from '../stranded-jobs.ts'
import type { Terminal } from '../terminal.ts'
import { jobs as jobsText, oneLine } from '../words.ts'

interface Checked {
  readonly jobs: readonly { readonly type: string; readonly versions: readonly string[] }[]
  readonly findings: readonly Finding[]
  /** Null without a store. */
  readonly stranded: readonly Stranded[] | null
  /** Types with live jobs in the store that the modules do not define; another process may run them. */
  readonly otherTypes: readonly string[]
  /**
   * Parked jobs that are, or with `--migrate` were, listed as if the new machines were not there. Null without a store.
   */
  readonly reindexed: (Reindexed & { readonly written: boolean }) | null
}

export function checkCommand({ command, terminal, run }: Program): Command {
  return withStore(command('check', 'check job definitions; with a store also whether they can go on with its jobs'))
    .argument('<files...>', 'modules that export job definitions or machines')
    .option('--migrate', 'list parked jobs under the states of the new machines, and record those that cannot go on')
    .option(
      '--record <file>',
      'write the lives of jobs of the store to a file: their checkpoints, with the events between',
    )
    .option('--replay [file]', 'let the new machines live recorded lives again, those of the store if no file is named')
    .option(
      '--lives <n>',
      'of each type the lives of this many jobs, the latest ones (default: 1000)',
      integer(1, 100_000),
    )
    .addHelpText(
      'after',
      '\nRun it before a deployment: it ends with 1 if jobs of the store stand where the new machines cannot go on. Run it with --migrate at the deployment: checkpoints stay as they are, so that the old machines can still go on from them.',
    )
    .action((files: string[], options: CheckOptions) =>
      run(options, async () => {
        mustHaveStore(options)
        const [{ definitionsIn }, { strandedJobs }] = await Promise.all([
          import('../definitions.ts'),
          import('../stranded-jobs.ts'),
        ])
        const { definitions, findings } = await definitionsIn([...files, ...(options.jobs ?? [])])
        const withStoreToo = options.store !== undefined && findings.length === 0
        const found = withStoreToo
          ? await withClient({ ...options, jobs: [] }, (client) =>
              strandedJobs(client, definitions, options.migrate === true),
            )
          : null
        const checked: Checked = {
          jobs: definitions.map(({ type, machine }) => ({
            type,
            versions: machine?.charts.map(({ version }) => version) ?? [],
          })),
          findings,
          stranded: found?.stranded ?? null,
          otherTypes: found?.otherTypes ?? [],
          reindexed: found === null ? null : { ...found.reindexed, written: options.migrate === true },
        }
        const { recorded, replayed } = findings.length > 0 ? nothingLived : await lived(definitions, options)
        const isClean =
          findings.length === 0 && (found?.stranded.length ?? 0) === 0 && (replayed?.diverged.length ?? 0) === 0
        if (options.json) await terminal.print(JSON.stringify({ ok: isClean, ...checked, recorded, replayed }))
        else {
          const lines = [resultText(checked, options.store !== undefined, terminal)]
          if (recorded !== null) lines.push(`- the lives of ${jobsText(recorded)} were written to ${options.record}`)
          if (replayed !== null) lines.push(...replayLines(replayed))
          await terminal.print(lines.join('\n'))
        }
        return isClean ? exitCodes.done : exitCodes.finding
      }),
    )
}

interface CheckOptions extends StoreOptions {
  readonly migrate?: boolean
  readonly record?: string
  /** A file; true for the lives of the store. */
  readonly replay?: string | true
  readonly lives?: number
}

interface Lived {
  /** How many lives were written. */
  readonly recorded: number | null
  readonly replayed: ReplayReport | null
}

const nothingLived: Lived = { recorded: null, replayed: null }

/** @throws JobchartError INVALID_OPTION for an option that asks for a store, without one */
function mustHaveStore({ store, migrate, record, replay }: CheckOptions): void {
  const asking = {
    '--migrate': migrate === true,
    '--record': record !== undefined,
    '--replay without a file': replay === true,
  }
  const [option] = Object.entries(asking).find(([, asks]) => asks) ?? []
  if (store === undefined && option !== undefined) throw invalidOption(option, 'a store', undefined, 'Pass --store.')
}

async function lived(definitions: readonly JobDefinition[], options: CheckOptions): Promise<Lived> {
  const { record, replay } = options
  if (record === undefined && replay === undefined) return nothingLived
  const isOfStore = record !== undefined || replay === true
  const lives = isOfStore
    ? await withClient({ ...options, jobs: [] }, (client) => livesOf(client, definitions, options.lives))
    : []
  if (record !== undefined) writeLives(record, lives)
  return {
    recorded: record === undefined ? null : lives.length,
    replayed: replay === undefined ? null : await replayOf(definitions, replay === true ? lives : livesIn(replay)),
  }
}

function reindexedLines({ found, unsupported, written }: Reindexed & { readonly written: boolean }): string[] {
  if (found + unsupported === 0) return []
  if (written) return [`- ${jobsText(found)} listed anew, ${unsupported} recorded as unsupported`]
  return [
    `- ${jobsText(found + unsupported)} are listed under states of their old machine, or cancelled as it says: --migrate lists them anew`,
  ]
}

function resultText(
  { jobs, findings, stranded, otherTypes, reindexed }: Checked,
  isStoreNamed: boolean,
  terminal: Terminal,
): string {
  const good = (text: string): string => `${terminal.style('green', '✓')} ${text}`
  const bad = (text: string): string => `${terminal.style('red', '✗')} ${text}`
  const lines = findings.flatMap(({ code, place, what, hint }) => [
    bad(`${code} ${place === null ? '' : `${place}: `}${what}`),
    ...(hint === null ? [] : [`    ${hint}`]),
  ])
  if (findings.length === 0) {
    for (const { type, versions } of jobs) {
      lines.push(
        good(versions.length === 0 ? oneLine(type) : `${oneLine(type)}: machine ${versions.join(', ')} is durable`),
      )
    }
  }
  for (const { type, version, states, count, currentVersion, reason, hint, ids } of stranded ?? []) {
    const place = states.length === 0 ? 'have not started' : `stand in \`${states.join(' ')}\``
    lines.push(
      bad(
        `${jobsText(count)} of ${oneLine(type)} ${version} ${place}: version ${currentVersion} cannot go on with them`,
      ),
      `    ${oneLine(reason)}`,
      ...(hint === null ? [] : [`    ${hint}`]),
      `    for example ${ids.map(oneLine).join(', ')}`,
    )
  }
  if (stranded?.length === 0) lines.push(good('every job of the store can go on'))
  if (isStoreNamed && stranded === null) lines.push('The store was not checked: correct the definitions first.')
  if (reindexed !== null) lines.push(...reindexedLines(reindexed))
  if (otherTypes.length > 0) lines.push(`- the store has jobs of other types: ${otherTypes.map(oneLine).join(', ')}`)
  return lines.join('\n')
}
