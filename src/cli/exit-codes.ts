/** How a command ends, for scripts and CI. The table in docs/command-line.md is made of this. */
import type { ErrorCode } from '../core/errors.ts'

export const exitCodes = {
  done: 0,
  finding: 1,
  usage: 2,
  store: 3,
  internal: 70,
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** What each code means, for the help and the docs. */
export const exitMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'Success.',
  finding:
    'The command ran, with findings: a job was not found or could not be changed, `check` or `doctor` found a problem, or `tail` missed transitions.',
  usage:
    'The command, an option or an argument is wrong, a confirmation is missing, or a file or port that it names, or its output, cannot be used.',
  store: 'The store cannot be used: it does not exist, is damaged, locked, of another version, or does not answer.',
  internal: 'Another error, which is a bug. `--verbose` prints its stack.',
  interrupted: 'A change of many jobs was interrupted by SIGINT or SIGTERM. What it had changed stays changed.',
}

const ofErrors: Readonly<Partial<Record<ErrorCode, ExitCode>>> = {
  STORE_UNAVAILABLE: exitCodes.store,
  STORE_CORRUPT: exitCodes.store,
  STORE_REFUSED: exitCodes.store,
  STORE_ROLLED_BACK: exitCodes.store,
  UNSUPPORTED: exitCodes.store,
  TIMEOUT: exitCodes.store,
  INVALID_OPTION: exitCodes.usage,
  INVALID_INPUT: exitCodes.usage,
  UNKNOWN_TYPE: exitCodes.usage,
  NOT_DURABLE: exitCodes.usage,
  CHART_TOO_LARGE: exitCodes.usage,
  NOT_FOUND: exitCodes.finding,
  NOT_ACCEPTED: exitCodes.finding,
  CAPACITY: exitCodes.finding,
  SLOW_READER: exitCodes.finding,
  ABORTED: exitCodes.interrupted,
}

/** @param code of a `JobchartError`; undefined for other errors */
export const exitCodeOf = (code: string | undefined): ExitCode => ofErrors[code as ErrorCode] ?? exitCodes.internal
