/** `jobchart ls`: a page of jobs, or all pages. */
import { Option, type Command } from 'commander'
import type { JobSummary, ListOptions } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { filterIn, integer, withFilter, withStore, type FilterOptions, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import { table, type Column } from '../table.ts'
import { relative, stateStyles, stateText } from '../words.ts'

interface LsOptions extends StoreOptions, FilterOptions {
  readonly limit: number
  readonly order?: 'oldest' | 'newest'
  readonly orderBy: ListOptions['orderBy'] & string
  readonly after?: string
  readonly all?: true
  readonly ids?: true
}

const columns = (now: number): readonly Column<JobSummary>[] => [
  { title: 'ID', text: ({ id }) => id },
  { title: 'TYPE', text: ({ type }) => type, flexible: true },
  { title: 'STATE', text: stateText, style: ({ state }) => stateStyles[state], flexible: true },
  { title: 'ATTEMPT', text: ({ attempt, maxAttempts }) => `${attempt}/${maxAttempts}`, right: true, optional: 2 },
  { title: 'ENQUEUED', text: ({ enqueuedAt }) => relative(enqueuedAt, now), optional: 1 },
  { title: 'DUE OR ENDED', text: ({ dueAt, finishedAt }) => relative(finishedAt ?? dueAt, now), optional: 3 },
  { title: 'TAGS', text: ({ tags }) => tags.join(' '), optional: 4, flexible: true },
]

export function lsCommand({ command, terminal, run }: Program): Command {
  return withFilter(withStore(command('ls', 'list jobs, the newest first')))
    .option('-n, --limit <count>', 'jobs on a page', integer(1, 1_000), 20)
    .addOption(
      new Option('--order <order>', 'which jobs come first (default: "newest", by due time "oldest")').choices([
        'newest',
        'oldest',
      ]),
    )
    .addOption(
      new Option('--order-by <time>', 'the time that jobs are ordered by')
        .choices(['enqueued', 'finished', 'due'])
        .default('enqueued'),
    )
    .option('--after <id>', 'the page after this job')
    .option('-a, --all', 'all pages')
    .option('-q, --ids', 'only ids, one per line')
    .action((options: LsOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const { limit, orderBy, order = orderBy === 'due' ? 'oldest' : 'newest' } = options
          const query: ListOptions = { ...filterIn(options), limit: options.all ? 1_000 : limit, order, orderBy }
          let { after } = options
          do {
            const page = await client.list({ ...query, fields: 'summary', ...(after !== undefined && { after }) })
            after = page.next
            if (options.json) await terminal.print(JSON.stringify({ jobs: page, next: after ?? null }))
            else if (page.length === 0) terminal.note('No jobs match.')
            else if (options.ids) await terminal.print(page.map(({ id }) => id).join('\n'))
            else await terminal.print(table(page, columns(client.store.now()), terminal))
            if (after !== undefined && !options.all) terminal.note(`More: --after ${after}`)
          } while (options.all && after !== undefined && !terminal.signal.aborted)
          return exitCodes.done
        }),
      ),
    )
}
