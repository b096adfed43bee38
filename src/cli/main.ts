#!/usr/bin/env node
/** The executable `jobchart`. */
import { CommanderError } from 'commander'
import { exitCodes } from './exit-codes.ts'
import { createProgram } from './program.ts'
import { processTerminal } from './terminal.ts'

const program = createProgram(processTerminal(), (code) => {
  process.exitCode = code
})
try {
  await program.parseAsync()
} catch (error) {
  // Commander has printed the help, the version, or what is wrong with the arguments.
  if (!(error instanceof CommanderError)) throw error
  process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage
}
