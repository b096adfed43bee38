/** Runs the program with the arguments of the process. */
import { CommanderError } from 'commander'
import { JobchartError } from '../core/errors.ts'
import { printError } from './errors.ts'
import { exitCodes, type ExitCode } from './exit-codes.ts'
import { createProgram } from './program.ts'
import { processTerminal } from './terminal.ts'

const terminal = processTerminal()
const end = (code: ExitCode): void => {
  process.exitCode = code
}
// What is wrong with the arguments is found before the options are known.
const json = process.argv.includes('--json')
const program = createProgram(terminal, end, json)
try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  // Of the help and the version the program tells how they have ended; unless it was silent, it has printed what is
  // wrong with the arguments.
  const isWrong = error.exitCode !== 0
  if (isWrong && !json) end(exitCodes.usage)
  if (isWrong && json) {
    const wrong = new JobchartError('INVALID_OPTION', error.message.replace(/^error: /, ''), {
      hint: 'jobchart --help, or jobchart COMMAND --help, says more.',
    })
    end(printError(wrong, { json: true }, terminal))
  }
}
