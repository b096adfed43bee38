/** The program: its commands in the order of the help, and the common parts of their runs. */
import { Command } from 'commander'
import { version } from '../core/version.ts'
import { bulkCommand } from './commands/bulk.ts'
import { cancelCommand } from './commands/cancel.ts'
import { checkCommand } from './commands/check.ts'
import { completionCommand } from './commands/completion.ts'
import { dashboardCommand } from './commands/dashboard.ts'
import { discardCommand } from './commands/discard.ts'
import { doctorCommand } from './commands/doctor.ts'
import { drawCommand } from './commands/draw.ts'
import { failuresCommand } from './commands/failures.ts'
import { findCommand } from './commands/find.ts'
import { heatCommand } from './commands/heat.ts'
import { lsCommand } from './commands/ls.ts'
import { migrateCommand } from './commands/migrate.ts'
import { pauseCommand, resumeCommand } from './commands/pause.ts'
import { retryCommand } from './commands/retry.ts'
import { schedulesCommand } from './commands/schedules.ts'
import { sendCommand } from './commands/send.ts'
import { showCommand } from './commands/show.ts'
import { statsCommand } from './commands/stats.ts'
import { tailCommand } from './commands/tail.ts'
import { topCommand } from './commands/top.ts'
import { workersCommand } from './commands/workers.ts'
import { helpCommand, type Program } from './command.ts'
import { printError } from './errors.ts'
import { exitCodes, type ExitCode } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

const groups: readonly (readonly [heading: string, commands: readonly ((program: Program) => Command)[]])[] = [
  [
    'Look:',
    [
      dashboardCommand,
      findCommand,
      lsCommand,
      showCommand,
      tailCommand,
      statsCommand,
      failuresCommand,
      heatCommand,
      topCommand,
      workersCommand,
    ],
  ],
  [
    'Change:',
    [
      retryCommand,
      cancelCommand,
      discardCommand,
      bulkCommand,
      sendCommand,
      pauseCommand,
      resumeCommand,
      schedulesCommand,
    ],
  ],
  ['Develop and operate:', [drawCommand, checkCommand, doctorCommand, migrateCommand, completionCommand]],
]

/**
 * @param ended called with the exit code of the command
 * @param silent is nothing printed about wrong arguments? Then the caller does, from the error that parsing throws.
 */
export function createProgram(terminal: Terminal, ended: (code: ExitCode) => void, silent = false): Command {
  const run: Program['run'] = async (options, action) => {
    try {
      ended(await action())
    } catch (error) {
      ended(printError(error, options, terminal))
    }
  }
  const parts: string[] = []
  const printParts = (): void =>
    void run(silent ? { json: true } : {}, async () => {
      await terminal.print(parts.join('').trimEnd())
      return exitCodes.done
    })
  const root = new Command('jobchart')
    .description('Look at and change the jobs of a store.')
    .version(version, '-V, --version')
    .showHelpAfterError('(jobchart --help, or jobchart COMMAND --help, says more)')
    .exitOverride()
    .configureOutput({
      // The version, and the help in parts that come in one turn: one output, for which there may be no room.
      writeOut: (text) => {
        if (parts.push(text) === 1) queueMicrotask(printParts)
      },
      writeErr: silent ? () => {} : (text) => terminal.note(text.trimEnd()),
    })
    .configureHelp({ sortOptions: false, showGlobalOptions: false })
    .addHelpText('after', '\nDocumentation: https://github.com/jobchart/jobchart/blob/main/docs/command-line.md')
  for (const [heading, commands] of groups) {
    root.commandsGroup(heading)
    const program: Program = {
      terminal,
      run,
      command: (name, description) => root.command(name).description(description),
    }
    for (const add of commands) add(program)
  }
  root.commandsGroup('Commands:')
  helpCommand(root)
  return root
}
