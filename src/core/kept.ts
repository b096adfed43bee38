/** What is kept of the attempts of a job: its log lines and errors, as many as the caps allow. */
import { caps } from './caps.ts'
import type { Failure } from './fingerprint.ts'
import { lastLogs } from './log-lines.ts'
import type { AttemptError, LogLine } from './record.ts'
import type { JobRow } from './job-row.ts'
import type { Unit } from './unit.ts'

export function keepLogs(unit: Unit, row: JobRow, lines: readonly LogLine[]): void {
  unit.write(row, { logs: lastLogs([...unit.read(row, 'logs'), ...lines]) })
}

/** Keeps the error of an attempt: as the last one, and in the list of all. */
export function keepError(unit: Unit, row: JobRow, attempt: AttemptError, { fingerprint }: Failure): void {
  const errors = [...unit.read(row, 'errors'), attempt].slice(-caps.errors)
  unit.write(row, { errors, error: attempt.error, failure: fingerprint })
}
