/** `jobchart check`: are the definitions of a module valid and durable, and can they continue the jobs of a store? */
import type { Command } from 'commander'
import { exitCodes } from '../exit-codes.ts'
import type { Finding } from '../definitions.ts'
import { withClient } from '../open.ts'
import { withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import type { Stranded } from '../stranded-jobs.ts'
import type { Terminal } from '../terminal.ts'
import { jobs as jobsText, oneLine } from '../words.ts'

interface Checked {
  readonly jobs: readonly { readonly type: string; readonly versions: readonly string[] }[]
  readonly findings: readonly Finding[]
  /** Null without a store. */
  readonly stranded: readonly Stranded[] | null
  /** Types with live jobs in the store that the modules do not define; another process may run them. */
  readonly otherTypes: readonly string[]
}

export function checkCommand({ command, terminal, run }: Program): Command {
  return withStore(command('check', 'check job definitions; with a store also whether they can go on with its jobs'))
    .argument('<files...>', 'modules that export job definitions or machines')
    .addHelpText(
      'after',
      '\nRun it before a deployment: it ends with 1 if jobs of the store stand where the new machines cannot go on.',
    )
    .action((files: string[], options: StoreOptions) =>
      run(options, async () => {
        const [{ definitionsIn }, { strandedJobs }] = await Promise.all([
          import('../definitions.ts'),
          import('../stranded-jobs.ts'),
        ])
        const { definitions, findings } = await definitionsIn([...files, ...(options.jobs ?? [])])
        const withStoreToo = options.store !== undefined && findings.length === 0
        const found = withStoreToo
          ? await withClient({ ...options, jobs: [] }, (client) => strandedJobs(client, definitions))
          : null
        const checked: Checked = {
          jobs: definitions.map(({ type, machine }) => ({
            type,
            versions: machine?.charts.map(({ version }) => version) ?? [],
          })),
          findings,
          stranded: found?.stranded ?? null,
          otherTypes: found?.otherTypes ?? [],
        }
        const isClean = findings.length === 0 && (found?.stranded.length ?? 0) === 0
        if (options.json) await terminal.print(JSON.stringify({ ok: isClean, ...checked }))
        else await terminal.print(resultText(checked, options.store !== undefined, terminal))
        return isClean ? exitCodes.done : exitCodes.finding
      }),
    )
}

function resultText(
  { jobs, findings, stranded, otherTypes }: Checked,
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
  if (otherTypes.length > 0) lines.push(`- the store has jobs of other types: ${otherTypes.map(oneLine).join(', ')}`)
  return lines.join('\n')
}
