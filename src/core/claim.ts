/** The start of an attempt. Which jobs are claimed, and how many, is a matter of the store's indexes. */
import { move } from './transition.ts'
import type { JobRow, LoggedTransition, TransitionOptions, UnitOfWork } from './unit-of-work.ts'
import type { Demand } from './values.ts'

/**
 * CLAIM. A deployment that changes how many attempts a type may spend reaches the jobs that wait: the worker that claims a
 * job decides, unless its enqueue has. A unique key that is held until the start is free for others.
 */
export function claimJob<Row extends JobRow>(
  unit: UnitOfWork<Row>,
  row: Row,
  { maxAttempts }: Demand,
  options?: TransitionOptions,
): LoggedTransition {
  const differs = maxAttempts !== undefined && maxAttempts !== row.maxAttempts - row.checkpointedAttempts
  if (differs && !row.hasPinnedAttempts) unit.setMaxAttempts(row, maxAttempts)
  const logged = move(unit, row, 'CLAIM', options)
  if (row.untilStart) unit.giveUpKey(row)
  return logged
}
