/** Transitions of jobs, with all that follows from an arrow of the chart. */
import { expectArrow, type CompiledArrow, type TransitionOptions } from './compiled-arrows.ts'
import type { JobRow } from './job-row.ts'
import type { ArrowEvent } from './lifecycle.ts'
import type { Unit } from './unit.ts'

const noOptions: TransitionOptions = {}

/**
 * Writes the transition of a job by an event.
 * @throws TypeError if the chart has no arrow for the event from its state
 */
export function applyEvent(unit: Unit, row: JobRow, event: ArrowEvent, options: TransitionOptions = noOptions): void {
  applyArrow(unit, row, expectArrow(row, event, options.fatal), options)
}

/** Writes the transition of a job along an arrow that `expectArrow` has given for its current state and counters. */
export function applyArrow(unit: Unit, row: JobRow, arrow: CompiledArrow, options: TransitionOptions): void {
  const { counted } = arrow
  if (counted !== null) {
    unit.count(row, counted, counted.time < 0 ? 0 : unit.now - (row.startedAt ?? unit.now))
    if (counted.fails && options.failure) unit.countFailure(row, options.failure)
  }
  unit.apply(row, arrow, options)
  // A job that has ended is not claimed again.
  if (arrow.key === 'freed' && row.machine?.unsupported) unit.write(row, { unsupported: null })
}
