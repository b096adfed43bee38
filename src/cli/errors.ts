/** How an error is printed: code, message and hint; the stack only if it is asked for. */
import { inspect } from 'node:util'
import { exitCodeOf, type ExitCode } from './exit-codes.ts'
import type { OutputOptions } from './options.ts'
import type { Terminal } from './terminal.ts'
import { manyLines } from './words.ts'

interface ErrorFields {
  readonly code: string | undefined
  readonly message: string
  readonly hint: string | undefined
}

/**
 * The fields of an error. A module of `--jobs` may have its own copy of jobchart: the class of its errors is another
 * one.
 */
export function errorFields(error: unknown): ErrorFields {
  if (!(error instanceof Error)) return { code: undefined, message: String(error), hint: undefined }
  const { code, hint }: Error & { readonly code?: unknown; readonly hint?: unknown } = error
  return {
    code: typeof code === 'string' ? code : undefined,
    message: error.message,
    hint: typeof hint === 'string' ? hint : undefined,
  }
}

/** Prints it to the standard error. @returns the exit code for it */
export function printError(error: unknown, { json, verbose }: OutputOptions, terminal: Terminal): ExitCode {
  const { code, message, hint } = errorFields(error)
  if (json) {
    terminal.note(JSON.stringify({ error: { code: code ?? 'INTERNAL', message, ...(hint !== undefined && { hint }) } }))
  } else {
    terminal.note(`error ${code ?? 'INTERNAL'}: ${manyLines(message)}`)
    if (hint !== undefined) terminal.note(`hint: ${hint}`)
  }
  if (verbose) terminal.note(inspect(error))
  return exitCodeOf(code)
}
