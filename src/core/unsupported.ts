/**
 * Jobs whose machine no claiming worker can run, because it knows no version that continues from their checkpoint. They
 * are postponed with growing delays, until a worker runs them or sends a `resume`.
 *
 * The history of the job keeps the first SNOOZE. Each later round (DUE, CLAIM, SNOOZE) ends in the same state, and is
 * removed: a history is capped, and repeated rounds would displace the entries before them.
 */
import { arrows } from './lifecycle.ts'
import type { Unsupported } from './machine-record.ts'
import type { JobRow } from './job-row.ts'
import type { Unit } from './unit.ts'

/**
 * While two versions run, a worker of the other one is as likely to claim the job: the first delays are short. Where
 * nobody knows the version, the twentieth is the longest.
 */
const delayMs = { first: 250, growth: 1.5, max: 600_000 }

const promotable = new Set<string>(Object.keys(arrows('DUE')))

/** The delay of the next postponement, ms. */
export const unsupportedDelayMs = ({ machine }: JobRow): number =>
  Math.min(Math.round(delayMs.first * delayMs.growth ** (machine?.unsupported?.tries ?? 0)), delayMs.max)

/** Is the job postponed as unsupported, and waiting for its due time? */
export const isPutOff = ({ machine, state, dueAt }: JobRow): boolean =>
  machine !== null && machine.unsupported !== null && dueAt !== null && promotable.has(state)

/**
 * Records the postponement by the given transition. A job that the transition has ended, because it was cancelled, is
 * not recorded.
 */
export function putOff(
  unit: Unit,
  row: JobRow,
  version: string,
  { seq, at }: { readonly seq: number; readonly at: number },
  reason = '',
): void {
  if (!promotable.has(row.state)) return
  const { unsupported: found = null } = row.machine ?? {}
  const before = found !== null && found.tries > 0 ? found : null
  const first = before ?? { tries: 0, since: found?.since ?? at, seq }
  unit.write(row, { unsupported: { version, reason, tries: first.tries + 1, since: first.since, seq: first.seq } })
  if (before !== null) unit.forgetHistoryAfter(row, before.seq)
}

/** Records that no process can run a parked job, which is not claimed for that. */
export function markUnsupported(
  unit: Unit,
  row: JobRow,
  { version, reason }: Pick<Unsupported, 'version' | 'reason'>,
): void {
  const { unsupported: before, checkpoint } = row.machine ?? {}
  const first = before ?? { tries: 0, since: unit.now, seq: checkpoint?.seq ?? 0 }
  unit.write(row, { unsupported: { ...first, version, reason } })
}

export function clearUnsupported(unit: Unit, row: JobRow): void {
  if (row.machine !== null && row.machine.unsupported !== null) unit.write(row, { unsupported: null })
}
