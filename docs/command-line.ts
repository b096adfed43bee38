/** The text of docs/command-line.md: its commands are what `jobchart --help` says. */
import type { Command } from 'commander'
import { exitCodes, exitMeanings } from '../src/cli/exit-codes.ts'
import { createProgram } from '../src/cli/program.ts'
import type { Terminal } from '../src/cli/terminal.ts'

/** No command runs here. */
const nowhere: Terminal = {
  columns: null,
  rows: 24,
  signal: new AbortController().signal,
  canAsk: false,
  print: async () => {},
  write: () => {},
  note: () => {},
  progress: () => {},
  style: (_, text) => text,
  confirm: async () => false,
  keys: () => ({ signal: new AbortController().signal, close: () => {} }),
  sleep: async () => {},
}

function help(command: Command): string {
  command.configureOutput({ getOutHelpWidth: () => 110, getOutHasColors: () => false })
  return ['```text', command.helpInformation().trimEnd(), '```'].join('\n')
}

function reference(program: Command): string {
  const leaves = (command: Command): readonly (readonly [name: string, command: Command])[] =>
    command.commands.length === 0
      ? [[command.name(), command]]
      : command.commands.map((each) => [`${command.name()} ${each.name()}`, each])
  return program.commands
    .flatMap(leaves)
    .filter(([, command]) => command.name() !== 'help')
    .map(([name, command]) => `### \`jobchart ${name}\`\n\n${help(command)}`)
    .join('\n\n')
}

const codes = Object.entries(exitCodes).map(
  ([name, code]) => `| ${code} | ${exitMeanings[name as keyof typeof exitMeanings]} |`,
)

export function commandLineDocument(): string {
  const program = createProgram(nowhere, () => {})
  return `# The command line

<!-- Generated from src/cli/ by \`npm run docs\`. -->

\`npx jobchart\` looks at the jobs of a store and changes them, while the application runs or not. It needs the store alone; with the
module that exports your job definitions (\`--jobs ./jobs.ts\`) it also knows their machines, charts and events.

\`\`\`sh
export JOBCHART_STORE=sqlite:jobs.db                # or --store sqlite:jobs.db with each command; or redis://localhost:6379
npx jobchart stats                                  # how many jobs are in each state, queue by queue, and rates
npx jobchart top                                    # the same, live, with what runs now
npx jobchart failures                               # failed attempts by type and error
npx jobchart dashboard --jobs ./jobs.ts --open      # the dashboard, on a loopback port
npx jobchart ls --state dead --order-by finished    # the jobs that died last
npx jobchart ls --order-by due                      # what waits for a time, the next one first
npx jobchart show order-7 --jobs ./jobs.ts          # one job: history, errors, its machine on its chart
npx jobchart retry --state dead --type email.send   # all that match, a hundred at a time
npx jobchart tail --type order --json | jq .event   # transitions of all processes, live
npx jobchart draw ./jobs.ts#order -f svg -o order.svg
npx jobchart check ./jobs.ts                        # before a deployment, in CI
\`\`\`

\`\`\`text
${helpOf(program)}
\`\`\`

## What holds for all commands

- **The store** is named by \`--store\` or \`JOBCHART_STORE\`: \`sqlite:FILE\`, or \`redis://USER:PASSWORD@HOST:PORT/DB?prefix=PREFIX\`
  (\`rediss://\` for TLS; \`prefix\` is the one of \`redisStore\`). A file that is not there is not made, and one of an older version is not
  changed: only \`jobchart migrate\` does that. [PostgreSQL](postgres.md) is \`postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=SCHEMA\`, and needs \`pg\`; [Redis](redis.md) needs \`@redis/client\` or \`ioredis\`, installed where jobchart is. A password is better
  kept in \`JOBCHART_STORE\`: other users of the computer see the arguments of a command.
- **Definitions** come from modules (\`--jobs\`, also several times). Every result of \`defineJob\` that a module exports is taken, by itself
  or in a list. Several versions of one machine must be in a list, the current one last. The module is run: keep
  \`createRuntime\` in another one. Node 22.18 and newer run TypeScript.
- **\`--json\`** prints one JSON document; \`tail\` prints one per line, and \`ls --all\` one per page. Times are ms since the epoch. Errors are
  \`{ "error": { "code", "message", "hint" } }\` on the standard error.
- **Changes of many jobs** take the same options as \`ls\`. They are bulk operations, which the store keeps: a hundred jobs per
  write, with the progress. \`cancel\` and \`discard\` ask first, with the number of jobs that match and that they apply to; in scripts pass \`--yes\`. \`--dry-run\` only counts. Ctrl-C stops the operation
  after the hundred that is under way. If the command is killed, a runtime that works on the store goes on; with \`--detach\` it does so at once. \`jobchart bulk\` lists the operations with
  their progress, \`bulk stop ID\` stops one, and \`bulk resume ID\` goes on with one where no runtime works.
- **Output** fits the terminal: in a narrow one less important columns are left out. \`NO_COLOR\` and \`FORCE_COLOR\` are respected, and a pipe
  that is closed early (\`| head\`) ends the command.
- **Errors** print their [code](errors.md), message and hint; \`--verbose\` adds the stack and the causes.

## Exit codes

| code | meaning |
| --- | --- |
${codes.join('\n')}

\`dashboard\`, \`tail\` and \`top\` run until Ctrl-C or SIGTERM, and end with 0 then.

## Before a deployment

\`jobchart check ./jobs.ts\` loads the new definitions and lists everything that would keep a machine from being durable, each
with its place and what to do about it. With a store it also asks the new machines, as a worker would, whether they can go on
with each live job, and ends with 1 if they cannot:

\`\`\`text
$ npx jobchart check ./jobs.ts --store sqlite:jobs.db
✓ order: machine 2 is durable
✗ 312 jobs of order 1 stand in \`review\`: version 2 cannot go on with them
    machine order 2 has changed: state order.review is gone
    Let \`migrate\` return a snapshot of this version, or { snapshot, timers } to move or drop timers.
    for example order-7, order-9, order-12, order-15, order-20
\`\`\`

Nothing of the jobs is run, and nothing in the store is changed. At the deployment \`--migrate\` lists parked jobs under the states that the new machines give them, and records those that cannot
go on as unsupported, which the runtimes would do when they start. Checkpoints stay as they are: the old machines can still go on from them. [Versions](machines.md#versions) says what to do about such jobs.

\`--replay\` lets the new machines live what the jobs of the store have lived, in virtual time, and names those that would have gone another way; \`--record FILE\` writes these lives to a file, and \`--replay FILE\` reads
one, without a store: [replay](machines.md#replay).

## Shell completion

\`jobchart completion bash\`, \`zsh\` or \`fish\` prints a script; \`jobchart completion --help\` says where it goes.

## Commands

${reference(program)}
`
}

/** The help of the whole program, without the fences. */
const helpOf = (program: Command): string => help(program).split('\n').slice(1, -1).join('\n')
