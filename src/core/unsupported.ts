/**
 * Jobs whose machine no worker that claims them can run, because none of the versions it knows can go on with them. They are
 * put off, each time longer, until a worker takes them or asks for them (`resume`).
 *
 * The first SNOOZE stands in the history of the job. What follows until it is put off again (DUE, CLAIM, SNOOZE) leads back to
 * where that one led, so that it can be left out: a history is capped, and the rounds would push out all that came before.
 */
import { arrows } from './lifecycle.ts'
import type { JobRow, UnitOfWork } from './unit-of-work.ts'

const delayMs = { first: 30_000, max: 600_000 }

const promotable = new Set<string>(Object.keys(arrows('DUE')))

/** How long the job is put off when it is found unsupported now, ms. */
export const unsupportedDelayMs = ({ machine }: JobRow): number =>
  Math.min(delayMs.first * 2 ** Math.min(machine?.unsupported?.tries ?? 0, 10), delayMs.max)

/** Is it put off at present, and not claimed again? */
export const isPutOff = ({ machine, state, dueAt }: JobRow): boolean =>
  machine !== null && machine.unsupported !== null && dueAt !== null && promotable.has(state)

/** Keeps that the job was put off by the transition that was answered. One that has ended by it, cancelled, is not put off. */
export function putOff<Row extends JobRow>(
  unit: UnitOfWork<Row>,
  row: Row,
  version: string,
  { seq, at }: { readonly seq: number; readonly at: number },
  reason = '',
): void {
  if (!promotable.has(row.state)) return
  const before = row.machine?.unsupported ?? null
  const first = before ?? { tries: 0, since: at, seq }
  unit.setUnsupported(row, { version, reason, tries: first.tries + 1, since: first.since, seq: first.seq })
  if (before !== null) unit.forgetHistoryAfter(row, before.seq)
}

export function clearUnsupported<Row extends JobRow>(unit: UnitOfWork<Row>, row: Row): void {
  if (row.machine !== null && row.machine.unsupported !== null) unit.setUnsupported(row, null)
}
