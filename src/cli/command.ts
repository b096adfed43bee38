/** What all commands get from the program. */
import type { Command } from 'commander'
import type { ExitCode } from './exit-codes.ts'
import type { OutputOptions } from './options.ts'
import type { Terminal } from './terminal.ts'

/** The program that a command is added to. */
export interface Program {
  readonly terminal: Terminal
  /** Adds a command to the program. */
  readonly command: (name: string, description: string) => Command
  /** Runs the action of a command: its exit code, or its error, is that of the process. */
  readonly run: (options: OutputOptions, action: () => Promise<ExitCode>) => Promise<void>
}

/** The command that prints the help of its parent, or of a command below it by its names. */
export function helpCommand(parent: Command): Command {
  return parent
    .helpCommand(false)
    .command('help')
    .description('display help for a command')
    .argument('[command...]', 'the name of the command, and of one of its own commands')
    .action((names: readonly string[]) => {
      const named = names.reduce((command, name) => {
        const inner = command.commands.find((each) => each.name() === name)
        return inner ?? command.error(`error: ${name} is not a command of ${command.name()}`)
      }, parent)
      named.outputHelp()
    })
}

/**
 * The subcommand that lists, and runs if none is named. It takes no arguments: one is the name of a command that there
 * is not.
 */
export function listingCommand(parent: Command, description: string): Command {
  const ls = parent.command('ls', { isDefault: true }).description(description).allowExcessArguments()
  return ls.hook('preAction', ({ args: [name] }) => {
    if (name !== undefined) parent.error(`error: ${name} is not a command of ${parent.name()}`)
  })
}
